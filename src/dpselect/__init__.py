"""Choose a regression model from data you may not show, with a differential-privacy guarantee."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpselect.errors import AssumptionError, BudgetExceeded, DataError, DpselectError, LedgerError

if TYPE_CHECKING:
    from dpselect import gather, rehearse
    from dpselect.assume.assumptions import Assumptions
    from dpselect.assume.budget import Budget, Guarantee
    from dpselect.assume.formula import from_formula
    from dpselect.assume.models import Subsets
    from dpselect.assume.study_file import read_assumptions, write_assumptions
    from dpselect.assume.variables import Categorical, Numeric
    from dpselect.gather.answers import moments_from_answer
    from dpselect.gather.moments import Moments
    from dpselect.gather.moments_file import load_moments, save_moments
    from dpselect.gather.source import Csv, Database
    from dpselect.gather.sql import aggregate_query
    from dpselect.release.coefficients import Coefficients
    from dpselect.release.ledger import Ledger
    from dpselect.release.selection import Selection
    from dpselect.use.algorithms import pcls, pcpl
    from dpselect.use.analysis import select
    from dpselect.use.analyze import Analysis, analyze, estimate
    from dpselect.use.estimators import PCLSSelector, PCPLSelector
    from dpselect.use.tuned import select_tuned

# Where each public name lives; a name is imported when it is first asked for, so that `import dpselect` costs nothing.
_HOMES = {
    "Analysis": "use.analyze",
    "Assumptions": "assume.assumptions",
    "Budget": "assume.budget",
    "Categorical": "assume.variables",
    "Coefficients": "release.coefficients",
    "Csv": "gather.source",
    "Database": "gather.source",
    "Guarantee": "assume.budget",
    "Ledger": "release.ledger",
    "Moments": "gather.moments",
    "Numeric": "assume.variables",
    "PCLSSelector": "use.estimators",
    "PCPLSelector": "use.estimators",
    "Selection": "release.selection",
    "Subsets": "assume.models",
    "aggregate_query": "gather.sql",
    "analyze": "use.analyze",
    "estimate": "use.analyze",
    "from_formula": "assume.formula",
    "load_moments": "gather.moments_file",
    "moments_from_answer": "gather.answers",
    "pcls": "use.algorithms",
    "pcpl": "use.algorithms",
    "read_assumptions": "assume.study_file",
    "save_moments": "gather.moments_file",
    "select": "use.analysis",
    "select_tuned": "use.tuned",
    "write_assumptions": "assume.study_file",
}

__all__ = [
    "Analysis",
    "AssumptionError",
    "Assumptions",
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
    "PCLSSelector",
    "PCPLSelector",
    "Selection",
    "Subsets",
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
