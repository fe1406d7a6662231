"""The walks in docs/ARCHITECTURE.md are what happens: each line once, in that order, and never back a stage."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dpselect

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dpselect.__file__).parent
TEXT = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
STAGES = ["gather", "minimize", "penalize", "release"]
RNG = np.random.default_rng(6)
X = RNG.uniform(-1, 1, (400, 3))
Y = np.clip(X[:, 0] + 0.1 * RNG.normal(size=400), -2, 2)


def listed(name):
    """The lines of a walk: (file, function)."""
    part = re.search(rf"<!-- walk: {name} -->(.*?)<!-- end of walk -->", TEXT, re.DOTALL)[1]
    return re.findall(r"^\| ([\w/]+\.py): (\w+) \|", part, re.MULTILINE)


def followed(call, wanted):
    """The calls of the wanted functions, and what the functions of use/ call directly, in order."""
    met, direct = [], []

    def look(frame, event, argument):
        if event != "call":
            return
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return
        here = path.relative_to(PACKAGE).as_posix(), frame.f_code.co_name
        if here in wanted:
            met.append(here)
        back = frame.f_back
        if back is not None and Path(back.f_code.co_filename).is_relative_to(PACKAGE / "use"):
            direct.append((here[0].split("/")[0], here[1]))

    call()  # once unseen: what is imported or cached at first use is no part of the walk
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return met, direct


def study():
    return dpselect.Assumptions(
        dpselect.Numeric("y", -2, 2), [dpselect.Numeric(name, -1, 1) for name in "abc"], intercept="always"
    )


CALLS = {
    "pcls": lambda: dpselect.pcls(X, Y, epsilon=1, r=2, R=2, phi=3.0, ledger=dpselect.Ledger(epsilon=5)),
    "analyze": lambda: dpselect.analyze(
        (X, Y), study(), epsilon=1, delta=1e-6, ledger=dpselect.Ledger(epsilon=5, delta=1e-5)
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_walk_is_as_it_is_told(name):
    lines = listed(name)
    assert len(lines) > 8
    met, direct = followed(CALLS[name], set(lines))
    assert met == lines
    forward = [STAGES.index(stage) for stage, function in direct if stage in STAGES and function not in WITHOUT]
    # analyze is two choices of the sentence after one reading: gather, minimize, penalize, release, release.
    assert forward == sorted(forward)


WITHOUT = {
    "check",
    "account_of",
    "__init__",
    "n",
    "selection_charge",
    "estimate_charge",
    "plan_estimate",
    "__post_init__",
    "USUAL",
}
"""Public values that are made, or the ledger asked, before a row is read."""
