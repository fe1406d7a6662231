"""What the options of a run add up to, checked before a row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpselect.assume.models.recipe import Mechanism, Method, Recipe, make_recipe
from dpselect.assume.models.subsets import Subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.use.shell.options import penalty_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Public. The options that decide what is chosen and what it costs."""

    epsilon: str
    delta: str | None
    method: Method
    mechanism: Mechanism
    penalty: str | None
    max_size: int | None

    @property
    def model(self) -> dict[str, Any]:
        """All but the price, as `select` takes it."""
        return {
            "method": self.method,
            "mechanism": self.mechanism,
            "candidates": Subsets(max_size=self.max_size),
            "penalty": penalty_of(self.penalty),
        }

    @property
    def selection(self) -> dict[str, Any]:
        """All that `select` takes."""
        return {"epsilon": self.epsilon, "delta": self.delta or 0, **self.model}

    def recipe(self, assumptions: Assumptions) -> Recipe:
        """The recipe for some number of rows; whatever can be refused without the rows is refused here."""
        return make_recipe(assumptions, rows=_ANY, **self.selection)


_ANY = 1000  # a number of rows for checks that do not depend on it
