"""The program that people use, followed: the walks in docs/ARCHITECTURE.md are what happens, and no fact is derived twice.

tools/walk.py runs the commands and a release of the studio, each cold in a process of its own; here stand the bounds.
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dpselect

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGE = Path(dpselect.__file__).parent
COMMANDS = ["analyze", "select", "check", "plan", "verify", "studio"]

BOUNDS = {
    "analyze": {
        "design columns derived for one study": 1,
        "study hashed": 1,
        "analysis planned": 1,
        "recipe made": 1,
        "estimate planned": 1,
        "equations solved": 1,
        "source opened": 2,  # once for the count and once for the rows
        "file opened to be read": 4,  # a pass may look at the head first
        "ledger opened": 1,
        "charges": 1,  # of the choice and of the coefficients, together
        "SQLite connections": 2,  # one to open the ledger, one for all that follows
        "durable transactions": 1,  # the commit: rounds of rows that fit in memory are drawn before it
    },
    "select": {
        "design columns derived for one study": 1,
        "recipe made": 1,
        "source opened": 2,
        "ledger opened": 1,
        "SQLite connections": 2,
        "durable transactions": 1,
    },
    "check": {
        "design columns derived for one study": 1,
        "source opened": 2,  # once for the count and once for the rows, whatever the number of random splits
        "file opened to be read": 4,
        "SQLite connections": 0,
        "charges": 0,
    },
    "plan": {"source opened": 0, "file opened to be read": 0, "SQLite connections": 0},
    "verify": {
        "equations solved": 1,
        "file opened to be read": 0,
        "ledger opened": 1,
        "SQLite connections": 2,
        "durable transactions": 0,
    },
    "studio": {
        "analysis planned": 1,
        "estimate planned": 1,
        "equations solved": 1,
        "source opened": 2,
        "ledger opened": 2,  # by who states its totals, and by who charges it
        "SQLite connections": 10,  # a page that shows what remains has its own
        "durable transactions": 1,
    },
}
"""At most so often; what is to be done is done at least once, and what has the bound 0 never."""

needs_studio = pytest.mark.skipif(
    not (find_spec("starlette") and find_spec("uvicorn")), reason="install dpselect[studio] to walk the studio"
)


def loaded(name):
    """A module of tools/, which is no package."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def walks():
    """Each walk, made when it is first asked for."""
    made = {}

    def walked(name):
        if name not in made:
            words = [sys.executable, ROOT / "tools/walk.py", name, "--json", "--tree", PACKAGE.parent]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
            if done.returncode:
                raise RuntimeError(done.stderr)
            made[name] = json.loads(done.stdout)[name]
        return made[name]

    return walked


def bounds():
    for command, roles in BOUNDS.items():
        for what, most in roles.items():
            marks = [needs_studio] if command == "studio" else []
            marks += [pytest.mark.thorough] if command != "analyze" else []
            yield pytest.param(command, what, most, marks=marks, id=f"{command}: {what}")


@pytest.mark.parametrize(("command", "what", "most"), list(bounds()))
def test_nothing_is_done_oftener_than_it_must_be(walks, command, what, most):
    count = walks(command)["counts"][what]
    if most and not count:
        raise LookupError(f"{what}: never, in {command}; see ROLES of tools/walk.py")
    assert count <= most


MODULES_RUN = {"analyze": 80, "select": 61, "check": 71, "plan": 40, "verify": 57, "studio": 83}
"""What is reached. A command and what it runs are two modules, so that its help imports nothing that computes."""


def commands():
    """Each in a process of its own; without the thorough ones analyze alone, which runs most of the others' way."""
    for command in COMMANDS:
        marks = [needs_studio] if command == "studio" else []
        yield pytest.param(command, marks=marks if command == "analyze" else [*marks, pytest.mark.thorough])


@pytest.mark.parametrize("command", list(commands()))
def test_no_command_runs_more_modules_than_it_did(walks, command):
    assert walks(command)["counts"]["modules run"] <= MODULES_RUN[command]


def listed(name):
    """The lines of a walk as docs/ARCHITECTURE.md tells it: file:function."""
    part = re.search(rf"<!-- walk: {name} -->(.*?)<!-- end of walk -->", TEXT, re.DOTALL)[1]
    return [f"{file}:{function}" for file, function in re.findall(r"^\| ([\w/]+\.py): ([\w.]+) \|", part, re.MULTILINE)]


def require_told(name, walk):
    """Each line happens once, in the order in which they are told."""
    lines, functions = listed(name), walk["functions"]
    assert len(lines) > 8
    assert {line: functions.get(line, 0) for line in lines} == dict.fromkeys(lines, 1)
    assert [function for function in functions if function in lines] == lines


def require_forward(walk):
    """Whoever conducts (use/) asks a private stage for nothing more once the next was asked."""
    stages = [crossing.split("/")[0] for crossing in walk["crossings"]]
    last = max(place for place, stage in enumerate(stages) if stage == "penalize")
    private = [stage for stage in stages[: last + 1] if stage in ("gather", "minimize", "penalize")]
    assert {"gather", "minimize", "penalize"} == set(private)
    assert private == sorted(private)
    # The rounds of an estimate ask the rows again, and nothing else of what is private.
    assert not {"minimize", "penalize"} & set(stages[last + 1 :])
    assert "release" in stages[last:]


def test_the_walk_of_analyze_is_as_it_is_told(walks):
    require_told("analyze", walks("analyze"))
    require_forward(walks("analyze"))


@pytest.mark.thorough
@needs_studio
def test_the_walk_of_the_studio_is_as_it_is_told(walks):
    require_told("studio", walks("studio"))


def test_the_walk_of_the_papers_door_is_as_it_is_told():
    chance = np.random.default_rng(6)
    x = chance.uniform(-1, 1, (400, 3))
    y = np.clip(x[:, 0] + 0.1 * chance.normal(size=400), -2, 2)

    def call():
        dpselect.pcls(x, y, epsilon=1, r=2, R=2, phi=3.0, ledger=dpselect.Ledger(epsilon=5))

    call()  # once unseen: what is imported or cached at first use is no part of the walk
    walk = loaded("follow").Walk(PACKAGE, {}, (), __file__)
    with walk.followed():
        call()
    found = {"functions": dict(walk.functions), "crossings": walk.crossings}
    require_told("pcls", found)
    require_forward(found)


def test_the_table_of_the_walks_has_every_command():
    table = TEXT.partition("<!-- walks: ")[2].partition("<!-- end of walks -->")[0]
    assert f"| {' | '.join(COMMANDS)} |" in table
    for what in {what for roles in BOUNDS.values() for what in roles}:
        assert f"\n| {what} | " in table


def test_a_role_that_nobody_plays_is_noticed():
    require_roles = loaded("walk").require_roles
    require_roles({"recipe made": 1, "charges": 2})
    with pytest.raises(SystemExit, match="recipe made"):
        require_roles({"recipe made": 0, "charges": 2})


TOY = """
class Public:
    def hash(self):
        return sorted([2, 1], key=lambda each: each)

class Study(Public): ...
class Other(Public): ...

def columns(names):
    return [name for name in names]

def long(study):
    one = study.hash()
    two = columns(["a", "b"])
    return one, two

AT_IMPORT = columns("abc")
"""


def test_what_is_followed_is_counted(tmp_path):
    place = tmp_path / "assume" / "toy.py"
    place.parent.mkdir()
    place.write_text(TOY)
    names = {}
    exec(compile(TOY, str(place), "exec"), names)
    roles = {"hashed": ["assume/*:Study.hash"], "columns": ["assume/*:columns"], "each": ["assume/*:columns"]}
    walk = loaded("follow").Walk(tmp_path, roles, {"each"}, place)
    with walk.followed():
        exec(compile(TOY, str(place), "exec"), {})  # as if it were imported meanwhile
        names["long"](names["Study"]())
        names["long"](names["Other"]())
        names["columns"]("x")
    counts = walk.counts()
    assert (counts["hashed"], counts["columns"], counts["each"]) == (1, 3, 2)
    assert (counts["modules run"], counts["functions run"], counts["of these at most 3 lines"]) == (1, 3, 2)
    assert counts["deepest stack"] == 3  # long, hash, its lambda
    assert counts["lines of the modules run"] == len(TOY.splitlines())
    walk.begin_anew()
    assert walk.counts()["functions run"] == walk.counts()["hashed"] == 0


WORLD = """
import os, sqlite3, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import follow
walk = follow.Walk(Path.cwd(), {}, (), "rows.csv")
walk.watch_the_world()
import pyarrow as pa
from pyarrow import csv

def opened(read):
    before = walk.outside[follow.OPENED]
    read()
    return walk.outside[follow.OPENED] - before

assert opened(lambda: Path("rows.csv").read_text()) == 1
assert opened(lambda: csv.open_csv(pa.input_stream("rows.csv")).close()) == 1
assert opened(lambda: csv.read_csv(os.path.abspath("rows.csv"))) == 1
assert opened(lambda: pa.OSFile("rows.csv").close()) == 1
assert opened(lambda: pa.memory_map("rows.csv").close()) == 1
descriptor = os.open("rows.csv", os.O_RDONLY)
assert opened(lambda: os.fdopen(descriptor).close()) == 1
assert opened(lambda: os.close(os.open("rows.csv", os.O_RDONLY))) == 0
assert opened(lambda: Path("other.csv").write_text("a")) == 0
sqlite3.connect("ledger.db").close()
assert walk.outside[follow.CONNECTIONS] == 1
"""


def test_a_file_and_a_ledger_are_noticed_at_every_door(tmp_path):
    """In a process of its own, as nobody can take an audit hook away again."""
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    words = [sys.executable, "-c", WORLD, str(ROOT / "tools")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


def test_transactions_that_wait_for_the_disk_are_told_from_others():
    follow = loaded("follow")
    walk = follow.Walk(ROOT, {}, (), __file__)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.set_trace_callback(walk._statements())

    def wrote(*statements):
        before = walk.outside[follow.WRITES]
        for statement in statements:
            connection.execute(statement)
        return walk.outside[follow.WRITES] - before

    assert (
        wrote("BEGIN IMMEDIATE", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)", "COMMIT")
        == 1
    )
    assert wrote("BEGIN", "SELECT * FROM t", "COMMIT") == 0
    assert wrote("BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK") == 0
    assert wrote("INSERT INTO t VALUES (1)") == 1
    assert wrote("BEGIN", "PRAGMA user_version = 3", "COMMIT", "BEGIN", "PRAGMA user_version", "COMMIT") == 1
    assert wrote("PRAGMA synchronous = NORMAL", "BEGIN", "INSERT INTO t VALUES (1)", "COMMIT") == 0
    assert wrote("PRAGMA synchronous = FULL", "BEGIN", "INSERT INTO t VALUES (1)", "COMMIT") == 1
    connection.close()
