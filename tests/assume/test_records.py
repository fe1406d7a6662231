"""A record is its values: what is written, left out, read back and hashed does not depend on which objects hold them."""

from decimal import Decimal

import pytest
from msgspec import field

from dpselect.assume.records import Public
from dpselect.errors import DataError


class Inner(Public, frozen=True, kw_only=True):
    name: str = "row"
    amount: Decimal = Decimal(0)


class Outer(Public, frozen=True, kw_only=True):
    place: int
    parts: tuple[Inner, ...] = ()
    numbers: tuple[float, ...] = (0.5, 1.5)
    facts: dict[str, int] = field(default_factory=dict)
    most: int = 1_000_000


def test_a_field_with_its_default_is_left_out_whichever_object_it_is():
    made = Outer(
        place=1,
        parts=tuple([Inner(name="".join(["r", "ow"]), amount=Decimal("0"))]),
        numbers=tuple([float("0.5"), float("1.5")]),
        facts=dict([]),
        most=int("1000000"),
    )
    assert made.to_dict() == {"place": 1, "parts": [{}]}
    assert made.hash == Outer(place=1, parts=(Inner(),)).hash


def test_what_is_read_back_is_the_same_and_has_the_same_hash():
    for made in (
        Outer(place=2),
        Outer(place=2, parts=(Inner(amount=Decimal("1e-7")), Inner()), facts={"a": 1}, most=5),
    ):
        for again in (Outer.from_json(made.to_json()), Outer.from_dict(made.to_dict())):
            assert again == made
            assert again.hash == made.hash
    spelled = Outer.from_json('{"place":2,"parts":[],"numbers":[0.5,1.5],"facts":{},"most":1000000}')
    assert (spelled, spelled.hash) == (Outer(place=2), Outer(place=2).hash)


def test_a_default_of_another_type_is_no_default():
    assert Outer(place=3, most=1_000_000.0).to_dict() == {"place": 3, "most": 1_000_000.0}


@pytest.mark.parametrize(
    "text", ['{"place": 1.5}', '{"place": 1, "song": 2}', "{}", "[", '{"place": 1, "parts": [{"name": 2}]}']
)
def test_what_is_no_such_record_is_named(text):
    with pytest.raises(DataError, match="This is not the JSON text of a dpselect outer"):
        Outer.from_json(text)


def test_a_field_that_an_edit_has_named_reaches_no_terminal_as_it_is():
    from dpselect.assume.budget import Guarantee

    with pytest.raises(DataError) as refused:
        Guarantee.from_json('{"neig\\u007fbors": 1, "\\u001b[31m": 2}')
    assert str(refused.value).isprintable() and "neig" in str(refused.value)
