"""Public. How a model is to be chosen, price apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.penalty import Penalty
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.errors import AssumptionError

Method = Literal["votes", "pcls", "pcpl"]
Mechanism = Literal["permute-and-flip", "exponential", "laplace"]
METHODS: tuple[Method, ...] = get_args(Method)
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


@dataclass(frozen=True, slots=True)
class Choice:
    """Public. Method, mechanism, the models that compete and what a column costs; made once, at the door.

    `penalty` None stands for a public default, the only one with votes; `as_printed` asks for the looser bound that the
    paper prints for PCPL.
    """

    method: Method = "votes"
    mechanism: Mechanism = "permute-and-flip"
    candidates: Subsets | Iterable[Model] | Candidates | None = None
    penalty: Penalty | None = None
    as_printed: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise AssumptionError(f"method is {self.method!r}; it must be one of {', '.join(map(repr, METHODS))}.")
        if self.mechanism not in MECHANISMS:
            raise AssumptionError(
                f"mechanism is {self.mechanism!r}; it must be one of {', '.join(map(repr, MECHANISMS))}."
            )
        if self.candidates is not None and not isinstance(self.candidates, Subsets | Candidates):
            _require_list(self.candidates)
            # Models may come from a generator, and a recipe may be made more than once.
            object.__setattr__(self, "candidates", [_model(each) for each in self.candidates])


def _require_list(given: object) -> None:
    if not isinstance(given, Iterable):
        raise AssumptionError(f"candidates is {given!r}; it must be a list of models, Subsets(...) or left out.")


def _model(model: Model) -> Model:
    return model if isinstance(model, str) or not isinstance(model, Iterable) else list(model)
