"""What the options of a run add up to, checked before a row is read."""

from __future__ import annotations

from dataclasses import dataclass

from dpselect.assume.models.budget import Budget
from dpselect.assume.models.choice import Choice, Mechanism, Method
from dpselect.assume.models.subsets import Subsets
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
    def choice(self) -> Choice:
        """All but the price."""
        return Choice(self.method, self.mechanism, Subsets(max_size=self.max_size), penalty_of(self.penalty))

    @property
    def budget(self) -> Budget:
        """The whole price."""
        return Budget(self.epsilon, self.delta or 0)
