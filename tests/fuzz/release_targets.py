"""Reports and ledgers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from target import Target

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.page import report_page
from dpselect.report.verify import check_report
from dpselect.use.analyze import analyze

STUDY = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1), Categorical("g", ["a", "b"])])


@cache
def _reports() -> tuple[AnalysisRecord, ...]:
    generator = np.random.default_rng(1607)
    x = generator.uniform(0, 1, 200)
    rows = {"x": x, "g": generator.choice(["a", "b"], 200), "y": np.clip(x + generator.normal(0, 0.1, 200), 0, 1)}
    made = []
    for method, delta in (("votes", "1e-6"), ("pcls", 0), ("pcpl", "1e-6")):
        ledger = Ledger(epsilon=10, delta="1e-5")
        result = analyze(rows, STUDY, epsilon=5, delta=delta, method=method, ledger=ledger)
        made.append(AnalysisRecord(title="t", made="", selection=result.selection, coefficients=result.coefficients))
    return tuple(made)


def _texts() -> list[bytes]:
    return [each.to_json().encode() for each in _reports()] + [_reports()[0].selection.to_json().encode()]


def _pages() -> list[bytes]:
    return [report_page(_reports()[0]).encode()]


def _checked(path: Path) -> Any:
    return check_report(path.read_bytes().decode("utf-8", errors="replace"))


def _ledgers() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        ledger = Ledger(path, epsilon=10, delta="1e-5")
        for mechanism, more in (("exponential", {}), ("gaussian", {"rho": "0.1"}), ("laplace", {})):
            ledger.charge(Charge(what="select", mechanism=mechanism, epsilon=1, parameters=more, data="births"))
        return [path.read_bytes()]


def _used(path: Path) -> Any:
    ledger = Ledger(path, wait=0)
    ledger.entries(), ledger.remaining(), ledger.spent()
    return ledger.charge(Charge(what="select", mechanism="exponential", epsilon="0.1", data="births"))


def _beside(path: Path) -> Any:
    """A damaged neighbour must not stop a healthy ledger."""
    return Ledger(path.with_name("healthy.db"), epsilon=1).charge(
        Charge(what="select", mechanism="laplace", epsilon="0.1", data="deaths")
    )


RELEASE_TARGETS: Sequence[Target] = (
    Target(name="report", suffix=".json", seeds=_texts, run=_checked),
    Target(name="page", suffix=".html", seeds=_pages, run=_checked),
    Target(name="ledger", suffix=".db", seeds=_ledgers, run=_used),
    Target(name="neighbour", suffix=".db", seeds=_ledgers, run=_beside),
)
