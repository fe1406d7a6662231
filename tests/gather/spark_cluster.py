"""A Spark cluster of two workers on this machine, one of which is killed while rows are read; run by test_spark.py.

python spark_cluster.py FOLDER writes FOLDER/answer.json: the sums, how many tasks were begun, and how many of them there were.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession
from test_spark import CLUSTER_TABLE, cluster_sums

TASKS = 8
FOLDER, SPARK = Path(sys.argv[1]), Path(pyspark.__file__).parent
os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(SPARK)}
os.environ["SPARK_SCALA_VERSION"] = "2.13"  # else a worker looks for a checkout of Spark's source


def start(name, *words):
    """A daemon of Spark, with whatever it starts in a group of its own."""
    with (FOLDER / f"{name}.log").open("a") as log:
        line = ["java", "-Xmx256m", "-cp", f"{SPARK}/jars/*", f"org.apache.spark.deploy.{name}", *words]
        return subprocess.Popen(line, stdout=log, stderr=log, cwd=FOLDER, start_new_session=True)


def kill(process):
    """At once, with its executors: as if its machine were gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def slow(batches):
    """What a task does first: leave a mark, and take its time."""
    (Path(MARKS) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(0.7)
    yield from batches


def kill_in_the_middle(process):
    """When some tasks are done, and others are not."""
    while len(os.listdir(MARKS)) < TASKS // 2:
        time.sleep(0.05)
    kill(process)


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
MARKS, address = str(FOLDER / "marks"), f"spark://127.0.0.1:{port}"
os.mkdir(MARKS)
loopback = ("--host", "127.0.0.1", "--webui-port", "0")
started = [start("master.Master", *loopback, "--port", port)]
try:
    for place in ("one", "two"):
        started.append(start("worker.Worker", *loopback, "-c", "1", "-m", "700m", "-d", str(FOLDER / place), address))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "20s",
    }
    session = SparkSession.builder.master(address).config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    rows = session.createDataFrame(CLUSTER_TABLE).repartition(TASKS).mapInArrow(slow, "a double, y double")
    threading.Thread(target=kill_in_the_middle, args=(started[-1],), daemon=True).start()
    sums = cluster_sums(rows)
    answer = {"sums": sums, "begun": len(os.listdir(MARKS)), "tasks": TASKS, "alive": started[-1].poll() is None}
    (FOLDER / "answer.json").write_text(json.dumps(answer))
finally:
    for process in started:
        kill(process)
