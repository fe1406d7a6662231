"""Public. Checking a report as a stranger would: from the report alone, and against the ledger where there is one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from dpselect.assume.models.candidates import mask_of
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.study.canonical import MARKUP, sha256_of
from dpselect.errors import DataError, DpselectError, LedgerError
from dpselect.release.account import software_version
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned
from dpselect.report.public.document import Document
from dpselect.report.public.page import report_page
from dpselect.report.verify.answers import Check
from dpselect.report.verify.estimates import estimate_checks
from dpselect.report.verify.form import plain_values, require_form
from dpselect.report.verify.odds import odds_checks
from dpselect.report.verify.ranges import least_profile_range, required_range
from dpselect.report.verify.records import ledger_checks, receipt_check
from dpselect.report.verify.tuned import bounds_checks, is_tuned, read_tuned, tuned_checks, tuned_ledger_checks
from dpselect.report.verify.votes import rule_check

SOLVED = {"format", "terms", "scaled", "alone", "residual_deviation", "r_squared", "rows", "intervals", "caveats"}
"""The parts of coefficients that follow from their noisy moments."""
DISGUISED = (
    "This is JSON with the marks of a page in it, and a browser may show another: give the file that dpselect wrote."
)


def read_report(text: str) -> tuple[Document, dict[str, Any]]:
    """The document in a report's JSON text or HTML page, and the plain values as they stand there."""
    inside = re.search(r'<script type="application/json" id="release">(.*?)</script>', text, re.DOTALL)
    values = plain_values(inside.group(1) if inside and is_page(text) else text)
    require_form(values)
    try:
        return Document.from_dict(values), values
    except DpselectError as problem:
        raise DataError(f"This is not a dpselect report that can be true: {problem}") from None
    except Exception:  # an edited report can contradict itself anywhere
        raise DataError("This is not a dpselect report: its parts contradict one another.") from None


def is_page(text: str) -> bool:
    """Whether a text is looked at, and not read: whatever is not JSON from its first letter, for a browser shows even that.

    A mark that nobody sees before the page (of the order of bytes, for one) must not make a page something else.
    """
    return not text.lstrip().startswith("{")


def is_disguised(text: str) -> bool:
    """Whether a text is JSON with markup in it: a release all the same, but a browser could show it as a page of another kind.

    dpselect writes none; others may, who write its JSON anew, so in a file that is named .json it is taken.
    """
    return not is_page(text) and MARKUP.search(text) is not None


def check_report(text: str, ledger: Ledger | None = None) -> list[Check]:
    """Everything that can be checked, in the order a reader would."""
    if is_tuned(text):
        return _check_tuned(text, ledger)
    document, values = read_report(text)
    steps: list[Callable[[], Iterable[Check]]] = [
        lambda: _text_checks(text, document, values),
        lambda: _selection_checks(document.selection, values),
    ]
    estimate, tuned = document.coefficients, document.tuned
    if tuned is not None:
        steps.append(lambda: bounds_checks(tuned))
    if isinstance(estimate, OddsRatios):
        steps.append(lambda: odds_checks(estimate, document.selection, document.stated))
    elif estimate is not None:
        steps.append(lambda: estimate_checks(estimate, document.selection, document.stated))
        steps.append(lambda: _older_checks(estimate, values))
    charged = [release for release in document.releases if not isinstance(release, Tuned)]
    steps.append(lambda: [receipt_check(release) for release in charged if release.receipt is not None])
    if ledger is not None:
        if tuned is not None:
            steps.append(lambda: tuned_ledger_checks(tuned, ledger))
        steps += [partial(ledger_checks, release, ledger) for release in charged]
    return [check for step in steps for check in _answered(step)]


def _check_tuned(text: str, ledger: Ledger | None) -> list[Check]:
    """The same for a selection whose bounds were bought."""
    values = plain_values(text)
    require_form(values)
    tuned = read_tuned(values)
    steps: list[Callable[[], Iterable[Check]]] = [
        lambda: tuned_checks(tuned, values),
        lambda: _selection_checks(tuned.selection, values),
        lambda: [] if tuned.selection.receipt is None else [receipt_check(tuned.selection)],
    ]
    if ledger is not None:
        steps += [lambda: tuned_ledger_checks(tuned, ledger), lambda: ledger_checks(tuned.selection, ledger)]
    return [check for step in steps for check in _answered(step)]


def _answered(step: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """What a step finds; if it cannot even be computed, because the report contradicts itself, that is a no."""
    try:
        yield from step()
    except (LedgerError, MemoryError):
        raise
    except Exception as problem:
        yield Check("what the report states can be computed anew", False, f"it cannot ({type(problem).__name__})")


def _text_checks(text: str, document: Document, values: dict[str, Any]) -> Iterator[Check]:
    mark = sha256_of(values)
    same = _as_read(values) == _as_read(document.to_dict() if "selection" in values else document.selection.to_dict())
    # A report whose coefficients were cut out is a true one of a choice: this line lets its reader see which it is.
    parts = "a choice alone" if document.coefficients is None else "a choice and its coefficients"
    yield Check(f"it holds {parts}, and nothing is added", same, f"sha256 {mark}")
    if is_page(text):
        yield _page_check(text, document)


def _as_read(values: dict[str, Any]) -> dict[str, Any]:
    """Plain values; of coefficients that version 0.1.0 wrote only what is not solved anew when they are read."""
    coefficients = values.get("coefficients")
    if not coefficients or coefficients["version"] != "0.1.0":
        return values
    return values | {"coefficients": {key: part for key, part in coefficients.items() if key not in SOLVED}}


def _older_checks(coefficients: Coefficients, values: dict[str, Any]) -> Iterator[Check]:
    """What `_as_read` leaves out is checked by nothing where this version does not solve it as that one did."""
    stated = values["coefficients"]
    if coefficients.version == "0.1.0" and any(
        stated.get(part) != now for part, now in coefficients.to_dict().items() if part in SOLVED
    ):
        yield Check(
            "the stated coefficients are those of version 0.1.0", None, "this version solves them in another way"
        )


def _page_check(text: str, document: Document) -> Check:
    """The page is what this version makes of the release. Of another version's page nobody here knows what it should be."""
    what = "the page shows the release it carries"
    version = document.selection.version
    if text.strip() == report_page(document).strip():
        return Check(what, True, document.selection.formula)
    if version == software_version():
        return Check(what, False, document.selection.formula)
    found = f"it says that version {version} made it, and this is {software_version()}: verify the JSON file instead"
    return Check(what, None, found)


def _selection_checks(selection: Selection, values: dict[str, Any]) -> Iterator[Check]:
    recipe, assumptions = selection.recipe, selection.assumptions
    stated = _inner(_inner(values))["recipe"]["assumptions_hash"]
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
        least = least_profile_range(recipe)
        yield Check("the range paid for is not too small", selection.range >= least, f"{selection.range:.6g}")
    else:
        whole = recipe.bound_epsilon == 0 and guarantee.delta == 0
        yield Check("the whole price pays for the choice", whole, str(guarantee))
        needed = required_range(recipe)
        enough = selection.range >= needed * (1 - 1e-12)
        yield Check("the range paid for is enough", enough, f"{selection.range:.6g}, needed {needed:.6g}")
    if recipe.votes is not None:
        yield rule_check(recipe)


def _inner(values: dict[str, Any]) -> dict[str, Any]:
    """The selection inside a report, or inside a selection with bought bounds."""
    found: dict[str, Any] = values.get("selection", values)
    return found


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
