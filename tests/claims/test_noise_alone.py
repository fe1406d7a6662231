"""Nothing public depends on the rows but through a draw: with draws that look at nothing, any two tables have the same report.

Every file, page, text and record of an analysis is compared, letter by letter, for tables that share no cell and, where their
number is private, have another number of rows and persons.
"""

import numpy as np
import pytest
from msgspec.structs import replace

import dpselect
from dpselect.randomize import choice, noisy_moments, rounds_noise
from dpselect.report.board import board_page
from dpselect.report.page import report_page


def blind(measurement, private):
    """In the place of OpenDP: an answer of the right form, whatever the private value is."""
    if isinstance(private, np.ndarray):
        return 1  # the place of a candidate
    if isinstance(private, list):
        noise = np.random.default_rng(len(private)).normal(size=len(private))
        return [2**36 + int(each) for each in noise * 2**30]
    return 123.0  # PCPL's bound


@pytest.fixture(autouse=True)
def _draws_look_at_nothing(monkeypatch):
    for module in (choice, noisy_moments, rounds_noise):
        monkeypatch.setattr(module, "invoke", blind)
    # Permute-and-flip tosses coins of the system's, and a choice without a range is even: here always the second candidate.
    monkeypatch.setattr(choice, "permute_and_flip", lambda values, scale: 1)
    monkeypatch.setattr(choice, "one_of", lambda things: things[1])
    # Votes on sets of terms are drawn by levels, from digits of the system's: here always the model without a term.
    monkeypatch.setattr("dpselect.release.selection.draw_candidate", lambda margins, epsilon, mechanism: ())
    # Edge votes likewise: always the model with the first variable, in its own direction.
    monkeypatch.setattr("dpselect.release.selection.draw_edge_candidate", lambda *asked: (0b11, {1: 1}))


def table(rows, seed, binary):
    rng = np.random.default_rng(seed)
    return {
        "a": rng.uniform(-1, 1, rows).tolist(),
        "b": (rng.normal(size=rows) * 3**seed).tolist(),
        "c": rng.choice(["u", "v", "w"], rows).tolist(),
        "y": (rng.integers(0, 2, rows) if binary else rng.normal(size=rows)).tolist(),
        "who": rng.integers(0, rows // 3, rows).tolist(),
    }


def public(rows, seed, neighbors, *, person=False, **asked):
    """All that an analysis shows."""
    binary, bounds = asked.pop("binary", False), asked.pop("bounds", True)
    response = dpselect.Numeric("y", -3, 3) if bounds else dpselect.Numeric("y")
    study = dpselect.Study(
        dpselect.Binary("y", [0, 1]) if binary else response,
        [
            dpselect.Numeric("a", -1, 1) if bounds else dpselect.Numeric("a"),
            dpselect.Numeric("b", -5, 5),
            dpselect.Categorical("c", ["u", "v", "w"]),
        ],
        intercept="always",
        neighbors=neighbors,
        rows=None if neighbors == "replace-one" else 350,
        **({"person": "who", "max_rows_per_person": 2} if person else {}),
    )
    ledger = dpselect.Ledger(epsilon=10, delta=1e-3)
    found = dpselect.analyze(table(rows, seed, binary), study, epsilon=1, ledger=ledger, **asked)
    document = replace(found, title="A title", made="2026-01-01")
    estimate = found.coefficients
    shown = [document.to_json(), report_page(document), board_page(document), str(found), repr(found)]
    shown += [str(estimate), repr(estimate), estimate._repr_html_(), str(estimate.glance()), str(estimate.tidy())]
    records = ledger.entries()
    for mark in (document.hash, *(record.hash for record in records)):  # which hold the time of a charge
        shown = [text.replace(mark, "").replace(mark[:16], "") for text in shown]
    return shown, [replace(record, time="", hash="", release="") for record in records]


WAYS = {
    "votes": {},
    "votes, gaussian noise": {"delta": 1e-6},
    "votes, differences of chances": {"binary": True, "mechanism": "exponential"},
    "votes, odds": {"binary": True, "family": "binomial", "delta": 1e-6},
    "votes, no bounds": {"delta": 1e-6, "bounds": False},
    "pcls": {"method": "pcls"},
}


def settings():
    """Each way between both kinds of neighbors; without the thorough ones each way once."""
    for place, way in enumerate(WAYS):
        for neighbors, rows in (("replace-one", (300, 300)), ("add-remove-one", (300, 417))):
            marks = () if (place % 2 == 0) == (neighbors == "add-remove-one") else pytest.mark.thorough
            yield pytest.param(way, neighbors, rows, marks=marks, id=f"{neighbors}-{way}")


@pytest.mark.parametrize(("way", "neighbors", "rows"), list(settings()))
def test_two_tables_have_one_report(way, neighbors, rows):
    one, two = (public(count, seed, neighbors, **WAYS[way]) for seed, count in enumerate(rows))
    assert one == two


@pytest.mark.parametrize("way", ["votes", "votes, odds", "pcls"])
def test_two_tables_of_persons_have_one_report(way):
    one, two = (
        public(count, seed, "add-remove-one", person=True, **WAYS[way]) for seed, count in enumerate((300, 417))
    )
    assert one == two


def test_so_have_two_tables_with_pcpl():
    one, two = (public(300, seed, "replace-one", method="pcpl", delta=1e-6) for seed in range(2))
    assert one == two
