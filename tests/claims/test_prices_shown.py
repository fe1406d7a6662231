"""The price that a reader is told is what the ledger was charged, by every method, at every delta, to the last digit."""

import html
import json
import re
from decimal import Decimal

import numpy as np
import pytest

import dpselect
from dpselect.release.ledger.entries import Charge
from dpselect.report.page import report_page
from dpselect.use.verify import verify_text

CASES = [
    {"method": "votes"},
    {"method": "votes", "mechanism": "exponential", "delta": "1e-6"},
    {"method": "votes", "delta": "1e-6", "split": (1, 2)},
    {"method": "votes", "delta": "3e-7", "family": "binomial"},
    {"method": "pcls"},
    {"method": "pcls", "mechanism": "laplace", "delta": "2e-6", "split": (3, 1)},
    {"method": "pcpl", "delta": "1e-6"},  # both parts have a delta, so that the larger of the two is not their sum
    {"method": "pcpl", "delta": "5e-7", "split": (1, 3)},
]


def study_of(family, **more):
    response = dpselect.Binary("y", ["no", "yes"]) if family == "binomial" else dpselect.Numeric("y", -3, 3)
    return dpselect.Study(
        response=response, predictors=[dpselect.Numeric("a", -1, 1), dpselect.Numeric("b", -1, 1)], **more
    )


def frame_of(family):
    rng = np.random.default_rng(2311)
    columns = {name: rng.uniform(-1, 1, 900) for name in ("a", "b")}
    y = columns["a"] + 0.3 * rng.normal(size=900)
    columns["y"] = np.where(y > 0, "yes", "no") if family == "binomial" else np.clip(y, -3, 3)
    return columns | {"id": np.arange(900) // 2}


@pytest.mark.parametrize("unit", [{}, {"person": "id", "max_rows_per_person": 2, "rows": 900}], ids=["rows", "persons"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_the_price_on_the_page_is_what_the_ledger_was_charged(case, unit):
    case = {"family": "gaussian", "delta": "0", **case}
    ledger = dpselect.Ledger(epsilon="9.7", delta="1e-5")
    ledger.charge(earlier_charge(unit))
    before = ledger.spent()
    analysis = dpselect.analyze(
        frame_of(case["family"]), study_of(case["family"], **unit), epsilon="1.3", ledger=ledger, **case
    )
    after = ledger.spent()
    charged = after.epsilon - before.epsilon, after.delta - before.delta
    assert charged == (Decimal("1.3"), Decimal(case["delta"]))
    assert (analysis.guarantee.epsilon, analysis.guarantee.delta) == charged
    page = report_page(analysis)
    text = re.sub(r"\s+", " ", html.unescape(re.sub("<(style|script).*?</\\1>|<[^>]*>", " ", page, flags=re.DOTALL)))
    for told in (text, json.dumps(analysis.glance())):
        # The first that a reader meets is the whole; the parts come after it.
        beginning = re.search(r"\(ε =|epsilon=|\"epsilon\":", told).start()
        sentence = told[beginning : beginning + 45]
        assert (first("epsilon|ε", sentence), first("delta|δ", sentence)) == charged, sentence
    found = verify_text(page, ledger)
    assert found, str(found)


def first(name, text):
    """The first number that is called so, however it is written: 1e-6, 10⁻⁶ or 3 times that; 0 where none is."""
    for high, low in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True):
        text = text.replace(high, low)
    found = re.search(rf"(?:{name})\W*?(?:(?P<plain>\d[\d.]*(?:e-?\d+)?)\s*(?P<times>\S\s*10)?(?P<power>-\d+)?)", text)
    if found is None:
        return Decimal(0)
    if found["times"]:
        return Decimal(f"{found['plain']}e{found['power']}")
    return (
        Decimal(f"1e{found['power']}")
        if found["power"] and found["plain"] == "10"
        else Decimal(found["plain"].rstrip("."))
    )


def earlier_charge(unit):
    return Charge(what="select", mechanism="laplace", epsilon="0.7", delta="1e-9", unit="person:id" if unit else "row")
