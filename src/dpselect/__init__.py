"""Select a regression model from confidential data, with a differential-privacy guarantee."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpselect.errors import BudgetExceeded, DataError, DpselectError, LedgerError, StudyError

if TYPE_CHECKING:
    from dpselect import gather, rehearse
    from dpselect.assume.budget import Budget, Guarantee
    from dpselect.assume.candidates import Subsets
    from dpselect.assume.study import Study
    from dpselect.assume.subgroup import Only
    from dpselect.assume.variables import Binary, Categorical, Count, Numeric
    from dpselect.gather.moments import Moments
    from dpselect.gather.saved import load_moments, save_moments
    from dpselect.gather.sources.source import Csv, Database
    from dpselect.gather.sql import aggregate_query, moments_from_answer
    from dpselect.release.estimate import Estimate
    from dpselect.release.ledger.ledger import Ledger
    from dpselect.release.selection import Selection
    from dpselect.use.analysis import Analysis
    from dpselect.use.analyze import analyze, analyze_several
    from dpselect.use.check import check
    from dpselect.use.estimate import estimate
    from dpselect.use.init import init
    from dpselect.use.paper import pcls, pcpl
    from dpselect.use.plan import plan
    from dpselect.use.registry import registry
    from dpselect.use.select import select
    from dpselect.use.selectors.selectors import PCLSSelector, PCPLSelector, PrivateSelector
    from dpselect.use.verify import verify

# Where each public name lives; a name is imported when it is first asked for, so that `import dpselect` costs nothing.
_HOMES = {
    "Analysis": "use.analysis",
    "Study": "assume.study",
    "Binary": "assume.variables",
    "Budget": "assume.budget",
    "Categorical": "assume.variables",
    "Count": "assume.variables",
    "Csv": "gather.sources.source",
    "Database": "gather.sources.source",
    "Estimate": "release.estimate",
    "Guarantee": "assume.budget",
    "Ledger": "release.ledger.ledger",
    "Moments": "gather.moments",
    "Numeric": "assume.variables",
    "Only": "assume.subgroup",
    "PCLSSelector": "use.selectors.selectors",
    "PCPLSelector": "use.selectors.selectors",
    "Selection": "release.selection",
    "Subsets": "assume.candidates",
    "PrivateSelector": "use.selectors.selectors",
    "aggregate_query": "gather.sql",
    "analyze": "use.analyze",
    "analyze_several": "use.analyze",
    "check": "use.check",
    "estimate": "use.estimate",
    "init": "use.init",
    "load_moments": "gather.saved",
    "moments_from_answer": "gather.sql",
    "pcls": "use.paper",
    "pcpl": "use.paper",
    "plan": "use.plan",
    "registry": "use.registry",
    "save_moments": "gather.saved",
    "select": "use.select",
    "verify": "use.verify",
}

__all__ = [
    "Analysis",
    "Binary",
    "Budget",
    "BudgetExceeded",
    "Categorical",
    "Count",
    "Csv",
    "DataError",
    "Database",
    "DpselectError",
    "Estimate",
    "Guarantee",
    "Ledger",
    "LedgerError",
    "Moments",
    "Numeric",
    "Only",
    "PCLSSelector",
    "PCPLSelector",
    "PrivateSelector",
    "Selection",
    "Study",
    "StudyError",
    "Subsets",
    "aggregate_query",
    "analyze",
    "analyze_several",
    "check",
    "estimate",
    "gather",
    "init",
    "load_moments",
    "moments_from_answer",
    "pcls",
    "pcpl",
    "plan",
    "registry",
    "rehearse",
    "save_moments",
    "select",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in ("gather", "rehearse"):
        return import_module(f"dpselect.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version("dpselect")
    if name not in _HOMES:
        raise AttributeError(f"module 'dpselect' has no attribute {name!r}")
    value = getattr(import_module(f"dpselect.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
