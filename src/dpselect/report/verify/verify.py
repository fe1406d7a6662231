"""Public. Checking a report as a stranger would: from the report alone, and against the ledger where there is one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpselect.assume.lemmas.margins import margin_range
from dpselect.assume.lemmas.sensitivity import solver_tolerance
from dpselect.assume.models.budget import plain
from dpselect.assume.models.candidates import mask_of
from dpselect.assume.models.penalty import candidate_penalties
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.study.canonical import sha256_of
from dpselect.errors import DataError, LedgerError
from dpselect.minimize.minimize import ROUNDING
from dpselect.penalize.pcls import pcls_range
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.estimate import estimate_charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge, Record
from dpselect.release.select import selection_charge, software_version
from dpselect.release.selection import Selection
from dpselect.report.public.choice_facts import facts_of
from dpselect.report.public.document import Document
from dpselect.report.public.numbers import number
from dpselect.report.public.page import report_page
from dpselect.report.verify.answers import Check
from dpselect.report.verify.estimates import estimate_checks
from dpselect.report.verify.votes import rule_check

SOLVED = {"format", "terms", "scaled", "alone", "residual_deviation", "r_squared", "rows", "intervals", "caveats"}
"""The parts of coefficients that follow from their noisy moments."""


def read_report(text: str) -> tuple[Document, dict[str, Any]]:
    """The document in a report's JSON text or HTML page, and the plain values as they stand there."""
    inside = re.search(r'<script type="application/json" id="release">(.*?)</script>', text, re.DOTALL)
    try:
        values = json.loads(inside.group(1) if inside else text)
    except json.JSONDecodeError:
        raise DataError("This is neither the JSON nor the HTML file of a dpselect report.") from None
    return Document.from_dict(values), values


def check_report(text: str, ledger: Ledger | None = None) -> list[Check]:
    """Everything that can be checked, in the order a reader would."""
    document, values = read_report(text)
    checks = [*_text_checks(text, document, values), *_selection_checks(document.selection, values)]
    if document.coefficients is not None:
        checks += estimate_checks(document.coefficients, document.selection)
    checks += [_receipt_check(release) for release in document.releases if release.receipt is not None]
    if ledger is not None:
        checks += [_ledger_check(release, ledger) for release in document.releases]
    return checks


def _text_checks(text: str, document: Document, values: dict[str, Any]) -> Iterator[Check]:
    mark = sha256_of(values)
    same = _as_read(values) == _as_read(document.to_dict() if "selection" in values else document.selection.to_dict())
    yield Check("nothing is added or left out", same, f"sha256 {mark}")
    if text.lstrip().startswith("<"):
        yield _page_check(text, document, values, mark)


def _as_read(values: dict[str, Any]) -> dict[str, Any]:
    """Plain values; of coefficients that version 0.1.0 wrote only what is not solved anew when they are read."""
    coefficients = values.get("coefficients")
    if not coefficients or coefficients["version"] != "0.1.0":
        return values
    return values | {"coefficients": {key: part for key, part in coefficients.items() if key not in SOLVED}}


def _page_check(text: str, document: Document, values: dict[str, Any], mark: str) -> Check:
    """The page is what this version makes of the release; of another version's page only the main facts are looked for."""
    what = "the page shows the release it carries"
    if document.selection.version == software_version():
        return Check(what, text.strip() == report_page(document).strip(), document.selection.formula)
    facts = facts_of(document)
    stated = (values.get("coefficients") or {"terms": []})["terms"]
    main = (facts.formula, facts.guarantee.symbols, *(number(t["value"]) for t in stated if t["value"] is not None))
    # Versions differ in where they put a comma.
    shown = mark in text and all(each.replace(",", "") in _visible(text).replace(",", "") for each in main)
    return Check(
        what,
        shown,
        f"{facts.formula}; of a page by version {facts.version} only this, price and coefficients are checked",
    )


def _visible(text: str) -> str:
    body = text.split('<script type="application/json"', maxsplit=1)[0]
    return (
        body.replace("&#34;", '"').replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    )


def _selection_checks(selection: Selection, values: dict[str, Any]) -> Iterator[Check]:
    recipe, assumptions = selection.recipe, selection.assumptions
    stated = values.get("selection", values)["recipe"]["assumptions_hash"]
    yield Check("the assumptions have the stated hash", stated == assumptions.hash, f"sha256 {assumptions.hash}")
    yield _model_check(selection)
    guarantee = recipe.guarantee
    yield Check(
        "the price is for the stated neighbours", guarantee.neighbors == assumptions.neighbors, guarantee.neighbors
    )
    yield _rows_check(recipe)
    if recipe.method == "pcpl":
        bought = 0 < recipe.bound_epsilon < guarantee.epsilon and guarantee.delta > 0
        yield Check("the price has a part for the bound and one for the choice", bought, str(guarantee))
    else:
        whole = recipe.bound_epsilon == 0 and guarantee.delta == 0
        yield Check("the whole price pays for the choice", whole, str(guarantee))
        needed = required_range(recipe)
        enough = selection.range >= needed * (1 - 1e-12)
        yield Check("the range paid for is enough", enough, f"{selection.range:.6g}, needed {needed:.6g}")
    if recipe.votes is not None:
        yield rule_check(recipe)


def _receipt_check(release: Selection | Coefficients) -> Check:
    receipt = release.receipt
    assert receipt is not None
    paid = charge_of(release)
    same = receipt.epsilon == paid.epsilon and receipt.delta == paid.delta
    return Check("the receipt is for the price", same, f"record {receipt.index}, epsilon {plain(receipt.epsilon)}")


def _model_check(selection: Selection) -> Check:
    columns = selection.assumptions.columns
    width = selection.recipe.candidates.width
    inside = all(0 <= j < len(columns) for j in selection.columns) and width == len(columns)
    names = tuple(columns[j].name for j in selection.columns) if inside else ()
    try:
        selection.recipe.candidates.index(mask_of(selection.columns))
        candidate = inside and names == selection.variables
    except ValueError:
        candidate = False
    return Check("the model is one of the candidates", candidate, selection.formula if inside else "unknown columns")


def _rows_check(recipe: Recipe) -> Check:
    """The number of rows is stated where neighbours have the same, and nowhere else."""
    if recipe.assumptions.neighbors == "add-remove-one":
        return Check("the number of rows is kept secret", recipe.rows is None, "private")
    stated = type(recipe.rows) is int and recipe.rows > 0
    return Check("the number of rows is stated", stated, f"{recipe.rows}")


def required_range(recipe: Recipe) -> float:
    """The range of the score of PCLS or of votes, computed anew from the public statements alone."""
    assumptions = recipe.assumptions
    if recipe.votes is not None:
        return float(margin_range(recipe.votes.partitions))
    penalties = candidate_penalties(np.array(recipe.penalties) / assumptions.r**2, recipe.candidates)
    tolerance = max(solver_tolerance(1.0, assumptions.rho, recipe.rows), ROUNDING)
    needed = pcls_range(
        tolerance, penalties, assumptions.rho, assumptions.neighbors, recipe.rows, assumptions.rows_per_person
    )
    return needed if math.isfinite(needed) else math.inf


def _ledger_check(release: Selection | Coefficients, ledger: Ledger) -> Check:
    what = "the ledger holds the charge"
    if release.receipt is None:
        return Check(what, False, "the report has no receipt")
    try:
        ledger.verify(release.receipt)
    except LedgerError as problem:
        return Check(what, False, str(problem))
    record = next(each for each in ledger.records() if each.index == release.receipt.index)
    return Check(what, _matches(record, release), f"record {record.index} of {record.time[:16]} UTC, {record.data}")


def _matches(record: Record, release: Selection | Coefficients) -> bool:
    """Neither less was charged than is stated nor more: a stated price below the true one is the lie to look for."""
    paid = charge_of(release)
    facts = ("what", "mechanism", "epsilon", "delta", "assumptions", "count")
    return all(getattr(record, fact) == getattr(paid, fact) for fact in facts) and all(
        record.parameters.get(name) == value for name, value in paid.parameters.items()
    )


def charge_of(release: Selection | Coefficients) -> Charge:
    """What the ledger must have been told of a release."""
    if isinstance(release, Selection):
        return selection_charge(release.recipe)
    return estimate_charge(release.noisy.layout, release.noisy.noise, release.guarantee, release.assumptions)
