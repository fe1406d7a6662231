"""Public. What a person states about each variable before any row is read: names, words, limits and categories."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import force_setattr

from dpselect.assume.records import Public
from dpselect.errors import StudyError

Category = str | int

MAX_NAME_LENGTH = 300
MAX_CATEGORY_LENGTH = 1000
MAX_CATEGORY_NUMBER = 2**53 - 1
"""Whole numbers up to here are told apart as doubles, in which every engine compares them."""
MAX_WORDS_LENGTH = 300
"""Letters of a label, a unit or a reason, at most: they stand in tables and beside axes."""
MAX_QUOTED_LENGTH = 120
"""Characters of a value that a message quotes, at most."""
GRID = 2**20
"""A number scaled to [-1, 1] becomes a whole number of steps of 1/GRID, so that sums of products are exact everywhere."""
MAX_COUNT = 2**20
"""A count that is larger counts as this; on the grid of 2^21 steps counts up to here are told apart."""
_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of a line, by which a name could pass for another."""


def is_printable(text: str) -> bool:
    """Whether a text is one line without control characters: no new line, escape, half of a character or turned direction."""
    return not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") or each in _TURNING for each in text)


def check_name(name: object) -> None:
    """Refuse anything but a short line of text."""
    if not isinstance(name, str) or not name.strip():
        raise StudyError(f"A variable is named {shown(name)}; a name must be a non-empty string.")
    if name == "?":
        raise StudyError("A variable is named '?', which stands for an open place in study files: rename the column.")
    if len(name) > MAX_NAME_LENGTH:
        raise StudyError(
            f"The name {shown(name)} has {len(name):,} letters; the most is {MAX_NAME_LENGTH}: rename the column."
        )
    if not is_printable(name):
        raise StudyError(f"The name {shown(name)} holds characters that cannot be printed: rename the column.")


def check_category(category: Category, name: str) -> None:
    """Refuse a text that is long or more than one line: categories stand in tables, on terminals and in files."""
    if not isinstance(category, str):
        return
    if len(category) > MAX_CATEGORY_LENGTH:
        raise StudyError(
            f"A category of {name!r} is {shown(category)}; it must be text of at most {MAX_CATEGORY_LENGTH:,} letters."
        )
    if not is_printable(category):
        raise StudyError(
            f"The category {shown(category)} of {name!r} holds characters that cannot be printed: rename it in the data."
        )


def shown(value: Any) -> str:
    """How a message quotes a value: as Python writes it, cut where it is long, and always on one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, or lists within lists
        text = f"a {type(value).__name__} that is too long to show"
    if len(text) > MAX_QUOTED_LENGTH:
        text = f"{text[:MAX_QUOTED_LENGTH]}..."
    return "".join(each if is_printable(each) else each.encode("unicode_escape").decode() for each in text)


def shown_names(names: Sequence[str], most: int = 12) -> str:
    """How a message lists public names: the first, and how many more there are."""
    return ", ".join(map(shown, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def check_choice(what: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse what is not one of a few words."""
    if value not in allowed:
        raise StudyError(f"{what} is {shown(value)}; it must be one of {', '.join(map(repr, allowed))}.")


def as_number(value: Any, what: str) -> float:
    """A finite float, or one sentence about why not."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise StudyError(f"{what} is {shown(value)}; it must be a number.")
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):  # too large for a double, or an object that only looks like a number
        raise StudyError(f"{what} is {shown(value)}; it must be a number below 1e308 in size.") from None
    if not math.isfinite(number):
        raise StudyError(f"{what} is {number}; it must be finite.")
    return number


Name = Annotated[str, msgspec.Meta(min_length=1, description="The column's name, to the letter.")]
Limit = Annotated[
    float, msgspec.Meta(description="Known without the rows; values beyond it are moved to the nearest limit.")
]
Words = Annotated[str, msgspec.Meta(max_length=MAX_WORDS_LENGTH)]


class Described(Public, frozen=True, kw_only=True, tag_field="kind"):
    """What people call a variable: its label, its unit, one more of it, and the reason for what is stated; each may be left out.

    They change no number. They are part of the statement where they are given, so that a report cannot say other words than were
    hashed.
    """

    label: Annotated[Words, msgspec.Meta(description="What people call the variable; reports use it.")] = ""
    unit: Annotated[Words, msgspec.Meta(description="Its unit, such as years or euro.")] = ""
    reason: Annotated[
        Words, msgspec.Meta(description="Why its limits or categories are known without the rows; reports print it.")
    ] = ""
    one_more: Annotated[
        Words, msgspec.Meta(description="One more of it in words, such as each further child; reports quote it.")
    ] = ""

    def _check_words(self, name: str) -> None:
        check_name(name)
        for what in ("label", "unit", "reason", "one_more"):
            _check_text(f"The {what} of {name!r}", getattr(self, what))


class Numeric(Described, frozen=True, kw_only=False, tag="number"):
    """A number between two limits; values outside are moved to the nearest one.

    `Numeric("size")` states no limits: block votes and coefficients by rounds need none, everything else does.

    Parameters
    ----------
    name : str
        The column's name, to the letter.
    lower, upper : float, optional
        The limits, known without the rows: both, or none.
    label, unit : str, optional
        What people call the variable, and its unit; reports use them.
    reason : str, optional
        Why its limits or categories are known without the rows; reports print it.
    one_more : str, optional
        One more of it in words, "each further child"; reports quote it.

    Examples
    --------
    >>> Numeric("size", 0, 3000, unit="square feet").bounds
    (0.0, 3000.0)
    """

    name: Name
    lower: Limit | None = None
    upper: Limit | None = None

    def __post_init__(self) -> None:
        self._check_words(self.name)
        if (self.lower is None) != (self.upper is None):
            raise StudyError(f"{self.name!r} has one limit; state lower and upper, or leave both out.")
        if self.lower is None:
            return
        for side in ("lower", "upper"):
            force_setattr(self, side, as_number(getattr(self, side), f"The {side} limit of {self.name!r}"))
        self._check_limits(*self.bounds)

    def _check_limits(self, lower: float, upper: float) -> None:
        if not lower < upper:
            raise StudyError(
                f"The range of {self.name!r} runs from {lower:g} to {upper:g}. Put the smaller number first."
            )
        if not (math.isfinite(self.middle) and 1e-150 < self.half_width < 1e150):
            raise StudyError(
                f"The range of {self.name!r} is {lower:g} to {upper:g}; its length must be "
                "between 1e-150 and 1e150: state the variable in other units."
            )
        # Then the grid reaches from -GRID to GRID, and clipping before or after rounding is the same in every engine.
        ends = [math.floor((bound - self.middle) * self.scale + 0.5) for bound in (lower, upper)]
        if ends != [-GRID, GRID]:
            raise StudyError(
                f"The limits of {self.name!r} are {lower!r} and {upper!r}, too close together for numbers of their "
                "size: subtract a public constant from the variable first."
            )

    @property
    def bounded(self) -> bool:
        """Whether limits are stated."""
        return self.lower is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """Both limits; refused where none are stated."""
        if self.lower is None or self.upper is None:
            raise StudyError(f"{self.name!r} has no range: state lower and upper.")
        return self.lower, self.upper

    @property
    def middle(self) -> float:
        """Half-way between the limits."""
        lower, upper = self.bounds
        return (lower + upper) / 2

    @property
    def half_width(self) -> float:
        """Half the distance of the limits."""
        lower, upper = self.bounds
        return (upper - lower) / 2

    @property
    def scale(self) -> float:
        """Grid steps in one unit: a cell v becomes floor((v - middle) * scale + 0.5)."""
        return GRID / self.half_width


class Count(Numeric, frozen=True, kw_only=False, tag="count"):
    """A response of whole numbers from 0 on: visits, accidents, days away. Its coefficients are rate ratios.

    Parameters
    ----------
    name : str
        The column's name, to the letter.
    lower, upper : float, optional
        Zero, and the largest count that is told apart: with `upper=50` more than 50 count as 50.
    label, unit : str, optional
        What people call the variable, and its unit; reports use them.
    reason : str, optional
        Why its limits or categories are known without the rows; reports print it.
    one_more : str, optional
        One more of it in words, "each further child"; reports quote it.

    Examples
    --------
    >>> Count("visits", upper=50).bounds
    (0.0, 50.0)
    """

    def __post_init__(self) -> None:
        if self.upper is not None and self.lower is None:
            force_setattr(self, "lower", 0.0)
        Numeric.__post_init__(self)
        if self.lower is not None and (self.lower != 0 or self.bounds[1] % 1 or self.bounds[1] > MAX_COUNT):
            raise StudyError(
                f"The limits of the count {self.name!r} are {self.lower:g} to {self.upper:g}; they must be 0 and a whole number of "
                f"at most {MAX_COUNT:,}."
            )


CategoryList = Annotated[
    Sequence[Category],
    msgspec.Meta(
        min_length=2, description="All that can occur, all text or all whole numbers; the first is the reference."
    ),
]
CategoryLabels = Annotated[Sequence[str], msgspec.Meta(description="What people call each category, one each.")]


class Binary(Described, frozen=True, kw_only=False, tag="binary"):
    """No or yes: the first category counts as 0 and the second as 1, so that its limits are 0 and 1 by nature.

    Parameters
    ----------
    name : str
        The column's name, to the letter.
    categories : sequence of two str or two int
        What stands for no, and what for yes.
    category_labels : sequence of str, optional
        What people call the two.
    label, unit : str, optional
        What people call the variable, and its unit; reports use them.
    reason : str, optional
        Why its limits or categories are known without the rows; reports print it.
    one_more : str, optional
        One more of it in words, "each further child"; reports quote it.

    Examples
    --------
    >>> Binary("died", ["no", "yes"]).categories
    ('no', 'yes')
    """

    name: Name
    categories: CategoryList
    category_labels: CategoryLabels = ()

    bounded: ClassVar[bool] = True
    lower: ClassVar[float] = 0.0
    upper: ClassVar[float] = 1.0
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    middle: ClassVar[float] = 0.5
    half_width: ClassVar[float] = 0.5
    scale: ClassVar[float] = GRID / 0.5

    def __post_init__(self) -> None:
        self._check_words(self.name)
        _check_categories(self)
        if len(self.categories) != 2:
            raise StudyError(
                f"{self.name!r} has {len(self.categories)} categories; a binary variable has two, no and yes."
            )


class Categorical(Described, frozen=True, kw_only=False, tag="category"):
    """One of a few categories, stated in advance; each but the reference becomes a column of zeros and ones.

    Parameters
    ----------
    name : str
        The column's name, to the letter.
    categories : sequence of str or of int
        All that can occur.
    reference : str or int, optional
        The category that the others are compared with; the first, unless another is named.
    category_labels : sequence of str, optional
        What people call each of them.
    label, unit : str, optional
        What people call the variable, and its unit; reports use them.
    reason : str, optional
        Why its limits or categories are known without the rows; reports print it.
    one_more : str, optional
        One more of it in words, "each further child"; reports quote it.

    Examples
    --------
    >>> Categorical("county", ["Marin", "Napa", "Sonoma"], reference="Napa").dummies
    ('Marin', 'Sonoma')
    """

    name: Name
    categories: CategoryList
    reference: Annotated[
        Category | None, msgspec.Meta(description="The category that the others are compared with.")
    ] = None
    category_labels: CategoryLabels = ()

    def __post_init__(self) -> None:
        self._check_words(self.name)
        _check_categories(self)
        if self.reference is None:
            force_setattr(self, "reference", self.categories[0])
        if self.reference not in self.categories:
            raise StudyError(
                f"The reference {shown(self.reference)} is not a category of {self.name!r}; use one of them."
            )

    @property
    def dummies(self) -> tuple[Category, ...]:
        """The categories that get a column, in order."""
        return tuple(category for category in self.categories if category != self.reference)


Number = Numeric | Binary | Count
"""What is one column of numbers; a count can be a response alone."""

Variable = Numeric | Binary | Categorical


def _check_categories(variable: Binary | Categorical) -> None:
    """Categories that can be told apart in every engine: all text or all whole numbers, each once; and one label each, or none."""
    name, given = variable.name, variable.categories
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise StudyError(f"The categories of {name!r} must be a list.")
    categories = tuple(given)
    texts = all(isinstance(each, str) for each in categories)
    wholes = all(isinstance(each, int) and not isinstance(each, bool) for each in categories)
    if not (texts or wholes):
        raise StudyError(f"The categories of {name!r} must be all strings or all whole numbers.")
    if wholes and not all(abs(int(each)) <= MAX_CATEGORY_NUMBER for each in categories):
        raise StudyError(f"The categories of {name!r} must be below 2^53 in size: state larger ones as text.")
    if len(categories) < 2:
        raise StudyError(
            f"{name!r} has {len(categories)} of the at least two categories that it needs. State each that can occur."
        )
    for each in categories:
        check_category(each, name)
    if len(set(categories)) < len(categories):
        raise StudyError(f"The categories of {name!r} name one twice; name each once.")
    force_setattr(variable, "categories", categories)
    force_setattr(variable, "category_labels", _checked_labels(variable))


def _checked_labels(variable: Binary | Categorical) -> tuple[str, ...]:
    name, given = variable.name, variable.category_labels
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise StudyError(f"The category_labels of {name!r} must be a list of texts, one for each category.")
    labels = tuple(given)
    if labels and len(labels) != len(variable.categories):
        raise StudyError(
            f"{name!r} has {len(labels)} category_labels for {len(variable.categories)} categories; give one for each."
        )
    for label in labels:
        _check_text(f"The label of a category of {name!r}", label)
        if labels.count(label) > 1:
            raise StudyError(f"Two categories of {name!r} are labelled {label!r}; label each differently.")
    return labels


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise StudyError(f"{what} is {text!r}; it must be text.")
    if not text.isprintable() or len(text) > MAX_WORDS_LENGTH:
        raise StudyError(f"{what} must be one line of at most {MAX_WORDS_LENGTH} letters; make it shorter.")


_KINDS: dict[str, type[Variable]] = {"number": Numeric, "count": Count, "binary": Binary, "category": Categorical}


def variable_from_dict(values: Any) -> Variable:
    """A variable from plain values, as a person writes them: the kind follows from limits or categories unless it is stated."""
    if not isinstance(values, Mapping):
        raise StudyError(f"A variable is {shown(values)}; it must have a name, and a range or categories.")
    # Study files of before say levels.
    stated = {("categories" if key == "levels" else key): value for key, value in values.items()}
    name = stated.get("name")
    check_name(name)
    kind = stated.pop("kind", "category" if "categories" in stated else "number")
    if kind not in _KINDS:
        raise StudyError(f"The kind of {name!r} is {shown(kind)}; it must be one of {', '.join(map(repr, _KINDS))}.")
    limits, categories = {"lower", "upper"} & set(stated), {"categories", "reference", "category_labels"} & set(stated)
    if limits and categories:
        raise StudyError(f"{name!r} has both categories and a range; give one or the other.")
    if kind in ("binary", "category") and "categories" not in stated:
        raise StudyError(f"{name!r} needs categories, because its kind is {kind!r}.")
    if kind == "binary" and "reference" in stated:
        raise StudyError(f"{name!r} is binary and has no reference: its first category counts as 0.")
    known = _KINDS[kind].__struct_fields__
    if extra := sorted(map(str, set(stated) - set(known))):
        raise StudyError(f"{name!r} has the unknown entry {shown(extra[0])}; known are {', '.join(sorted(known))}.")
    return _KINDS[kind](**stated)


LEAVE_OUT = '`missing = "zero-row"` in the study file or in Python, or `--missing zero-row`'
"""How to say that rows with missing values count for nothing."""


def unusable_cells(variable: Variable) -> str:
    """Why a run stops at a variable's cells: what is said names the variable and its public kind, and no cell."""
    what, mend = "missing or infinite values", "Correct them"
    if not isinstance(variable, Numeric):
        what, mend = "missing values, or values that are not among its stated categories", "List every category"
    return f"{variable.name!r} has {what}. {mend} (`dpselect check` shows more), or leave such rows out: {LEAVE_OUT}."
