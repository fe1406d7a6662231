"""Public. The estimate of a model, of whatever family: what is asked, drawn in memory, and solved from what was drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from msgspec import field
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from dpselect.assume.budget import plain
from dpselect.assume.candidates import candidates_for, columns_of
from dpselect.assume.terms import INTERCEPT
from dpselect.errors import DataError, StudyError
from dpselect.release.account import software_version
from dpselect.release.drawn import Drawn, Request, Term, as_level, is_done
from dpselect.release.equations.findings import Amount
from dpselect.release.families import Family, kind_of
from dpselect.release.tables import FrameKind, amount_columns, effects_of, framed, result_html, result_text, tidy_rows
from dpselect.release.units import design_matrix


class Estimate(Drawn, frozen=True, kw_only=True, tag_field="format", tag="dpselect estimate 1"):
    """A fitted model in the user's units, with intervals and all that is needed to check its price.

    Formal guarantee: everything here is computed from `released`, the outcome of a `guarantee.epsilon`, `guarantee.delta`
    differentially private mechanism for tables that are `guarantee.neighbors` neighbours, and from public statements.
    Hence `submodel`, `with_intervals` and whatever else is done with it cost nothing more.

    Attributes
    ----------
    family : "gaussian", "binomial" or "poisson"
        What the model is of: the response itself, the odds of a yes, or the rate of a count.
    columns : tuple of int
        The places of the model's columns in the study's design; `variables` has their names.
    level : float
        The confidence of the intervals.
    selected : bool
        Whether the model was selected from the same rows, for which the adjusted ends of the intervals allow.
    directions : dict of str to "up", "down" or None
        What the selection said of each variable.
    study : Study
        What was stated before the rows were read.
    guarantee : Guarantee
        The price of this estimate.
    released : record
        The noisy sums from which all the rest is computed.
    receipt : Receipt or None
        What the ledger gave for the charge; None without a ledger.
    version : str
        The version of dpselect that drew it.
    terms : tuple of Term
        The coefficients; of a family of ratios their logarithms, and `effects` are the ratios. A term without a value could not be
        estimated at this price.
    unadjusted : tuple of Term
        The slope of each such term in a model by itself, from the same release.
    residual_deviation, r_squared : Amount
        A value with an interval, or nothing.
    rows : float
        How many rows there were; noisy where their number is private.
    scales : dict of str to float
        Standard deviations of columns of numbers, where the release shows them: twice that is the step in which a report compares
        effects.
    """

    terms: tuple[Term, ...]
    unadjusted: tuple[Term, ...]
    residual_deviation: Amount
    r_squared: Amount
    rows: float
    scales: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        # What a text can get wrong although each of its parts is of the right type.
        if not isinstance(self.released, self.kind.released):
            raise DataError(f"Estimates of the family {self.family!r} do not come from such a release.")

    @property
    def kind(self) -> Family:
        """The record of its family."""
        return kind_of(self)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the model's columns."""
        design = self.study.columns
        return tuple(design[place].name for place in self.columns)

    @property
    def formula(self) -> str:
        """The model as people write it: `price ~ 1 + size`, `odds of died ~ 1 + age`."""
        right = ["1" if name == INTERCEPT else name for name in self.variables]
        left = f"{self.kind.words.quantity} of " if self.kind.ratios else ""
        return f"{left}{self.study.response.name} ~ {' + '.join(right) or '0'}"

    @property
    def effects(self) -> tuple[Term, ...]:
        """The terms as people read them: ratios where the family has ratios, whose `error` is that of the logarithm."""
        return tuple(term.exponential() for term in self.terms) if self.kind.ratios else self.terms

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)

    def tidy(self, frame: FrameKind = "plain", *, exponentiate: bool = True) -> Any:
        """One row a term.

        Its columns are term, label, category, direction, estimate, std_error, conf_low, conf_high, adjusted_low, adjusted_high,
        unit and hidden.

        Parameters
        ----------
        frame : "plain", "pandas" or "polars", optional
            What is returned: a list of dictionaries, or a data frame.
        exponentiate : bool, optional
            Of a family of ratios: ratios, whose std_error is that of the logarithm; or logarithms, if False.

        Returns
        -------
        list of dict, or a data frame
        """
        ratios = self.kind.ratios and exponentiate
        return framed(tidy_rows(effects_of(self.terms, self.study, self.directions), ratios=ratios), frame)

    def glance(self, frame: FrameKind = "plain") -> Any:
        """One row for the model: its fit with intervals, its rows, how much could be seen, and the price.

        Parameters
        ----------
        frame : "plain", "pandas" or "polars", optional
            What is returned: a list of dictionaries, or a data frame.

        Returns
        -------
        list of dict, or a data frame
        """
        row: dict[str, Any] = {"formula": self.formula, "family": self.family, "nobs": self.rows}
        row |= amount_columns(r_squared=self.r_squared, sigma=self.residual_deviation)
        seen = sum(term.determined for term in self.terms)
        row |= {"terms": len(self.terms), "determined": seen, "level": self.level}
        row |= {"epsilon": float(self.guarantee.epsilon), "delta": float(self.guarantee.delta)}
        return framed([row], frame)

    def __repr__(self) -> str:
        seen = sum(not term.hidden for term in self.terms)
        price = plain(self.guarantee.epsilon)
        return f"<Estimate {self.formula}: {seen} of {len(self.terms)} {self.kind.words.many} clear, epsilon {price}>"

    def __str__(self) -> str:
        return result_text(self)

    def _repr_html_(self) -> str:
        return result_html(self)

    def submodel(self, model: Iterable[str | int]) -> Estimate:
        """A smaller model from the same release. It costs nothing: no row is read again.

        Parameters
        ----------
        model : iterable of str or int
            Columns or variables; an intercept that is always in stays in.

        Returns
        -------
        Estimate
        """
        if not self.kind.submodels:
            raise StudyError(f"The {self.kind.words.many} of a smaller model need a release of their own: estimate it.")
        return self._again(columns=columns_of(candidates_for(self.study, [list(model)]).mask(0)))

    def with_intervals(self, level: float | None = None) -> Estimate:
        """The same release with intervals of another level. It costs nothing.

        Parameters
        ----------
        level : float, optional
            Such as 0.9; the level that it has, if left out.

        Returns
        -------
        Estimate
        """
        return self._again(level=self.level if level is None else as_level(level))

    def _again(self, **changes: Any) -> Estimate:
        return solved(replace(self, **changes))

    def design(self, table: Any) -> NDArray[np.float64]:
        """The matrix of a table's new rows that `to_sklearn` predicts from: one column a term but the intercept.

        Parameters
        ----------
        table : data frame, mapping or array
            New rows that have the model's variables; the columns of an array are the predictors as stated.

        Returns
        -------
        array of float
        """
        return design_matrix(table, self.study, self.columns)

    def predict(self, table: Any) -> NDArray[np.float64]:
        """The expected response of new rows, in the user's units; of a binomial family the chance of a yes.

        Rows outside the stated bounds are extrapolated, not clipped. Slopes by rounds are made shorter together for it, as far as
        noise explains them.

        Parameters
        ----------
        table : data frame, mapping or array
            New rows that have the model's variables; the columns of an array are the predictors as stated.

        Returns
        -------
        array of float
        """
        matrix, values = self.design(table), self._predictive()
        constant = values.pop(INTERCEPT, 0.0)
        linear = matrix @ np.array(list(values.values())).reshape(matrix.shape[1]) + constant
        return self.kind.mean(np.asarray(linear))

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn estimator that predicts as `predict` does; its columns are those of `design`, by name.

        Its coefficients are those to predict with: no one of them may be read by itself, and `terms` has those that may.
        """
        return self.kind.sklearn(self._predictive(), self.study)

    def _predictive(self) -> dict[str, float]:
        return self.kind.predictive(self.released, self.study, self.columns)


def solved(drawn: Drawn) -> Estimate:
    """Solve what was drawn; the same each time. Everything else in an estimate is looked up, so this is done once a release."""
    facts = {name: getattr(drawn, name) for name in Drawn.__struct_fields__}
    solution = kind_of(drawn).solve(
        drawn.released, drawn.study, drawn.columns, level=drawn.level, considered=drawn.considered
    )
    return Estimate(**facts, **solution)


def draw_estimate(source: Any, request: Request, kind: Family, draws: Any) -> Drawn:
    """Draw what is committed together with the charge, in memory: nothing of it may be shown before.

    `draws` is what the family has planned for this price, and settled for these columns.
    """
    kind.require_source(source, request.study)
    released = kind.draw(source, draws)
    return Drawn(**asdict(request), released=released, receipt=None, version=software_version())


def draw_rounds(source: Any, drawn: Drawn, keep: Callable[[Any], object], draws: Any = None) -> Drawn:
    """Draw the rounds that are left, if any are; `keep` has what each answers on the disk before it is used. It resumes, too.

    `draws` is what the family planned, which is otherwise computed anew from what the release states.
    """
    if is_done(drawn):
        return drawn
    kind = kind_of(drawn)
    plan = kind.planned(drawn) if draws is None else draws
    while not is_done(drawn):
        answered = kind.draw_round(source, drawn.study, plan, drawn.released)
        keep(answered)
        drawn = replace(drawn, released=kind.with_rounds(drawn.released, plan, answered))
    return drawn
