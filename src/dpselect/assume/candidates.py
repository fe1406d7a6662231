"""Public. The models that compete: bit masks of columns, by a rule or as a list."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import or_
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT, MAX_STUDY_COLUMNS, Column
from dpselect.errors import DataError, StudyError

LISTED_AT_MOST = 2**24
"""More candidates than this are not scored one by one."""
MAX_TOGETHER = 2**16
"""Sets of terms that need each other, at most."""


def columns_of(mask: int) -> tuple[int, ...]:
    """The columns of a mask, in order: 0b101 is (0, 2)."""
    found = []
    while mask:
        lowest = mask & -mask  # not bit by bit: a term may be one column of thousands
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)


def mask_of(columns: Sequence[int]) -> int:
    """The mask of some columns: (0, 2) is 0b101."""
    mask = 0
    for j in columns:
        mask |= 1 << j
    return mask


class Candidates(ABC):
    """Public. Candidate models over `width` columns, in a fixed order."""

    width: int

    @property
    @abstractmethod
    def count(self) -> int:
        """How many there are; may be far beyond what `len` can say."""

    @abstractmethod
    def mask(self, index: int) -> int:
        """The candidate at a place, as a bit mask."""

    @abstractmethod
    def index(self, mask: int) -> int:
        """The place of a candidate; `ValueError` if it is none."""

    @abstractmethod
    def __contains__(self, mask: object) -> bool:
        """Whether a mask is a candidate."""

    @abstractmethod
    def masks(self) -> NDArray[np.uint64]:
        """All of them, listed; at most 2^24 and at most 64 columns."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values that say which candidates these are."""

    @staticmethod
    def from_dict(values: Any) -> Candidates:
        """The inverse of `to_dict`."""
        return msgspec.convert(values, _SubsetsText | _ListText).candidates()

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON Schema of `to_dict`."""
        _, parts = msgspec.json.schema_components((_SubsetsText, _ListText))
        return {"anyOf": list(parts.values())}

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return (self.mask(index) for index in range(self.count))

    def __getitem__(self, index: int) -> tuple[int, ...]:
        return columns_of(self.mask(range(self.count)[index]))

    def sizes(self) -> NDArray[np.int64]:
        """How many columns each candidate has."""
        return np.bitwise_count(self.masks()).astype(np.int64)

    def largest(self) -> int:
        """The most columns that a candidate has."""
        return int(self.sizes().max())

    def require_listable(self) -> None:
        """Refuse what is too long to score one by one."""
        if self.count > LISTED_AT_MOST:
            raise StudyError(
                f"There are {self.count:,} candidate models, and at most {LISTED_AT_MOST:,} can be scored one by one: "
                "set max_size, name fewer columns, or give a list of candidates."
            )
        if self.width > 64:
            raise StudyError(
                f"The candidates range over {self.width} columns, and at most 64 can be scored one by one: "
                "name fewer predictors."
            )


@dataclass(frozen=True)
class SubsetRule(Candidates):
    """Public. Unions of terms: any set of them, within limits, on top of the columns that are always in.

    A term is a mask whose columns enter and leave together. `max_size` bounds the columns of a candidate and `at_least` its
    terms, those that are always in not counted. `one_of` are groups of terms, by their places: of each group exactly one term is
    in. `needs` are pairs of terms, by their places: the first is in only where the second is, as a product is only with its parts.
    Candidates are ordered by the set of their terms read as a binary number (terms that decide about each other count as one digit,
    at the place of the first of them), so with one-column terms and nothing always in they are the masks in integer order.
    """

    width: int
    terms: tuple[int, ...]
    always: int = 0
    max_size: int | None = None
    empty: bool = False
    at_least: int = 0
    one_of: tuple[tuple[int, ...], ...] = ()
    needs: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        taken = self.always
        if not 0 <= taken < 1 << self.width:
            raise StudyError(f"A column that is always in is outside the table's {self.width} columns.")
        for term in self.terms:
            if not 0 < term < 1 << self.width or term & taken:
                raise StudyError("Each term needs columns of its own, inside the table's columns.")
            taken |= term
        for name in ("max_size", "at_least"):
            if (limit := getattr(self, name)) is not None:
                if not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0:
                    raise StudyError(f"{name} is {limit!r}; it must be a whole number, 0 or more.")
                object.__setattr__(self, name, int(limit))  # NumPy's cannot be written to a report
        grouped = [place for group in self.one_of for place in group]
        if not all(self.one_of) or sorted(grouped) != sorted(set(grouped) & set(range(len(self.terms)))):
            raise StudyError("Each group of one_of needs variables of its own.")
        if not all(0 <= place < len(self.terms) for pair in self.needs for place in pair):
            raise StudyError("A term needs another that is not among the terms.")
        if self.count < 1:
            raise StudyError(
                "No candidate model is left: allow the empty one, more columns, a larger max_size or a smaller at_least."
            )

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """What a candidate is made of, one mask of each: of a free term nothing or its columns, of a group one of its terms.

        Of terms that need each other all of their sets that may be.
        """
        return tuple(tuple(map(self._columns, self._sets_of(places))) for places in self._together)

    def _columns(self, places: Sequence[int]) -> int:
        return reduce(or_, (self.terms[place] for place in places), 0)

    @cached_property
    def _together(self) -> list[list[int]]:
        """The places of the terms that decide about each other, the groups of them by their first terms."""
        found = {place: [place] for place in range(len(self.terms))}
        for linked in (*self.one_of, *self.needs):
            for other in linked[1:]:
                one, two = found[linked[0]], found[other]
                if one is not two:
                    one += two
                    found |= dict.fromkeys(two, one)
        return sorted({min(places): sorted(places) for places in found.values()}.values())

    def _sets_of(self, places: Sequence[int]) -> list[tuple[int, ...]]:
        """All sets of these terms that may be in together, in the order of candidates."""
        own = [group for group in self.one_of if group[0] in places]
        if own and not any(term in places for term, _ in self.needs):
            return [(place,) for place in own[0]]  # in the order in which the group was named
        sets: list[tuple[int, ...]] = [()]
        decided: set[int] = set()
        for place in places:
            decided.add(place)
            grown = [*sets, *((*each, place) for each in sets)]
            # What is decided already is refused at once, so that no more sets are listed than there may be, or not many.
            rules = [pair for pair in self.needs if decided.issuperset(pair) and place in pair]
            groups = [group for group in own if place in group]
            sets = [each for each in grown if self._fits(each, rules, groups, whole=decided)]
            if len(sets) > MAX_TOGETHER:
                raise StudyError(
                    f"More than {MAX_TOGETHER:,} sets of terms need each other, as products and their parts: name fewer products."
                )
        return sets

    @staticmethod
    def _fits(
        chosen: tuple[int, ...], needs: Sequence[tuple[int, int]], groups: Sequence[Sequence[int]], *, whole: set[int]
    ) -> bool:
        """Whether a set of terms has what its terms need, and one of each group as far as the group is decided."""
        if not all(part in chosen for term, part in needs if term in chosen):
            return False
        counts = [(sum(place in chosen for place in group), whole.issuperset(group)) for group in groups]
        return all(count == 1 if decided else count <= 1 for count, decided in counts)

    @cached_property
    def _terms_of_part(self) -> dict[int, int]:
        """How many terms each mask of a slot stands for."""
        return {
            part: len(places)
            for each, slot in zip(self._together, self.slots, strict=True)
            for places, part in zip(self._sets_of(each), slot, strict=True)
        }

    @cached_property
    def limit(self) -> int | None:
        """The largest number of optional columns, where that is a limit."""
        total = sum(term.bit_count() for term in self.terms)
        return None if self.max_size is None or self.max_size >= total else self.max_size

    @property
    def fewest(self) -> int:
        """How few terms a candidate may have: one where it would else be the empty model, which is not allowed."""
        return max(self.at_least, int(not self.empty and self.always == 0))

    @cached_property
    def _ways(self) -> tuple[dict[tuple[int, int], int], ...]:
        """ways[s][room, need]: how many fillings of the first s slots have at most `room` columns and at least `need` terms."""
        rooms, needs = range((self.limit or 0) + 1), range(self.fewest + 1)
        rows = [{(room, need): int(need == 0) for room in rooms for need in needs}]
        for slot in self.slots:
            steps = [(part.bit_count(), self._terms_of_part[part]) for part in slot]
            rows.append({left: sum(rows[-1].get(self.after(left, *step), 0) for step in steps) for left in rows[-1]})
        return tuple(rows)

    def after(self, left: tuple[int, int], columns: int, terms: int) -> tuple[int, int]:
        """What is left of the room for columns, and of the need of terms, when so many more are in.

        The room is negative where they do not fit, and 0 for ever where there is no limit.
        """
        room, need = left
        return room - (0 if self.limit is None else columns), max(need - terms, 0)

    @cached_property
    def count(self) -> int:
        # As `_ways`, but only one row is kept: thousands of terms need no table to be counted.
        states = {(self.limit or 0, self.fewest): 1}
        for slot in self.slots:
            grown: dict[tuple[int, int], int] = {}
            steps = [(part.bit_count(), self._terms_of_part[part]) for part in slot]
            for left, ways in states.items():
                for step in steps:
                    if (after := self.after(left, *step))[0] >= 0:
                        grown[after] = grown.get(after, 0) + ways
            states = grown
        return sum(ways for (_, need), ways in states.items() if need == 0)

    @property
    def is_full_lattice(self) -> bool:
        """Whether every set of columns competes, the empty one perhaps not."""
        single = tuple(1 << j for j in range(self.width))
        return self.terms == single and self.limit is None and self.at_least <= 1 and not (self.one_of or self.needs)

    @property
    def is_free(self) -> bool:
        """Whether every set of terms competes, the empty one too."""
        return self.limit is None and self.fewest == 0 and not (self.one_of or self.needs)

    def mask(self, index: int) -> int:
        left, mask = (self.limit or 0, self.fewest), self.always
        for place in reversed(range(len(self.slots))):
            for part in self.slots[place]:
                after = self.after(left, part.bit_count(), self._terms_of_part[part])
                ways = self._ways[place].get(after, 0)
                if index < ways:
                    mask, left = mask | part, after
                    break
                index -= ways
        return mask

    def index(self, mask: int) -> int:
        if mask not in self:
            raise ValueError("not a candidate")
        index, left = 0, (self.limit or 0, self.fewest)
        for place, part in reversed(list(enumerate(self.parts(mask)))):
            for other in self.slots[place][: self.slots[place].index(part)]:
                index += self._ways[place].get(self.after(left, other.bit_count(), self._terms_of_part[other]), 0)
            left = self.after(left, part.bit_count(), self._terms_of_part[part])
        return index

    def parts(self, mask: int) -> tuple[int, ...]:
        """The mask that a candidate takes of each slot."""
        return tuple(mask & whole for whole in map(self._columns, self._together))

    def __contains__(self, mask: object) -> bool:
        return isinstance(mask, int) and self.terms_in(mask) is not None

    def terms_in(self, mask: int) -> tuple[int, ...] | None:
        """The places of the terms of a candidate; None if the mask is none. As quick as the mask is short, whatever the rule."""
        if mask < 0 or mask & self.always != self.always:
            return None
        columns = columns_of(mask ^ self.always)
        if not all(column in self._term_of for column in columns):
            return None
        places = tuple(sorted({self._term_of[column] for column in columns}))
        fits = self.limit is None or len(columns) <= self.limit
        whole = sum(self.terms[place].bit_count() for place in places) == len(columns)
        single = all(sum(place in group for place in places) == 1 for group in self.one_of)
        with_parts = all(part in places for term, part in self.needs if term in places)
        return places if fits and whole and single and with_parts and len(places) >= self.fewest else None

    @cached_property
    def _term_of(self) -> dict[int, int]:
        return {column: place for place, term in enumerate(self.terms) for column in columns_of(term)}

    def masks(self) -> NDArray[np.uint64]:
        self.require_listable()
        listed = np.array([self.always], np.uint64)
        columns, terms = np.zeros((2, 1), np.int64)
        for place, slot in enumerate(self.slots, start=1):
            needed = self.fewest - sum(len(after) for after in self._together[place:])
            grown = []
            for part in slot:
                count = self._terms_of_part[part]
                fits = terms + count >= needed
                if self.limit is not None:
                    fits &= columns + part.bit_count() <= self.limit
                grown.append((listed[fits] | np.uint64(part), columns[fits] + part.bit_count(), terms[fits] + count))
            listed, columns, terms = map(np.concatenate, zip(*grown, strict=True))
        return listed

    def to_dict(self) -> dict[str, Any]:
        return _SubsetsText(
            width=self.width,
            terms=tuple(map(columns_of, self.terms)),
            always=columns_of(self.always),
            max_size=self.max_size,
            empty=self.empty,
            at_least=self.at_least,
            one_of=self.one_of,
            needs=self.needs,
        ).to_dict()


@dataclass(frozen=True)
class CandidateList(Candidates):
    """Public. Candidates named one by one, in the order given."""

    width: int
    listed: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.listed:
            raise StudyError("The list of candidates is empty; name at least one model.")
        if not all(0 <= mask < 1 << self.width for mask in self.listed):
            raise StudyError(f"A candidate names a column outside the table's {self.width} columns.")
        if any(a == b for a, b in pairwise(sorted(self.listed))):
            raise StudyError("The list of candidates names the same model twice; name each once.")

    @property
    def count(self) -> int:
        return len(self.listed)

    def mask(self, index: int) -> int:
        return self.listed[index]

    def index(self, mask: int) -> int:
        return self.listed.index(mask)

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(self.listed)

    def __contains__(self, mask: object) -> bool:
        return mask in self._known

    def masks(self) -> NDArray[np.uint64]:
        self.require_listable()
        return np.array(self.listed, np.uint64)

    def to_dict(self) -> dict[str, Any]:
        return _ListText(width=self.width, models=tuple(map(columns_of, self.listed))).to_dict()


_Width = Annotated[int, msgspec.Meta(ge=0, le=MAX_STUDY_COLUMNS + 1)]  # the intercept's


class _Text(Public, frozen=True, kw_only=True, tag_field="rule"):
    """Candidates as they are written: a model or a term by its columns, in place of a mask of up to thousands of bits."""

    width: _Width

    def masks(self, sets: Iterable[Sequence[int]]) -> tuple[int, ...]:
        """The masks of sets of columns that are within the width: of a larger one they might not fit into memory."""
        listed = tuple(sets)
        if not all(0 <= column < self.width for columns in listed for column in columns):
            raise DataError(f"A column of the candidates is outside the table's {self.width} columns.")
        return tuple(map(mask_of, listed))


class _SubsetsText(_Text, frozen=True, kw_only=True, tag="subsets"):
    terms: tuple[tuple[int, ...], ...]
    always: tuple[int, ...]
    max_size: int | None
    empty: bool
    at_least: int = 0
    one_of: tuple[tuple[int, ...], ...] = ()
    needs: tuple[tuple[int, int], ...] = ()

    def candidates(self) -> Candidates:
        (always,) = self.masks([self.always])
        terms = self.masks(self.terms)
        return SubsetRule(self.width, terms, always, self.max_size, self.empty, self.at_least, self.one_of, self.needs)


class _ListText(_Text, frozen=True, kw_only=True, tag="list"):
    models: tuple[tuple[int, ...], ...]

    def candidates(self) -> Candidates:
        return CandidateList(self.width, self.masks(self.models))


def all_subsets(width: int, *, empty: bool = False) -> SubsetRule:
    """Every set of `width` columns, in integer order of its mask."""
    return SubsetRule(width, tuple(1 << j for j in range(width)), empty=empty)


def vote_units(candidates: Candidates) -> tuple[int, ...]:
    """What is voted on, as masks: the terms of a rule, or the single columns that tell listed models apart. Public."""
    if isinstance(candidates, SubsetRule):
        return candidates.terms
    assert isinstance(candidates, CandidateList)
    some, every = 0, (1 << candidates.width) - 1
    for mask in candidates.listed:
        some, every = some | mask, every & mask
    return tuple(1 << j for j in columns_of(some & ~every))


def crowd_place(crowd: int, candidates: Candidates) -> int:
    """The place of the term by whose lead nothing is selected, where that may be: the stated one, else 0. Public.

    It may not where something must be selected, nor where terms decide about each other.
    """
    free = isinstance(candidates, SubsetRule) and candidates.fewest == 0 and not (candidates.one_of or candidates.needs)
    return crowd if free and crowd <= len(vote_units(candidates)) else 0


Model = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Subsets:
    """Public. All sets of terms, within limits.

    The best k are `Subsets(at_least=k)`, with no others unless they too pass the threshold of the votes.

    Parameters
    ----------
    max_size : int, optional
        The most columns that a candidate has.
    always : tuple of str or int, optional
        Columns or variables that every candidate has.
    empty : bool, optional
        Whether the model without any column competes.
    split : bool, optional
        Whether the columns of a category enter one by one instead of together.
    at_least : int, optional
        The fewest terms that a candidate has, those that are always in not counted.
    one_of : tuple of tuple of str or int, optional
        Groups of variables of each of which exactly one is in.
    hierarchy : bool, optional
        Whether a product is in only where its parts are: `age:school` with `age` and `school`.

    Examples
    --------
    >>> Subsets(max_size=4, always=("age",), one_of=(("income", "wealth"),)).max_size
    4
    """

    max_size: int | None = None
    always: tuple[str | int, ...] = ()
    empty: bool = False
    split: bool = False
    at_least: int = 0
    one_of: tuple[tuple[str | int, ...], ...] = ()
    hierarchy: bool = False


def candidates_for(study: Study, models: Subsets | Iterable[Model] | Candidates | None = None) -> Candidates:
    """The candidates over the design's columns: by default every set of terms, the empty model left out.

    What the study states of its terms (`always`, `one_of`, `hierarchy`) holds beside what `Subsets` says.
    """
    columns = study.columns
    if isinstance(models, Candidates):
        if models.width != len(columns):
            raise StudyError(f"The candidates range over {models.width} columns, and the study has {len(columns)}.")
        return models
    if models is None or isinstance(models, Subsets):
        return _rule(study, models or Subsets())
    if study.always or study.one_of or study.hierarchy:
        raise StudyError(
            "The study states always, one_of or hierarchy, and models are named one by one as well: use one or the other."
        )
    return CandidateList(len(columns), tuple(model_mask(study, model) for model in models))


def _rule(study: Study, subsets: Subsets) -> SubsetRule:
    columns = study.columns
    always = _mask(columns, (*study.always, *subsets.always))
    hierarchy = study.hierarchy or subsets.hierarchy
    if hierarchy:
        study.require_parts()
        always = reduce(or_, (_parts(columns, column) for column in columns_of(always)), always)
    if study.intercept == "always":
        always |= mask_of([0])
    terms: dict[int, int] = {}
    for place, column in enumerate(columns):
        if not always >> place & 1:
            key = place if subsets.split else column.term
            terms[key] = terms.get(key, 0) | mask_of([place])
    masks = tuple(terms.values())
    stated = dict.fromkeys((*study.one_of, *subsets.one_of))  # a group that both state is one
    groups = tuple(tuple(_place(columns, masks, name) for name in group) for group in stated)
    needs = _needs(columns, masks) if hierarchy else ()
    rule = SubsetRule(
        len(columns),
        masks,
        always,
        subsets.max_size,
        subsets.empty,
        at_least=subsets.at_least,
        one_of=groups,
        needs=needs,
    )
    if rule.max_size is None or rule.max_size <= len(columns):
        return rule
    return replace(rule, max_size=len(columns))  # a report has no place for a number that says no more


def _place(columns: Sequence[Column], terms: tuple[int, ...], name: str | int) -> int:
    """The place of the term that a name means."""
    mask = _mask(columns, [name])
    if mask not in terms:
        raise StudyError(f"{name!r} is in a group of one_of, and is not considered: name a whole variable.")
    return terms.index(mask)


def _parts(columns: Sequence[Column], place: int) -> int:
    """The columns that a product is made of, as a mask: those with some of its factors and no others."""
    own = Counter(columns[place].factors)
    return mask_of([j for j, other in enumerate(columns) if other.factors and Counter(other.factors) < own])


def _needs(columns: Sequence[Column], terms: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Which terms need which: a product all terms that have its parts."""
    parts = [reduce(or_, (_parts(columns, column) for column in columns_of(term))) for term in terms]
    return tuple((place, other) for place, own in enumerate(parts) for other, term in enumerate(terms) if own & term)


def model_mask(study: Study, model: Model) -> int:
    """A model, named by its columns or variables, as a mask; with the intercept if that is always in."""
    forced = mask_of([0]) if study.intercept == "always" else 0
    return _mask(study.columns, model) | forced


def _mask(columns: Sequence[Column], model: Model) -> int:
    given: object = model
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise StudyError(f"A candidate is given as {model!r}; give each as a list of columns.")
    return mask_of([place for name in model for place in _places(columns, name)])


def _places(columns: Sequence[Column], name: str | int) -> list[int]:
    """The columns meant by a place, a column's name or a variable's name (then all of its columns)."""
    if isinstance(name, str):
        found = [i for i, column in enumerate(columns) if column.name == name]
        found = found or [i for i, column in enumerate(columns) if {f.variable for f in column.factors} == {name}]
        found = found or [i for i, column in enumerate(columns) if ":".join(f.variable for f in column.factors) == name]
    else:
        found = [int(name)] if isinstance(name, int | np.integer) and 0 <= name < len(columns) else []
    if not found:
        known = ", ".join(column.name for column in columns[:8]) + (", ..." if len(columns) > 8 else "")
        raise StudyError(f"{name!r} is not a column of the study; the columns are {known}.")
    return found


def variables_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """The variables behind some columns, each once, the intercept left out."""
    return tuple(
        dict.fromkeys(factor.variable for column in columns for factor in column.factors if column.name != INTERCEPT)
    )
