"""Run with dpselect 0.1.0: writes what 0.1.0 leaves behind, for tests that later versions still read it."""

import sys
from pathlib import Path

import numpy as np

import dpselect
from dpselect.use.command_line import run

here = Path(sys.argv[1])
rng = np.random.default_rng(20261116)
age = rng.integers(18, 91, 400)
region = np.where(rng.random(400) < 0.4, "south", "north")
income = np.clip(10 + 0.5 * age + 8 * (region == "south") + rng.normal(0, 3, 400), 0, 100).round(2)
rows = "\n".join(f"{i},{a},{r}" for i, a, r in zip(income, age, region, strict=True))
(here / "people.csv").write_text("income,age,region\n" + rows + "\n")
(here / "study.toml").write_text(
    'neighbors = "replace-one"\n[response]\nname = "income"\nlower = 0\nupper = 100\n'
    '[[predictors]]\nname = "age"\nlower = 18\nupper = 90\n'
    '[[predictors]]\nname = "region"\nlevels = ["north", "south"]\n'
)
study = ["study.toml", "people.csv"]
assert run(["select", *study, "--epsilon", "1", "-q", "-o", "selection.json", "--ledger", "ledger.sqlite", "-y"]) == 0
assert (
    run(
        [
            "analyze",
            *study,
            "--epsilon",
            "4",
            "--delta",
            "1e-6",
            "-o",
            "report.html",
            "--ledger",
            "ledger.sqlite",
            "-y",
            "-q",
        ]
    )
    == 0
)
assumptions = dpselect.read_assumptions("study.toml")
dpselect.save_moments(dpselect.gather("people.csv", assumptions), "people.moments")
