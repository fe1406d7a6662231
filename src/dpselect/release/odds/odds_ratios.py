"""Public. Odds ratios of a model with intervals, and the noisy rounds that they were computed from."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.budget import Guarantee
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT
from dpselect.errors import DataError
from dpselect.randomize.logistic_noise import Draw
from dpselect.release.coefficients.frames import FrameKind, framed, tidy_rows
from dpselect.release.coefficients.intervals import Intervals
from dpselect.release.coefficients.noisy_json import release_from_dict
from dpselect.release.coefficients.printed import cells, head, table_lines, unseen
from dpselect.release.coefficients.terms import Term
from dpselect.release.coefficients.units import design_matrix, user_scale
from dpselect.release.equations.findings import findings
from dpselect.release.ledger.records import Receipt
from dpselect.release.odds.rounds import Round, last_fit

FORMAT = "dpselect odds ratios 1"
CAVEAT = "The intervals count sampling and privacy noise, not the bias that clipping to the stated bounds can bring."


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsRatios:
    """Public. A logistic model in the user's units: `terms` are log odds ratios, `ratios` their exponentials.

    Formal guarantee: everything here is computed from `counts` and `rounds`, the outcome of a `guarantee.epsilon`,
    `guarantee.delta` differentially private mechanism for tables that are `guarantee.neighbors` neighbours, and from public
    statements. A term without a value could not be estimated at this price, and an end that is None is open.
    """

    columns: tuple[int, ...]
    terms: tuple[Term, ...]
    intervals: Intervals
    selected: bool
    counts: Draw
    rounds: tuple[Round, ...]
    assumptions: Assumptions
    guarantee: Guarantee
    receipt: Receipt | None
    version: str

    @property
    def ratios(self) -> tuple[Term, ...]:
        """The odds ratios a unit of each variable, or of a level against the reference; `error` is that of the logarithm."""
        return tuple(_exponential(term) for term in self.terms)

    @property
    def formula(self) -> str:
        """The model as people write it: `odds of died ~ 1 + age`."""
        names = [self.assumptions.columns[place].name for place in self.columns]
        right = ["1" if name == INTERCEPT else name for name in names]
        return f"odds of {self.assumptions.response.name} ~ {' + '.join(right) or '0'}"

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)

    def __str__(self) -> str:
        labels = ("odds ratios", *head(self.intervals.level)[1:])
        lines = table_lines([labels, *map(cells, self.ratios)])
        notes = [CAVEAT]
        if not all(term.determined for term in self.terms):
            notes += unseen(self.ratios)
        return "\n".join([f"{self.formula}  ({self.guarantee})", *lines, *(f"Note: {note}" for note in notes)])

    def tidy(self, frame: FrameKind = "plain", *, exponentiate: bool = True) -> Any:
        """One row a term, as odds ratios or as their logarithms; `frame` may be "pandas" or "polars"."""
        return framed(tidy_rows(self.ratios if exponentiate else self.terms, self.assumptions), frame)

    def predict(self, table: Any) -> NDArray[np.float64]:
        """The chance of a yes of new rows; `table` as in `Coefficients.predict`."""
        matrix, scale = design_matrix(table, self.assumptions, self.columns), directions(self.assumptions, self.columns)
        values = scale[1] @ likeliest(self.rounds[-1], constant_of(self.assumptions, self.columns))
        slopes = [value for name, value in zip(scale[0], values, strict=True) if name != INTERCEPT]
        base = sum(value for name, value in zip(scale[0], values, strict=True) if name == INTERCEPT)
        return np.asarray(1 / (1 + np.exp(-(matrix @ np.array(slopes).reshape(matrix.shape[1]) + base))))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "version": self.version,
            "formula": self.formula,
            "columns": list(self.columns),
            "terms": [term.to_dict() for term in self.terms],
            "intervals": asdict(self.intervals),
            "selected": self.selected,
            "counts": asdict(self.counts),
            "rounds": [asdict(each) for each in self.rounds],
            "assumptions": self.assumptions.to_dict(),
            "assumptions_hash": self.assumptions.hash,
            "guarantee": self.guarantee.to_dict(),
            "receipt": self.receipt.to_json() if self.receipt else None,
        }

    def to_json(self) -> str:
        """The release as a JSON text that `from_json` reads back."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> OddsRatios:
        """Odds ratios from their JSON text."""
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
            return cls(
                columns=tuple(map(index, values["columns"])),
                terms=tuple(Term(**term) for term in values["terms"]),
                intervals=Intervals(**values["intervals"]),
                selected=values["selected"],
                counts=_draw(values["counts"]),
                rounds=tuple(
                    Round(tuple(each["center"]), _draw(each["gradient"]), _draw(each["gram"]))
                    for each in values["rounds"]
                ),
                assumptions=Assumptions.from_dict(values["assumptions"]),
                **release_from_dict(values),
            )
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise DataError("This is not the JSON text of dpselect odds ratios.") from None


def odds_terms(
    last: Round, assumptions: Assumptions, columns: tuple[int, ...], intervals: Intervals
) -> tuple[Term, ...]:
    """Log odds ratios in the user's units, from the last round."""
    fitted = last_fit(last, constant_of(assumptions, columns))
    names, matrix = directions(assumptions, columns)
    choice = len(assumptions.columns) if intervals.kind == "after-selection" else None
    found = findings(fitted, matrix, level=intervals.level, choice=choice)
    terms = []
    for name, row, one in zip(names, matrix, found, strict=True):
        start = float(row @ last.at)
        lower, upper = (end + start if math.isfinite(end) else None for end in (one.lower, one.upper))
        value = None if one.value is None else one.value + start
        terms.append(Term(name, value, one.error, lower, upper, one.privacy_share, one.visible))
    return tuple(terms)


def likeliest(last: Round, constant: int | None) -> NDArray[np.float64]:
    """The likeliest coefficients of the scaled columns."""
    return np.asarray(last.at + last_fit(last, constant).scaled)


def directions(assumptions: Assumptions, columns: tuple[int, ...]) -> tuple[list[str], NDArray[np.float64]]:
    """Names and combinations of the scaled columns' log odds ratios that are the user's; what never moves is left out."""
    scale = user_scale(assumptions, columns)
    moving = [bool(np.any(row)) for row in scale.matrix]
    kept = [name for name, moves in zip(scale.names, moving, strict=True) if moves]
    return kept, scale.matrix[moving] / assumptions.response.half_width


def constant_of(assumptions: Assumptions, columns: tuple[int, ...]) -> int | None:
    """The intercept's place in the model."""
    found = [i for i, place in enumerate(columns) if not assumptions.columns[place].factors]
    return found[0] if found else None


def _exponential(term: Term) -> Term:
    def grown(value: float | None) -> float | None:
        return None if value is None else math.exp(min(value, 700.0))

    visible = math.exp(min(term.visible, 700.0))
    return Term(
        term.name, grown(term.value), term.error, grown(term.lower), grown(term.upper), term.privacy_share, visible
    )


def _draw(values: dict[str, Any]) -> Draw:
    return Draw(tuple(map(index, values["values"])), values["spread"], index(values["sensitivity"]), values["rho"])
