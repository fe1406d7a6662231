"""What is sent to Spark's workers needs nothing of dpselect there, compiled or not."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.queries import Gradient, Histograms, Standard
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric
from dpselect.errors import DataError
from dpselect.gather import dealing
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.fit import FitAnd, FitSummary
from dpselect.gather.grid import compiled_function
from dpselect.gather.kept import KeptRows
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.gather.spark import SIGNS_OF_A_LOST_WORKER, _running, _shipped, package_sources
from dpselect.gather.summary import Both, Count

STUDY = Study(Binary("y", [0, 1]), [Numeric("a", 0, 1)])
TABLE = pa.table({"a": np.linspace(-1, 2, 100), "y": np.arange(100) % 2})
WORKER = """
import importlib.metadata as metadata, pickle, sys
here = {here}
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dpselect", "narwhals") and not here:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere())
real = metadata.version
def version(name):
    if not here:
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
function, batches = pickle.loads(sys.stdin.buffer.read())
found = [row for _ in range(2) for batch in function(iter(batches)) for row in batch.to_pylist()]
where = sys.modules["dpselect"].__spec__.origin
sys.stdout.buffer.write(pickle.dumps((where, found)))
"""


@pytest.mark.parametrize("sign", [*SIGNS_OF_A_LOST_WORKER, "something else"])
def test_what_spark_says_becomes_one_sentence_and_a_lost_worker_is_named(sign):
    with pytest.raises(DataError) as stopped, _running():
        raise RuntimeError(f"Job aborted: {sign} (SECRET 17)")
    assert ("lost a worker" in str(stopped.value)) == (sign in SIGNS_OF_A_LOST_WORKER)
    assert "SECRET" not in str(stopped.value) and stopped.value.__context__ is None


def test_a_module_that_was_not_built_has_no_functions():
    assert compiled_function("_nowhere", "put_rows") is None


def every_sum():
    own = Standard(columns=(1,), centers=(0.0,), factors=(2.0**-8,), response_center=0.0, response_factor=1.0)
    asked = [
        Histograms(columns=(1,), edges=((0.0,),), response_edges=(), family="binomial"),
        Gradient(
            family="binomial", standard=own, matrix=((1.0,), (0.5,)), center=(0.25, -0.5), radius=1.0, balanced=True
        ),
    ]
    first = Both(BlockSummary(STUDY, 1, 2), MomentSummary(STUDY))
    return FitAnd(FitSummary(STUDY), Both(Both(first, RoundSummary(STUDY, asked)), Both(Count(), KeptRows(STUDY))))


def on_a_worker(study, summary, batches, *, here):
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="No Spark: pip install 'dpselect[spark]'.")
    sent = cloudpickle.dumps((_shipped(study, summary), batches))
    command = [sys.executable, "-c", WORKER.format(here=here)]
    done = subprocess.run(command, input=sent, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:].decode()
    return pickle.loads(done.stdout)


@pytest.mark.parametrize("here", [False, True])
def test_a_worker_adds_up_with_what_it_has(monkeypatch, here):
    """Without dpselect by the source that is sent and the NumPy twins; else by its own, if that is the same version."""
    monkeypatch.setattr(dealing, "os", os)  # not the tests' own chance, which would be looked for on the worker
    where, found = on_a_worker(STUDY, every_sum(), TABLE.to_batches(), here=here)
    assert (where is None) == (not here)
    assert {row["refusal"] for row in found} == {""}
    pieces = [row["piece"] for row in found]
    fit, (((blocks, moments), answers), (count, kept)) = every_sum().from_bytes(pieces).result()
    whole, (((one, expected), same), _) = gather(pa.concat_tables([TABLE, TABLE]), STUDY, every_sum())
    assert fit == whole
    np.testing.assert_array_equal(blocks.sums.table, one.sums.table)
    assert moments.integers() == expected.integers()
    assert answers == same
    assert (count, kept.count, kept.whole) == (200, 200, False)


def test_a_refusal_comes_back_as_one_sentence():
    table = TABLE.set_column(0, "a", pa.nulls(100, pa.float64()))
    _, found = on_a_worker(STUDY, MomentSummary(STUDY), table.to_batches(), here=False)
    assert {row["piece"] for row in found} == {b""}
    assert {row["refusal"].partition(" has missing")[0] for row in found} == {"'a'"}


def test_little_is_sent():
    """The rooms that gather and what it stands on, and no other."""
    assert {name.split(".")[1] for name in package_sources() if "." in name} == {"errors", "assume", "gather"}
    assert sum(len(text) for _, text in package_sources().values()) < 650_000


CLUSTER_STUDY = Study(Numeric("y", 0, 1), [Numeric("a", 0, 1)])
CLUSTER_TABLE = pa.table({"a": np.arange(800) / 800, "y": np.arange(800) % 7 / 7})


def cluster_sums(source):
    """How many rows, and sums in which each row counts by its own size."""
    own = Standard(columns=(1,), centers=(0.0,), factors=(2.0**-8,), response_center=0.0, response_factor=2.0**-8)
    asked = Gradient(family="gaussian", standard=own, matrix=((1.0,), (0.5,)), center=(0.25, -0.5), radius=9.0)
    rows, sums = gather(source, CLUSTER_STUDY, Both(Count(), RoundSummary(CLUSTER_STUDY, [asked])))
    return [rows, *map(str, sums[0])]


@pytest.mark.spark
@pytest.mark.thorough
def test_rows_of_a_killed_worker_are_read_again_and_count_once(tmp_path):
    """A standalone cluster of two workers; one of them is gone, with all that it had, in the middle of the reading."""
    if shutil.which("java") is None:
        pytest.skip("No Java: install openjdk-17-jre-headless to run the Spark tests.")
    pytest.importorskip("pyspark", reason="No Spark: pip install 'dpselect[spark]'.")
    program, logs = str(Path(__file__).with_name("spark_cluster.py")), ""
    # On a busy machine daemons may lose sight of each other: no answer is tried once more, a wrong one is not.
    for turn in ("first", "second"):
        folder = tmp_path / turn
        folder.mkdir()
        line = [sys.executable, "-W", "ignore", program, str(folder)]
        run = subprocess.run(line, capture_output=True, text=True, timeout=400, check=False)
        if (folder / "answer.json").exists():
            break
        logs += run.stderr[-3000:] + "".join(file.read_text()[-2000:] for file in folder.glob("*.log"))
    assert (folder / "answer.json").exists(), logs
    answer = json.loads((folder / "answer.json").read_text())
    assert answer["sums"] == cluster_sums(CLUSTER_TABLE) and answer["sums"][0] == 800
    assert answer["begun"] > answer["tasks"] and not answer["alive"]  # something was read again, because one was gone


@pytest.mark.spark
def test_local_mode_names_the_lost_worker(spark):
    """It does not try again; the sentence has no word of the row that was read when the worker died."""

    def dies(batches):
        os.kill(os.getpid(), 9)
        yield from batches

    rows = spark.createDataFrame(CLUSTER_TABLE).mapInArrow(dies, "a double, y double")
    with pytest.raises(DataError, match=r"^Spark lost a worker .* and gave up: run it again") as told:
        cluster_sums(rows)
    assert told.value.__context__ is None and told.value.__cause__ is None
