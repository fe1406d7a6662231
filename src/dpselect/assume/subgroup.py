"""Public. A subgroup: of which rows a study speaks, decided for each row by its own cells.

Who is in a subgroup is private, and so is how many they are. A row outside is in no block and adds nothing to any sum, exactly as
a row that the policy for missing cells leaves out; the number of rows of the table stays what it is. So neighbouring tables stay
neighbours, and every lemma holds as it stands: all of them allow rows that count nowhere. The number of rows in public formulas
is what the study states (`rows`, or the population of weights), never a count.

Tested: tests/claims/test_subgroup.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import msgspec
from msgspec.structs import force_setattr

from dpselect.assume.records import Public
from dpselect.assume.variables import Category, as_number, check_category, check_name, shown
from dpselect.errors import StudyError


class Only(Public, frozen=True, kw_only=False):
    """Rows whose cell is one of some categories, or within a range, its ends included. A missing cell is outside.

    Parameters
    ----------
    name : str
        The column's name, to the letter.
    categories : sequence of str or of int, optional
        The row's cell is one of these.
    lower, upper : float, optional
        Or it is no smaller, and no larger; one of them, or both.

    Examples
    --------
    >>> Only("age", lower=18, upper=65).upper
    65.0
    """

    name: Annotated[str, msgspec.Meta(min_length=1, description="The column's name, to the letter.")]
    categories: Annotated[Sequence[Category] | None, msgspec.Meta(description="The row's cell is one of these.")] = None
    lower: Annotated[float | None, msgspec.Meta(description="The row's cell is no smaller.")] = None
    upper: Annotated[float | None, msgspec.Meta(description="The row's cell is no larger.")] = None

    def __post_init__(self) -> None:
        check_name(self.name)
        limits = {what: value for what, value in (("lower", self.lower), ("upper", self.upper)) if value is not None}
        if (self.categories is None) == (not limits):
            raise StudyError(f"only for {self.name!r} needs categories, or lower and upper (or one of them).")
        for what, value in limits.items():
            force_setattr(self, what, as_number(value, f"{what} of only for {self.name!r}"))
        if self.lower is not None and self.upper is not None and not self.lower <= self.upper:
            raise StudyError(f"only for {self.name!r} has a lower end above its upper end.")
        if self.categories is not None:
            force_setattr(self, "categories", self._checked(self.categories))

    def _checked(self, categories: Any) -> tuple[Category, ...]:
        listed = tuple(categories) if isinstance(categories, list | tuple) else ()
        kinds = {str if isinstance(each, str) else int for each in listed if not isinstance(each, bool | float)}
        if len(kinds) != 1 or not all(type(each) in kinds for each in listed):
            raise StudyError(
                f"The categories of only for {self.name!r} are {shown(categories)}; give a list of text, or of whole numbers."
            )
        for each in listed:
            check_category(each, self.name)
        return listed

    @classmethod
    def parse(cls, text: str) -> Self:
        """From the text of an option.

        Parameters
        ----------
        text : str
            Such as sex=f, region=north|south, age=18..65, age=18.. or year=2019|2020.

        Returns
        -------
        Only
        """
        name, equal, said = text.partition("=")
        if not (equal and name.strip() and said.strip()):
            raise StudyError(f"{shown(text)} is no subgroup: write sex=f, region=north|south or age=18..65.")
        low, dots, high = said.partition("..")
        if dots:
            ends = [None if not each.strip() else _number(each, text) for each in (low, high)]
            return cls(name.strip(), lower=ends[0], upper=ends[1])
        parts = [each.strip() for each in said.split("|")]
        whole = all(each.lstrip("-").isdecimal() and str(int(each)) == each for each in parts)
        return cls(name.strip(), [int(each) for each in parts] if whole else parts)

    @property
    def option(self) -> str:
        """As an option states it: the inverse of `parse`."""
        if self.categories is not None:
            return f"{self.name}={'|'.join(map(str, self.categories))}"
        ends = ("" if end is None else f"{end:.15g}" for end in (self.lower, self.upper))
        return f"{self.name}={'..'.join(ends)}"

    @property
    def is_text(self) -> bool:
        """Whether cells are compared with text."""
        return self.categories is not None and isinstance(self.categories[0], str)

    @property
    def words(self) -> str:
        """In a sentence: sex f; age 18 to 65."""
        if self.categories is not None:
            return f"{self.name} {' or '.join(map(str, self.categories))}"
        if self.lower is None or self.upper is None:
            return f"{self.name} {f'at most {self.upper:g}' if self.lower is None else f'at least {self.lower:g}'}"
        return f"{self.name} {self.lower:g} to {self.upper:g}"


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise StudyError(f"{shown(whole)} is no subgroup: the ends of a range are numbers, as in age=18..65.") from None


def only_from(values: Any) -> tuple[Only, ...]:
    """What a person states: `Only` records, their plain values, or one of either."""
    listed = values if isinstance(values, list | tuple) else [values]
    made = []
    for stated in listed:
        each = stated
        if isinstance(each, Mapping):
            if extra := sorted(map(str, set(each) - set(Only.__struct_fields__))):
                raise StudyError(
                    f"{shown(extra[0])} is no part of only; known are {', '.join(Only.__struct_fields__)}."
                )
            each = Only(**each)
        if not isinstance(each, Only):
            raise StudyError(f"only is {shown(each)}; it must be Only(name, categories) or Only(name, lower=, upper=).")
        made.append(each)
    return tuple(made)


def subgroup_words(only: Sequence[Only]) -> str:
    """Which rows these are: sex f and age 18 to 65."""
    return " and ".join(each.words for each in only)
