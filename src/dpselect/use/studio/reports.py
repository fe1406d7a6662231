"""The reports beside a study: their files, what they say, how the same is done without the studio, and whether one holds."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpselect.assume.budget import Budget, Guarantee, plain
from dpselect.assume.queries import FamilyName
from dpselect.assume.study import Study
from dpselect.errors import DataError, DpselectError
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.checks import Check
from dpselect.report.facts import Facts, facts_of
from dpselect.use.order import Order
from dpselect.use.shell.code import python_code
from dpselect.use.studio.ledgers import ledger_of
from dpselect.use.studio.sources import Source
from dpselect.use.verify import A_REPORT, verify_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan:
    """Public. One release: of what, from where, for how much, into which report; `order` is what is run, None if it was."""

    study_file: Path
    source: Source
    study: Study
    budget: Budget
    coefficients: bool
    title: str
    number: int
    family: FamilyName | None = None
    order: Order | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""
        return Guarantee(epsilon=self.budget.epsilon, delta=self.budget.delta, neighbors=self.study.neighbors)


def report_files(study_file: Path, number: int) -> tuple[Path, Path]:
    """The page and the JSON file of a report."""
    base = study_file.parent / f"{study_file.stem}.report-{number}"
    return base.with_name(base.name + ".html"), base.with_name(base.name + ".json")


def reports(study_file: Path) -> list[int]:
    """The numbers of the reports beside a study."""
    found = (path.stem.rpartition("-")[2] for path in study_file.parent.glob(f"{study_file.stem}.report-*.json"))
    return sorted(int(number) for number in found if number.isdecimal())


def report_facts(study_file: Path, number: int) -> Facts:
    """What a report says."""
    return facts_of(AnalysisRecord.from_json(report_text(study_file, number)))


def report_text(study_file: Path, number: int, *, page: bool = False) -> str:
    """A report as it lies on the disk."""
    path = report_files(study_file, number)[0 if page else 1]
    if number not in reports(study_file):
        raise DpselectError(f"There is no report of this number beside {study_file.name}.")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DpselectError(f"The page of report {number} was removed from beside {study_file.name}.") from None


def past_report(study_file: Path, number: int, source: Source | None) -> ReportPlan:
    """The plan of a report from before this studio was started, as far as the report tells."""
    analysis = AnalysisRecord.from_json(report_text(study_file, number))
    return ReportPlan(
        study_file=study_file,
        study=analysis.selection.study,
        source=source or Source(address="DATA", form=(), columns=()),
        budget=Budget(analysis.guarantee.epsilon, analysis.guarantee.delta),
        coefficients=analysis.coefficients is not None,
        title=analysis.title,
        number=number,
        family=None if analysis.coefficients is None else analysis.coefficients.family,
    )


def same_command(plan: ReportPlan) -> str:
    """What to type for the same release in a shell."""
    options = _options(plan)
    words = ["dpselect", _verb(plan), options["data"], "--study", options["study"], "--epsilon", options["epsilon"]]
    for name in ("delta", "title", "delimiter", "encoding", "decimal"):
        words += [f"--{name}", options[name]] if options.get(name) else []
    words += ["--family", plan.family] if plan.family is not None else []
    return " ".join(map(shlex.quote, [*words, "-o", options["output"]]))


def same_python(plan: ReportPlan) -> str:
    """What to write for the same release in Python: what the command shows with --show-code."""
    return python_code(_verb(plan), _options(plan))


def _verb(plan: ReportPlan) -> str:
    return "analyze" if plan.coefficients else "select"


def _options(plan: ReportPlan) -> dict[str, Any]:
    """The options of the command that does the same; None where the usual will do."""
    names = ("moments", "ledger", "total_epsilon", "total_delta", "max_size", "penalty", "split", "board")
    page, values = report_files(
        plan.study_file, 1 + max(reports(plan.study_file), default=0)
    )  # no report is overwritten
    return {
        **dict.fromkeys((*names, "delimiter", "encoding", "decimal")),
        **{"method": "votes", "mechanism": "permute-and-flip", "level": 0.95, "family": plan.family},
        **dict(plan.source.form),
        "study": _here(plan.study_file),
        "places": [plan.source.shown],
        "data": plan.source.shown,
        "epsilon": plain(plan.budget.epsilon),
        "delta": plain(plan.budget.delta) if plan.coefficients else None,
        "title": plan.title if plan.coefficients else "",
        "output": _here(page if plan.coefficients else values),
    }


def _here(path: Path) -> str:
    """A path as one would type it in the folder where the studio was started."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def check_text(text: str, source: Source | None) -> tuple[Check, ...]:
    """Check a report as anybody can, and against the ledger of the rows if there is one."""
    ledger = ledger_of(source)
    with nullcontext() if ledger is None else ledger.session():
        found = verify_text(text, ledger)
    if found.problem is not None and found.problem.what == A_REPORT:
        raise DataError(found.problem.found)
    return found.checks
