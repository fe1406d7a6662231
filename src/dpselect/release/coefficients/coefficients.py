"""Public. The coefficients of a model with intervals, and the noisy moments that they were computed from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.budget import Guarantee
from dpselect.assume.models.candidates import columns_of
from dpselect.assume.models.subsets import candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT
from dpselect.errors import AssumptionError, DataError
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.intervals import IntervalKind
from dpselect.release.coefficients.noisy_json import noisy_from_dict, noisy_to_dict
from dpselect.release.coefficients.terms import Term, fitted_terms
from dpselect.release.coefficients.units import design_matrix
from dpselect.release.html_table import html_table
from dpselect.release.ledger.records import Receipt

FORMAT = "dpselect coefficients 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """Public. A fitted model in the user's units, with intervals and all that is needed to check its price.

    Formal guarantee: everything here is computed from `noisy`, the outcome of a `guarantee.epsilon`, `guarantee.delta`
    differentially private mechanism for tables that are `guarantee.neighbors` neighbours, and from public statements.
    Hence `submodel`, `with_intervals` and whatever else is done with it cost nothing more.

    `scaled` are the coefficients of the columns in [-1, 1] for a response in [-1, 1]; `rows` is noisy where the number of
    rows is private; `residual_deviation` is that of a residual, noisy as well.
    """

    columns: tuple[int, ...]
    terms: tuple[Term, ...]
    scaled: tuple[float, ...]
    residual_deviation: float
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

    def __str__(self) -> str:
        head = ("", "estimate", "std. error", f"{100 * self.level:g}% from", "to")
        body = [(t.name, *(f"{v:.5g}" for v in (t.value, t.error, t.lower, t.upper))) for t in self.terms]
        widths = [max(len(row[i]) for row in [head, *body]) for i in range(5)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 5))])
            for row in [head, *body]
        ]
        title = f"{self.formula}  ({self.guarantee}; {self.noisy.noise.scale.noise} noise on the moments)"
        foot = f"residual deviation {self.residual_deviation:.5g}, rows {self.rows:,.0f}"
        return "\n".join([title, *lines, foot, *(f"Note: {caveat}" for caveat in self.caveats)])

    def _repr_html_(self) -> str:
        head = ("", "estimate", "std. error", f"{100 * self.level:g}% from", "to")
        rows = [(t.name, *(f"{v:.5g}" for v in (t.value, t.error, t.lower, t.upper))) for t in self.terms]
        foot = f"{self.guarantee}; {self.noisy.noise.scale.noise} noise on the moments; rows {self.rows:,.0f}"
        return html_table(self.formula, head, rows, (foot, *self.caveats))

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
        return coefficients_from(
            self.noisy,
            columns,
            self.assumptions,
            level=level,
            intervals=intervals,
            selected=self.selected,
            release={"guarantee": self.guarantee, "receipt": self.receipt, "version": self.version},
        )

    def design(self, table: Any) -> NDArray[np.float64]:
        """The matrix of a table's new rows that `to_sklearn` predicts from: one column a term but the intercept."""
        return design_matrix(table, self.assumptions, self.columns)

    def predict(self, table: Any) -> NDArray[np.float64]:
        """The expected response of new rows, in the user's units.

        `table` is a data frame or a mapping that has the model's variables, or an array whose columns are the predictors as
        stated. Rows outside the stated bounds are extrapolated, not clipped.
        """
        matrix = self.design(table)
        slopes = [term.value for term in self.terms if term.name != INTERCEPT]
        constant = sum(term.value for term in self.terms if term.name == INTERCEPT)
        return np.asarray(matrix @ np.array(slopes).reshape(matrix.shape[1]) + constant)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn LinearRegression; its columns are those of `design`, by name."""
        from sklearn.linear_model import LinearRegression

        slopes = [term for term in self.terms if term.name != INTERCEPT]
        model = LinearRegression()
        model.coef_ = np.array([term.value for term in slopes])
        model.intercept_ = float(sum(term.value for term in self.terms if term.name == INTERCEPT))
        model.n_features_in_ = len(slopes)
        model.feature_names_in_ = np.array([term.name for term in slopes], dtype=object)
        return model

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "version": self.version,
            "formula": self.formula,
            "columns": list(self.columns),
            "terms": self.table(),
            "scaled": list(self.scaled),
            "residual_deviation": self.residual_deviation,
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
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Coefficients:
        """Coefficients from their JSON text."""
        try:
            return cls.from_dict(json.loads(text))
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise DataError("This is not the JSON text of dpselect coefficients.") from None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Coefficients:
        """The inverse of `to_dict`."""
        if values["format"] != FORMAT:
            raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
        assumptions = Assumptions.from_dict(values["assumptions"])
        return cls(
            columns=tuple(map(index, values["columns"])),
            terms=tuple(Term(**term) for term in values["terms"]),
            scaled=tuple(values["scaled"]),
            residual_deviation=values["residual_deviation"],
            rows=values["rows"],
            level=values["level"],
            intervals=values["intervals"],
            selected=values["selected"],
            caveats=tuple(values["caveats"]),
            noisy=noisy_from_dict(values["noisy_moments"], assumptions),
            assumptions=assumptions,
            guarantee=Guarantee(**values["guarantee"]),
            receipt=Receipt.from_json(values["receipt"]) if values["receipt"] else None,
            version=values["version"],
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
        scaled=fitted.scaled,
        residual_deviation=fitted.residual_deviation,
        rows=fitted.rows,
        caveats=fitted.caveats,
        **release,
    )
