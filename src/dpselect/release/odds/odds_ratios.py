"""Public. Odds ratios of a model with intervals, and the noisy rounds that they were computed from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.budget import Guarantee
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.canonical import readable_json
from dpselect.assume.study.columns import INTERCEPT
from dpselect.errors import DataError
from dpselect.randomize.logistic_noise import Draw
from dpselect.release.coefficients.frames import FrameKind, framed, tidy_rows
from dpselect.release.coefficients.intervals import IntervalKind, Intervals
from dpselect.release.coefficients.noisy_json import release_from_dict
from dpselect.release.coefficients.printed import cells, head, table_lines, unseen
from dpselect.release.coefficients.terms import ALIKE, CHOSEN, CLIPPING, UNSEEN, Term
from dpselect.release.coefficients.units import design_matrix
from dpselect.release.html_table import html_table
from dpselect.release.ledger.records import Receipt
from dpselect.release.odds.odds_terms import constant_of, directions, exponential, likeliest, odds_terms
from dpselect.release.odds.rounds import Round, about_rows
from dpselect.release.reading import read_release

FORMAT = "dpselect odds ratios 1"
ALONE = "A larger epsilon or more rows would help."


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
        return tuple(exponential(term) for term in self.terms)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the model's columns."""
        return tuple(self.assumptions.columns[place].name for place in self.columns)

    @property
    def formula(self) -> str:
        """The model as people write it: `odds of died ~ 1 + age`."""
        right = ["1" if name == INTERCEPT else name for name in self.variables]
        return f"odds of {self.assumptions.response.name} ~ {' + '.join(right) or '0'}"

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(name)

    @property
    def rows(self) -> float:
        """About how many rows there are, from the noisy numbers of yes and no."""
        return about_rows(self.counts)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the intervals do not count, and what could not be seen."""
        said = [CLIPPING]
        if self.assumptions.rows_per_person > 1:
            said.append(ALIKE)
        if self.selected and self.intervals.kind != "after-selection":
            said.append(CHOSEN)
        unseen_terms = sum(not term.determined for term in self.terms)
        if unseen_terms:
            which = f"{unseen_terms} of {len(self.terms)} odds ratios could not"
            which = "None of the odds ratios could" if unseen_terms == len(self.terms) else which
            said.append(
                f"{which} be estimated at this price: privacy noise hides them. {UNSEEN if len(self.terms) > 1 else ALONE}"
            )
        return tuple(said)

    def __str__(self) -> str:
        lines = table_lines([self._head(), *map(cells, self.ratios)])
        notes = [*unseen(self.ratios), *(f"Note: {caveat}" for caveat in self.caveats)]
        return "\n".join([f"{self.formula}  ({self.guarantee})", *lines, *notes])

    def _repr_html_(self) -> str:
        foot = (*unseen(self.ratios), str(self.guarantee), *self.caveats)
        return html_table(self.formula, self._head(), [cells(term) for term in self.ratios], foot)

    def _head(self) -> tuple[str, ...]:
        labels = head(self.intervals.level)
        return ("odds ratios", labels[1], "error of log", *labels[3:])

    def with_intervals(self, level: float | None = None, intervals: IntervalKind | None = None) -> OddsRatios:
        """The same release with intervals of another level or kind. It costs nothing."""
        asked = Intervals(level or self.intervals.level, intervals or self.intervals.kind)
        terms = odds_terms(self.rounds[-1], self.rows, self.assumptions, self.columns, asked)
        return replace(self, intervals=asked, terms=terms)

    def tidy(self, frame: FrameKind = "plain", *, exponentiate: bool = True) -> Any:
        """One row a term, as odds ratios or as their logarithms; `frame` may be "pandas" or "polars"."""
        return framed(tidy_rows(self.ratios if exponentiate else self.terms, self.assumptions), frame)

    def glance(self, frame: FrameKind = "plain") -> Any:
        """One row for the model: its rows, how much could be seen, and the price."""
        seen = sum(term.determined for term in self.terms)
        row = {"formula": self.formula, "nobs": self.rows, "terms": len(self.terms), "determined": seen}
        row |= {"level": self.intervals.level}
        row |= {"epsilon": float(self.guarantee.epsilon), "delta": float(self.guarantee.delta)}
        return framed([row], frame)

    def predict(self, table: Any) -> NDArray[np.float64]:
        """The chance of a yes of new rows; `table` as in `Coefficients.predict`."""
        matrix, scale = design_matrix(table, self.assumptions, self.columns), directions(self.assumptions, self.columns)
        values = scale[1] @ likeliest(self.rounds[-1], self.rows, constant_of(self.assumptions, self.columns))
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
            "counts": _plain(self.counts),
            "rounds": [
                {"center": list(each.center), "gradient": _plain(each.gradient), "gram": _plain(each.gram)}
                for each in self.rounds
            ],
            "assumptions": self.assumptions.to_dict(),
            "assumptions_hash": self.assumptions.hash,
            "guarantee": self.guarantee.to_dict(),
            "receipt": self.receipt.to_json() if self.receipt else None,
        }

    def to_json(self) -> str:
        """The release as a JSON text that `from_json` reads back."""
        return readable_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> OddsRatios:
        """Odds ratios from their JSON text."""
        return read_release(text, cls.from_dict, "dpselect odds ratios")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> OddsRatios:
        """The inverse of `to_dict`."""
        if values["format"] != FORMAT:
            raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
        return cls(
            columns=tuple(map(index, values["columns"])),
            terms=tuple(Term(**term) for term in values["terms"]),
            intervals=Intervals(**values["intervals"]),
            selected=values["selected"],
            counts=_draw(values["counts"]),
            rounds=tuple(
                Round(tuple(map(index, each["center"])), _draw(each["gradient"]), _draw(each["gram"]))
                for each in values["rounds"]
            ),
            assumptions=Assumptions.from_dict(values["assumptions"]),
            **release_from_dict(values),
        )


def _plain(draw: Draw) -> dict[str, Any]:
    return asdict(draw) | {"values": list(draw.values)}


def _draw(values: dict[str, Any]) -> Draw:
    return Draw(tuple(map(index, values["values"])), values["spread"], index(values["sensitivity"]), values["rho"])
