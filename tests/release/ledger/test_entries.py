"""Charges are frozen public values in exact decimals, and travel as JSON and as pickles."""

import copy
import pickle
import re
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.records import canonical_json
from dpselect.errors import StudyError
from dpselect.release.ledger.accounting import PRICED_BY
from dpselect.release.ledger.entries import (
    LARGEST_AMOUNT,
    Charge,
    Entry,
    Receipt,
    Remaining,
    Spent,
    decimal_of,
    units_down,
    units_up,
)
from dpselect.release.ledger.postgres import POSTGRES_SCHEMA


def charge(**more):
    return Charge(**({"what": "select", "mechanism": "laplace", "epsilon": "0.5"} | more))


def test_postgresql_knows_the_fields_and_limits_of_an_entry():
    """Its triggers refuse what this program could not read. Who changes either changes both, and POSTGRES_VERSION with them."""
    listed = [re.findall(r"\w+", each) for each in re.findall(r"WHEN name IN \(([^)]*)\)", POSTGRES_SCHEMA)]
    named = {"parameters", *(name for names in listed for name in names)}
    assert named == set(Entry.__struct_fields__) - {"hash"}
    assert set(listed[0]) == {
        name for name, kind in Entry.__annotations__.items() | Charge.__annotations__.items() if kind == "int"
    }
    needed = re.search(r"entry \?& '\{(.*?)\}'", POSTGRES_SCHEMA).group(1)
    assert set(needed.split(",")) == {each.name for each in msgspec.structs.fields(Entry) if each.required}
    priced = re.findall(r"unnest\('\{(.*?)\}'::text\[\]\) AS name\s+WHERE length", POSTGRES_SCHEMA)
    assert sorted(priced[0].split(",")) == sorted(PRICED_BY)
    (largest,) = re.findall(r"WHEN 'epsilon' THEN (\S+) ELSE (\S+) END", POSTGRES_SCHEMA)
    assert [float(each) for each in largest] == [LARGEST_AMOUNT["epsilon"], LARGEST_AMOUNT["delta"]]


@pytest.mark.parametrize("written", [0.1, "0.1", Decimal("0.1"), "1e-1"])
def test_a_tenth_is_a_tenth_however_it_is_written(written):
    assert charge(epsilon=written).epsilon == Decimal("0.1")
    assert charge(epsilon=written).epsilon_units == 10**11


def test_prices_are_rounded_up_to_a_unit():
    tiny = charge(epsilon="1e-30", delta="1e-300")
    assert (tiny.epsilon, tiny.delta) == (Decimal("1e-12"), Decimal("1e-18"))
    assert charge(epsilon="0.3333333333333333").epsilon == Decimal("0.333333333334")
    assert charge().count == 1 and charge(epsilon="1e9").epsilon == 10**9 and charge(delta=1).delta == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": "much"},
        {"epsilon": None},
        {"epsilon": 2e9},
        {"delta": 1.5},
        {"delta": -1e-9},
        {"count": 0},
        {"count": 1.5},
        {"count": True},
        {"what": None},
        {"data": 5},
        {"parameters": {"rows": object()}},
        {"parameters": {"rho": float("inf")}},
        {"parameters": {"rho": [float("nan")]}},
        {"unit": None},
        {"unit": "person"},
        {"unit": "person:"},
        {"rows_per_person": 0},
        {"rows_per_person": True},
        {"neighbors": "some"},
    ],
)
def test_what_cannot_be_charged(wrong):
    with pytest.raises(StudyError):
        charge(**wrong)


def test_a_charge_is_frozen_and_its_parameters_are_a_copy():
    parameters = {"rows": 97, "rho": Decimal("0.1"), "categories": ("a", "b"), "deep": {"rho": Decimal("0.2")}}
    made = charge(parameters=parameters)
    parameters["rows"] = 98
    assert made.parameters == {"rows": 97, "rho": "0.1", "categories": ["a", "b"], "deep": {"rho": "0.2"}}
    with pytest.raises(AttributeError):
        made.epsilon = Decimal(0)


def test_a_charge_travels():
    made = charge(parameters={"rho": "0.1", "large": 2**200}, delta=1e-6, data="prostate", unit="person:id", count=2)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), Charge.from_dict(made.to_dict())):
        assert again == made


def test_the_text_of_an_entry_leaves_out_what_is_as_usual_and_its_own_hash():
    made = Entry(what="select", mechanism="laplace", epsilon=Decimal("0.5"), index=1, time="t")
    assert canonical_json(made.to_dict()) == (
        '{"epsilon":"0.5","index":1,"mechanism":"laplace","time":"t","what":"select"}'
    )
    assert Entry.from_dict(made.to_dict() | {"hash": "ab"}).hash == "ab"


def test_amounts_are_plain_json():
    left = Remaining(epsilon=Decimal("0.5"), delta=Decimal("1e-6"))
    receipt = Receipt(index=1, hash="ab", epsilon=Decimal("0.25"), delta=Decimal(0), remaining=left)
    assert canonical_json(receipt.to_dict()) == (
        '{"delta":"0","epsilon":"0.25","hash":"ab","index":1,"remaining":{"delta":"0.000001","epsilon":"0.5"}}'
    )
    spent = Spent(epsilon=Decimal(1), delta=Decimal("2e-7"), method="zCDP")
    assert spent.to_dict() == {"epsilon": "1", "delta": "2E-7", "method": "zCDP"}
    assert (str(spent), str(left)) == ("epsilon=1, delta=2e-7", "epsilon=0.5, delta=1e-6")


@given(st.decimals(0, 10**9, allow_nan=False, allow_infinity=False), st.sampled_from([12, 18]))
def test_units_enclose_a_number_and_read_back_exactly(number, digits):
    below, above = units_down(number, digits), units_up(number, digits)
    assert decimal_of(below, digits) <= number <= decimal_of(above, digits)
    assert above - below <= 1
    assert units_up(decimal_of(above, digits), digits) == above
