"""Public. The coefficients of a model with intervals, and the noisy moments that they were computed from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.budget import Guarantee
from dpselect.assume.models.candidates import columns_of
from dpselect.assume.models.subsets import candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.canonical import readable_json
from dpselect.assume.study.columns import INTERCEPT
from dpselect.errors import AssumptionError, DataError
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.frames import FrameKind, amounts, framed, tidy_rows
from dpselect.release.coefficients.intervals import IntervalKind
from dpselect.release.coefficients.noisy_json import noisy_from_dict, noisy_to_dict, release_from_dict
from dpselect.release.coefficients.printed import cells, head, slopes_alone, spoken, table_lines, unseen
from dpselect.release.coefficients.terms import Term, fitted_terms, most_likely
from dpselect.release.coefficients.units import beyond_range, design_matrix, linear_regression
from dpselect.release.equations.residual import Amount
from dpselect.release.html_table import html_table
from dpselect.release.ledger.records import Receipt
from dpselect.release.reading import read_release

FORMAT = "dpselect coefficients 2"
OLDER = "dpselect coefficients 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """Public. A fitted model in the user's units, with intervals and all that is needed to check its price.

    Formal guarantee: everything here is computed from `noisy`, the outcome of a `guarantee.epsilon`, `guarantee.delta`
    differentially private mechanism for tables that are `guarantee.neighbors` neighbours, and from public statements.
    Hence `submodel`, `with_intervals` and whatever else is done with it cost nothing more.

    A term without a value could not be estimated at this price; `alone` has its slope in a model by itself, from the same noisy
    moments. `residual_deviation` and `r_squared` have an interval, or nothing. `rows` is noisy where their number is private.
    """

    columns: tuple[int, ...]
    terms: tuple[Term, ...]
    alone: tuple[Term, ...]
    residual_deviation: Amount
    r_squared: Amount
    rows: float
    level: float
    intervals: IntervalKind
    selected: bool  # the model was chosen from the same rows
    caveats: tuple[str, ...]
    noisy: NoisyMoments
    assumptions: Assumptions
    guarantee: Guarantee
    receipt: Receipt | None
    version: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the model's columns."""
        return tuple(self.assumptions.columns[place].name for place in self.columns)

    @property
    def formula(self) -> str:
        """The model as people write it: `price ~ 1 + size`."""
        right = ["1" if name == INTERCEPT else name for name in self.variables]
        return f"{self.assumptions.response.name} ~ {' + '.join(right) or '0'}"

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)

    def table(self) -> list[dict[str, Any]]:
        """One plain row a coefficient: `pandas.DataFrame(coefficients.table())` is the table that people print."""
        return [term.to_dict() for term in self.terms]

    def tidy(self, frame: FrameKind = "plain") -> Any:
        """One row a term: term, estimate, std_error, conf_low, conf_high and more; `frame` may be "pandas" or "polars"."""
        return framed(tidy_rows(self.terms, self.assumptions), frame)

    def glance(self, frame: FrameKind = "plain") -> Any:
        """One row for the model: its fit with intervals, its rows, how much could be seen, and the price."""
        row = {
            "formula": self.formula,
            "nobs": self.rows,
            **amounts(r_squared=self.r_squared, sigma=self.residual_deviation),
        }
        seen = sum(term.determined for term in self.terms)
        row |= {"terms": len(self.terms), "determined": seen, "level": self.level}
        row |= {"epsilon": float(self.guarantee.epsilon), "delta": float(self.guarantee.delta)}
        return framed([row], frame)

    def __str__(self) -> str:
        lines = table_lines([head(self.level), *map(cells, self.terms)])
        title = f"{self.formula}  ({self.guarantee}; {self.noisy.noise.scale.noise} noise on the moments)"
        return "\n".join([title, *lines, *self.remarks(), *(f"Note: {caveat}" for caveat in self.caveats)])

    def _repr_html_(self) -> str:
        foot = (
            *self.remarks(),
            f"{self.guarantee}; {self.noisy.noise.scale.noise} noise on the moments",
            *self.caveats,
        )
        return html_table(self.formula, head(self.level), [cells(term) for term in self.terms], foot)

    def remarks(self) -> list[str]:
        """What there is to say besides the coefficients, one line each: the fit, and slopes alone."""
        fit = (("residual deviation", self.residual_deviation), ("R^2", self.r_squared))
        hidden = unseen(self.terms, lambda term: beyond_range(self.assumptions, term.name, term.visible))
        return [", ".join([f"rows {self.rows:,.0f}", *spoken(fit)]), *hidden, *slopes_alone(self.alone)]

    def submodel(self, model: Iterable[str | int]) -> Coefficients:
        """A smaller model from the same noisy moments. It costs nothing: no row is read again.

        Name columns or variables; an intercept that is always in stays in. Example: `coefficients.submodel(["size"])`.
        """
        columns = columns_of(candidates_for(self.assumptions, [list(model)]).mask(0))
        if not set(columns) <= set(self.noisy.layout.columns):
            known = ", ".join(self.assumptions.columns[place].name for place in self.noisy.layout.columns)
            raise AssumptionError(f"A submodel may have columns of the released moments only: {known}.")
        return self._refitted(columns, self.level, self.intervals)

    def with_intervals(self, level: float | None = None, intervals: IntervalKind | None = None) -> Coefficients:
        """The same release with intervals of another level or kind. It costs nothing."""
        return self._refitted(self.columns, level or self.level, intervals or self.intervals)

    def _refitted(self, columns: tuple[int, ...], level: float, intervals: IntervalKind) -> Coefficients:
        release = {"guarantee": self.guarantee, "receipt": self.receipt, "version": self.version}
        asked: dict[str, Any] = {"level": level, "intervals": intervals, "selected": self.selected, "release": release}
        return coefficients_from(self.noisy, columns, self.assumptions, **asked)

    def design(self, table: Any) -> NDArray[np.float64]:
        """The matrix of a table's new rows that `to_sklearn` predicts from: one column a term but the intercept."""
        return design_matrix(table, self.assumptions, self.columns)

    def predict(self, table: Any) -> NDArray[np.float64]:
        """The expected response of new rows, in the user's units.

        `table` is a data frame or a mapping that has the model's variables, or an array whose columns are the predictors as
        stated. Rows outside the stated bounds are extrapolated, not clipped.
        """
        matrix, values = self.design(table), most_likely(self.noisy, self.columns, self.assumptions)
        constant = values.pop(INTERCEPT, 0.0)
        return np.asarray(matrix @ np.array(list(values.values())).reshape(matrix.shape[1]) + constant)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn LinearRegression that predicts as `predict` does; its columns are those of `design`, by name.

        Its coefficients are the likeliest together: where `terms` has no value, no one of them may be read by itself.
        """
        return linear_regression(most_likely(self.noisy, self.columns, self.assumptions))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "version": self.version,
            "formula": self.formula,
            "columns": list(self.columns),
            "terms": self.table(),
            "alone": [term.to_dict() for term in self.alone],
            "residual_deviation": asdict(self.residual_deviation),
            "r_squared": asdict(self.r_squared),
            "rows": self.rows,
            "level": self.level,
            "intervals": self.intervals,
            "selected": self.selected,
            "caveats": list(self.caveats),
            "noisy_moments": noisy_to_dict(self.noisy),
            "assumptions": self.assumptions.to_dict(),
            "assumptions_hash": self.assumptions.hash,
            "guarantee": self.guarantee.to_dict(),
            "receipt": self.receipt.to_json() if self.receipt else None,
        }

    def to_json(self) -> str:
        """The release as a JSON text that `from_json` reads back."""
        return readable_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Coefficients:
        """Coefficients from their JSON text."""
        return read_release(text, cls.from_dict, "dpselect coefficients")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Coefficients:
        """The inverse of `to_dict`. What version 0.1.0 wrote is solved anew from its noisy moments, which costs nothing."""
        if values["format"] not in (FORMAT, OLDER):
            raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
        assumptions = Assumptions.from_dict(values["assumptions"])
        noisy = noisy_from_dict(values["noisy_moments"], assumptions)
        columns = tuple(map(index, values["columns"]))
        release = release_from_dict(values)
        asked = {"level": values["level"], "selected": values["selected"]}
        if values["format"] == OLDER:
            kind: IntervalKind = "after-selection" if values["intervals"] == "after-selection" else "plain"
            return coefficients_from(noisy, columns, assumptions, intervals=kind, release=release, **asked)
        return cls(
            columns=columns,
            terms=tuple(Term(**term) for term in values["terms"]),
            alone=tuple(Term(**term) for term in values["alone"]),
            residual_deviation=Amount(**values["residual_deviation"]),
            r_squared=Amount(**values["r_squared"]),
            rows=values["rows"],
            intervals=values["intervals"],
            caveats=tuple(values["caveats"]),
            noisy=noisy,
            assumptions=assumptions,
            **asked,
            **release,
        )


def coefficients_from(
    noisy: NoisyMoments,
    columns: tuple[int, ...],
    assumptions: Assumptions,
    *,
    level: float,
    intervals: IntervalKind,
    selected: bool,
    release: dict[str, Any],
) -> Coefficients:
    """Solve a model from noisy moments; `release` holds the guarantee, the receipt and the version."""
    fitted = fitted_terms(noisy, columns, assumptions, level=level, intervals=intervals, selected=selected)
    return Coefficients(
        columns=columns,
        level=level,
        intervals=intervals,
        selected=selected,
        noisy=noisy,
        assumptions=assumptions,
        terms=fitted.terms,
        alone=fitted.alone,
        residual_deviation=fitted.residual_deviation,
        r_squared=fitted.r_squared,
        rows=fitted.rows,
        caveats=fitted.caveats,
        **release,
    )
