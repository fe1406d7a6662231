"""A studio in a process of its own, in a folder with one CSV file; and a browser that notices whatever it should not see."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest

pytest.importorskip("starlette", reason="install dpselect[studio] to run the studio's tests")
pytest.importorskip("uvicorn", reason="install dpselect[studio] to run the studio's tests")

SOURCES = Path(__file__).parents[3] / "src"
START = """
import sys
from dpselect.use.studio import pages, server
server.BEAT = float(sys.argv[3])
server.make_app.__kwdefaults__["beat"] = float(sys.argv[3])
server.serve(sys.argv[1], int(sys.argv[2]), lambda address: print(address, flush=True))
"""
FIELDS = {
    "age": {"use": "predictor", "lower": "18", "upper": "90"},
    "education": {"use": "predictor", "lower": "0", "upper": "25"},
    "hours": {"use": "predictor", "lower": "0", "upper": "80"},
    "region": {"use": "predictor", "categories": "north\nsouth\nwest"},
    "income": {"use": "response", "lower": "0", "upper": "30000"},
    "id": {"use": "none"},
}


def write_people(folder, rows=3000):
    generator = np.random.default_rng(17)
    age, education = generator.integers(18, 80, rows), generator.integers(6, 20, rows)
    hours, region = generator.normal(35, 8, rows).clip(0, 70), generator.choice(["north", "south", "west"], rows)
    income = 600 * education + 150 * hours + generator.normal(0, 1500, rows)
    lines = ["id,age,education,hours,region,income"]
    lines += [f"{i},{age[i]},{education[i]},{hours[i]:.1f},{region[i]},{income[i]:.0f}" for i in range(rows)]
    Path(folder, "people.csv").write_text("\n".join(lines) + "\n")


class Studio:
    """A running studio, and the requests that a browser with its cookie would send."""

    def __init__(self, folder, beat=0.05, start=START):
        self.folder, began = Path(folder), time.perf_counter()
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", start, "study.toml", "0", str(beat)],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.address = self.process.stdout.readline().strip()
        self.seconds = time.perf_counter() - began
        assert self.address.startswith("http://127.0.0.1:"), self.process.stderr.read()
        parts = urlsplit(self.address)
        self.host, self.port, self.token = parts.netloc, parts.port, parts.query.removeprefix("token=")
        self.cookie = self.home = self.form_token = ""

    def send(self, method, path, body=None, headers=None, timeout=300):
        """One request as given, with a fresh connection; status, headers, text.

        Where the machine is so busy that the studio gives up a connection before it has seen a request, a GET is sent once more,
        as browsers do; a POST never is.
        """
        for last in (method != "GET", True):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
            with contextlib.closing(connection):
                try:
                    connection.request(method, path, body, {"Host": self.host, **(headers or {})})
                    answer = connection.getresponse()
                    return answer.status, answer.headers, answer.read().decode()
                except http.client.RemoteDisconnected:
                    if last:
                        raise
        raise AssertionError("the last turn returns or raises")

    def enter(self):
        status, headers, text = self.send("GET", f"/?token={self.token}")
        assert status == 200
        self.home = re.search(r'href="(/\w+/)study"', text).group(1)
        self.cookie = headers["Set-Cookie"].partition(";")[0]
        self.form_token = re.search(r'name="form_token" value="([^"]+)"', self.get("study")[2]).group(1)
        return self

    def get(self, screen, **headers):
        return self.send("GET", self.home + screen, headers={"Cookie": self.cookie, **headers})

    def post(self, screen, fields, headers=None, **kept):
        sent = {"form_token": self.form_token, **fields}
        usual = {
            "Cookie": self.cookie,
            "Origin": f"http://{self.host}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.send("POST", self.home + screen, urlencode(sent), {**usual, **(headers or {})}, **kept)

    def send_form(self, screen, fields):
        """A form and the page that it leads to."""
        status, headers, text = self.post(screen, fields)
        return self.get(headers["Location"])[2] if status == 303 else text

    def state(self, title="What makes incomes differ?", budget="3"):
        """From the file to a budget, as a custodian would."""
        assert self.post("study", {"address": "people.csv"})[0] == 303
        assert self.post("variables", variables())[1]["Location"] == "persons"
        assert self.post("budget", {"epsilon": budget, "delta": "1e-5"})[0] == 303
        return self

    def nonce(self):
        return re.search(r'name="nonce" value="([^"]+)"', self.get("confirm")[2]).group(1)

    def ask(self, epsilon="1", **fields):
        usual = {"epsilon": epsilon, "delta": "1e-6", "title": "What makes incomes differ?"}
        return self.post("release", {**usual, **fields})

    def stop(self, how=signal.SIGINT):
        """End the process; what it printed after the address, and its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out, err


def variables(changes=None, names=tuple(FIELDS)):
    """The fields of the form of variables."""
    form = {"seen": ""}
    for place, name in enumerate(names):
        kind = "text" if name == "region" else "number"
        form |= {f"name.{place}": name, f"kind.{place}": kind}
        stated = {**FIELDS[name], **(changes or {}).get(name, {})}
        form |= {f"{key}.{place}": value for key, value in stated.items()}
    return form


@pytest.fixture
def people(tmp_path):
    """A folder with a CSV file and nothing else."""
    write_people(tmp_path)
    return tmp_path


@pytest.fixture
def start(people):
    """Starts studios in that folder, and ends them."""
    running = []

    def start(**options):
        running.append(Studio(people, **options))
        return running[-1].enter()

    yield start
    for studio in running:
        studio.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One studio for all tests of a file that leave it as it was."""
    folder = tmp_path_factory.mktemp("shared")
    write_people(folder)
    studio = Studio(folder).enter()
    yield studio
    studio.stop(signal.SIGKILL)


@pytest.fixture
def studio(start):
    return start()


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOW = "install Debian's chromium and PyPI's playwright and axe-playwright-python to run the browser tests"
ARGUMENTS = (
    "--no-sandbox --headless --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
