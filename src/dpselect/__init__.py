"""Choose a regression model from data you may not show, with a differential-privacy guarantee."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpselect.errors import AssumptionError, BudgetExceeded, DataError, DpselectError, LedgerError

if TYPE_CHECKING:
    from dpselect import gather, rehearse
    from dpselect.assume.models.budget import Budget, Guarantee
    from dpselect.assume.models.subsets import Subsets
    from dpselect.assume.study.assumptions import Assumptions
    from dpselect.assume.study.formula import from_formula
    from dpselect.assume.study.study_file import read_assumptions, write_assumptions
    from dpselect.assume.study.variables import Binary, Categorical, Numeric
    from dpselect.gather.saved.answers import moments_from_answer
    from dpselect.gather.saved.moments_file import load_moments, save_moments
    from dpselect.gather.saved.sql import aggregate_query
    from dpselect.gather.sources.source import Csv, Database
    from dpselect.gather.sums.moments import Moments
    from dpselect.release.coefficients.coefficients import Coefficients
    from dpselect.release.ledger.ledger import Ledger
    from dpselect.release.odds.odds_ratios import OddsRatios
    from dpselect.release.selection import Selection
    from dpselect.use.analysis import Analysis
    from dpselect.use.analyze import analyze
    from dpselect.use.estimate import estimate
    from dpselect.use.paper import pcls, pcpl
    from dpselect.use.select import select
    from dpselect.use.select_tuned import select_tuned
    from dpselect.use.selectors.paper import PCLSSelector, PCPLSelector
    from dpselect.use.selectors.votes import VotesSelector

# Where each public name lives; a name is imported when it is first asked for, so that `import dpselect` costs nothing.
_HOMES = {
    "Analysis": "use.analysis",
    "Assumptions": "assume.study.assumptions",
    "Binary": "assume.study.variables",
    "Budget": "assume.models.budget",
    "Categorical": "assume.study.variables",
    "Coefficients": "release.coefficients.coefficients",
    "Csv": "gather.sources.source",
    "Database": "gather.sources.source",
    "Guarantee": "assume.models.budget",
    "Ledger": "release.ledger.ledger",
    "Moments": "gather.sums.moments",
    "Numeric": "assume.study.variables",
    "OddsRatios": "release.odds.odds_ratios",
    "PCLSSelector": "use.selectors.paper",
    "PCPLSelector": "use.selectors.paper",
    "Selection": "release.selection",
    "Subsets": "assume.models.subsets",
    "VotesSelector": "use.selectors.votes",
    "aggregate_query": "gather.saved.sql",
    "analyze": "use.analyze",
    "estimate": "use.estimate",
    "from_formula": "assume.study.formula",
    "load_moments": "gather.saved.moments_file",
    "moments_from_answer": "gather.saved.answers",
    "pcls": "use.paper",
    "pcpl": "use.paper",
    "read_assumptions": "assume.study.study_file",
    "save_moments": "gather.saved.moments_file",
    "select": "use.select",
    "select_tuned": "use.select_tuned",
    "write_assumptions": "assume.study.study_file",
}

__all__ = [
    "Analysis",
    "AssumptionError",
    "Assumptions",
    "Binary",
    "Budget",
    "BudgetExceeded",
    "Categorical",
    "Coefficients",
    "Csv",
    "DataError",
    "Database",
    "DpselectError",
    "Guarantee",
    "Ledger",
    "LedgerError",
    "Moments",
    "Numeric",
    "OddsRatios",
    "PCLSSelector",
    "PCPLSelector",
    "Selection",
    "Subsets",
    "VotesSelector",
    "aggregate_query",
    "analyze",
    "estimate",
    "from_formula",
    "gather",
    "load_moments",
    "moments_from_answer",
    "pcls",
    "pcpl",
    "read_assumptions",
    "rehearse",
    "save_moments",
    "select",
    "select_tuned",
    "write_assumptions",
]


def __getattr__(name: str) -> Any:
    if name in ("gather", "rehearse"):
        return import_module(f"dpselect.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'dpselect' has no attribute {name!r}")
    value = getattr(import_module(f"dpselect.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
