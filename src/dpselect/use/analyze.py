"""`dpselect.analyze`: select variables, then estimate their effects, each privately, from one budget; of several responses too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpselect.assume.budget import DEFAULT_DELTA, Budget, Price
from dpselect.assume.penalty import Penalty
from dpselect.assume.queries import FamilyName
from dpselect.assume.recipe import Choice, Mechanism, Method
from dpselect.assume.study import Missing, Study
from dpselect.assume.variables import Category
from dpselect.errors import StudyError
from dpselect.gather.rows import has_rows_again, require_repeatable
from dpselect.release.account import LedgerPlace, account_of
from dpselect.use.analysis import Analysis
from dpselect.use.order import Competing, order_analysis
from dpselect.use.proposal import study_for
from dpselect.use.spend import spend, spend_together


def analyze(
    source: Any,
    study: Study | str | None = None,
    *,
    epsilon: Price,
    delta: Price = DEFAULT_DELTA,
    response: str | None = None,
    predictors: Iterable[str] | None = None,
    categories: Mapping[str, Sequence[Category]] | None = None,
    missing: Missing | None = None,
    split: tuple[Price, Price] | None = None,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Competing = None,
    penalty: Penalty | None = None,
    level: float = 0.95,
    family: FamilyName | None = None,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Analysis:
    """Select variables and estimate their effects, from one privacy budget.

    With a delta effects come from a few rounds of noisy sums, which need no ranges. Selection and estimate are
    charged together, or not at all.

    Parameters
    ----------
    source : table, path or address
        Anything that `gather` reads: a data frame, an Arrow table, a path, a database's address.
    study : Study or str, optional
        What is stated before the rows are read; or a formula, "income ~ ." or "income ~ age + school".
    epsilon : number or str
        The privacy cost of this call: 1 is strong, 3 moderate.
    delta : number or str, optional
        The chance that the promise fails.
    response : str, optional
        In place of a study: the variable to explain.
    predictors : list of str, optional
        The variables to consider; by default all usable columns of a table that states its types.
    categories : dict, optional
        All categories of each text column to consider: ``{"region": ["north", "south"]}``. Two for a binary response.
    missing : {"error", "midpoint", "zero-row"}, optional
        In place of a study: what is done about missing cells. By default the run stops; "zero-row" leaves such rows out.
    split : pair of numbers, optional
        The shares of epsilon for the selection and for the effects. Public facts decide by default.
    method : {"votes", "pcls", "pcpl"}, optional
        How variables are selected.
    mechanism : {"permute-and-flip", "exponential", "laplace"}, optional
        How the selection is drawn.
    candidates : Subsets or list of models, optional
        The models to consider; by default all.
    penalty : number, "aic", "bic" or list, optional
        What a column costs under "pcls" and "pcpl".
    level : float, optional
        The level of the intervals.
    family : {"gaussian", "binomial", "poisson"}, optional
        Effects in the response's units, odds ratios of a `Binary` or rate ratios of a `Count` response. By default the response
        decides.
    ledger : Ledger or path, optional
        The ledger to charge.
    data, analyst : str, optional
        What the ledger entries say about the data and about who ran this.

    Returns
    -------
    Analysis
        The selection, the coefficients with their intervals, and the report.

    Examples
    --------
    >>> analysis = dpselect.analyze(frame, study, epsilon=1)  # doctest: +SKIP
    >>> analysis.to_html("report.html")  # doctest: +SKIP
    """
    stated = study_for(source, study, response=response, predictors=predictors, categories=categories, missing=missing)
    choice = Choice(method, mechanism, candidates, penalty)
    account = account_of(ledger, data, analyst)
    # All that public facts can refuse is refused here, before a row is read.
    order = order_analysis(
        stated,
        choice,
        Budget(epsilon, delta),
        source=source,
        split=split,
        level=level,
        family=family,
        rows_again=has_rows_again(source),
    )
    return spend(order, source, account).analysis


def analyze_several(
    source: Any,
    studies: Iterable[Study | str],
    *,
    epsilon: Price,
    delta: Price = DEFAULT_DELTA,
    shares: Sequence[Price] | None = None,
    candidates: Competing = None,
    level: float = 0.95,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> tuple[Analysis, ...]:
    """Analyze several responses of the same rows, from one privacy budget.

    Epsilon and delta are divided among the responses, and what each costs adds up to them (basic composition). All charges and all
    releases are one transaction of the ledger: all responses are released, or none is.

    Parameters
    ----------
    source : table, path or address
        Anything that `gather` reads.
    studies : list of Study or str
        One for each response, about the same unit and neighbors; or formulas, such as "income ~ age + school".
    epsilon : number or str
        The privacy cost of this call, all responses together.
    delta : number or str, optional
        The chance that the promise fails, all responses together.
    shares : sequence of numbers, optional
        What each response gets of epsilon and delta, in proportion; equal parts by default.
    candidates : Subsets, optional
        The models to consider, of each response; by default all.
    level : float, optional
        The level of the intervals.
    ledger : Ledger or path, optional
        The ledger to charge.
    data, analyst : str, optional
        What the ledger entries say about the data and about who ran this.

    Returns
    -------
    tuple of Analysis
        One for each study, in their order, each with a report of its own.

    Examples
    --------
    >>> income, hours = dpselect.analyze_several(frame, ["income ~ age", "hours ~ age"], epsilon=2)  # doctest: +SKIP
    """
    stated = [study_for(source, study) for study in studies]
    names = [study.response.name for study in stated]
    if not stated or len(set(names)) < len(names):
        raise StudyError("Name at least one study, and each response once.")
    # Each response reads the rows for itself; a stream would be empty for the second.
    if len(stated) > 1:
        require_repeatable(source, "Several responses")
    weights = tuple(shares) if shares is not None else (1,) * len(stated)
    if len(weights) != len(stated):
        raise StudyError(f"There are {len(weights)} shares and {len(stated)} studies; give one share for each.")
    orders = [
        order_analysis(
            study,
            Choice("votes", candidates=candidates),
            budget,
            source=source,
            level=level,
            rows_again=has_rows_again(source),
        )
        for study, budget in zip(stated, Budget(epsilon, delta).split(*weights), strict=True)
    ]
    # A person's epsilon and a row's are not the same quantity: their sum would promise nothing to either.
    if len({(charge.unit, charge.neighbors) for order in orders for charge in order.charges}) > 1:
        raise StudyError(
            "Costs add up only where they are about the same: state one person and neighbors in all studies."
        )
    return tuple(each.analysis for each in spend_together(orders, source, account_of(ledger, data, analyst)))
