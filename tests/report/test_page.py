"""Both pages as text: complete, escaped, self-contained, and never mixed."""

import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.form import read_report
from dpselect.report.page import analysis_lines, report_page
from dpselect.report.verify import check_report
from dpselect.use.analyze import analyze
from dpselect.use.select import select

VOID = {"meta", "link", "br", "line", "circle", "polyline", "wbr", "col"}


class Balanced(HTMLParser):
    """Fails on a tag that is closed without being open, or left open."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)


def parsed(page):
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return " ".join(" ".join(parser.text).split())


def test_the_public_page_says_everything(public_page, crafted):
    text = parsed(public_page)
    for needed in (
        "What explains income <in> 2026 & after?",
        "Public report 15 November 2026",
        "income rises with age and",
        "Rows 3,000",
        "Weak Taking part can raise a 10% suspicion about a person to over 99% (ε = 8, δ = 10⁻⁶)",
        "+0.41 per unit",
        "95% interval 0.38 to 0.45",
        "hidden by noise",
        "exp(8)",
        "changed by a factor of 2981 at most",
        "18 to 90",
        'north & west, <south>, the "east" (reference: north & west)',
        "replace-one",
        crafted.coefficients.formula,
        crafted.selection.study.hash,
        crafted.hash,
        "dpselect verify FILE",
        "Not covered",
        "arXiv:1607.04204",
        "Remaining budget: ε = 2",
    ):
        assert needed in text, needed


def test_the_answer_comes_first_and_settings_last(public_page):
    text = parsed(public_page)
    order = ["income rises with", "Privacy Weak", "Estimated effects", "How to read", "Privacy promise", "Public assumptions",
             "Privacy budget", "Verify and cite", "For methodologists", "income ~ 1 + age"]  # fmt: skip
    places = [text.index(each) for each in order]
    assert places == sorted(places)


def test_a_selection_alone_shows_directions_and_no_sizes(document):
    text = parsed(report_page(document))
    assert "▲ up: age" in text and "Effect sizes were not part of this release." in text
    assert "Estimated effects" not in text and "Variance explained" not in text


@pytest.mark.parametrize(("more", "against", "low"), [(0, "all other categories together", "down"), (24, "u", "up")])
def test_the_direction_of_a_category_says_what_it_is_compared_with(more, against, low):
    """v lies above its reference u, and below all others together; only a fit of all columns at once compares with u."""
    rng, rows = np.random.default_rng(1), 20_000
    region = rng.choice(["u", "v", "w"], rows, p=[0.2, 0.2, 0.6])
    table = {f"x{i}": rng.normal(size=rows).clip(-3, 3) for i in range(more + 1)} | {"region": region}
    table["y"] = (table["x0"] + 1.0 * (region == "v") + 3.0 * (region == "w") + rng.normal(size=rows)).clip(-10, 10)
    numbers = [Numeric(name, -3, 3) for name in table if name.startswith("x")]
    study = Study(Numeric("y", -10, 10), [*numbers, Categorical("region", ["u", "v", "w"])])
    found = select(pa.table(table), study, epsilon=3, ledger=Ledger(epsilon=3))
    told = {name: way for name, way in found.directions.items() if name.startswith("region[")}
    (column,) = told
    assert told == {column: {"region[v]": low, "region[w]": "up"}[column]}
    said = f"region: {'higher' if told[column] == 'up' else 'lower'} for {column[7]} than for {against}."
    report = AnalysisRecord(title="", made="", selection=found, coefficients=None)
    assert said in "\n".join(analysis_lines(report)) and said in report_page(report)
    against = "the reference category" if more else against
    assert f"{column} {told[column]} (a category: against {against})" in str(found)


def test_the_arrow_of_a_category_beside_its_effect_is_said_to_be_that_of_its_estimate(crafted, document):
    said = "The arrow of a category is that of its estimate, against the reference category."
    assert said in report_page(crafted) and said not in report_page(document)


def test_a_report_of_nothing_says_what_would_have_been_found(table, estimated):
    few = {name: table[name].to_pylist()[:60] for name in table.column_names}
    found = (analyze(few, estimated.selection.study, epsilon="0.01", delta="1e-9") for _ in range(200))
    nothing = next(each for each in found if not set(each.selection.variables) - {"intercept"})
    text = parsed(report_page(nothing))
    assert "No variable was selected. With 60 rows and ε = 0.01, none could have been found." in text
    assert "0 of 3" in text and "Estimated effects" not in text and "Variance explained" not in text


@pytest.mark.parametrize("which", ["public_page", "private_page"])
def test_a_page_needs_nothing_else(which, request):
    page = request.getfixturevalue(which)
    assert len(page.encode()) < 1_000_000
    addresses = set(re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", page))
    assert addresses <= {"data:,"}
    assert "<script>" not in page
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}


def test_a_page_made_from_a_document_verifies(document):
    page = report_page(document)
    assert read_report(page)[0] == document
    assert all(check.holds for check in check_report(page))


def test_the_private_page_is_marked_and_the_public_one_is_not(public_page, private_page):
    assert parsed(private_page).count("Confidential: do not publish") >= 3
    assert "position: fixed" in private_page
    assert "Confidential" not in public_page
    assert "Public report" not in parsed(private_page)


def test_every_drawing_has_an_alternative_text_and_its_numbers_as_a_table(public_page, private_page):
    for page in (public_page, private_page):
        for drawing in re.findall(r"<svg [^>]*>", page):
            assert 'aria-hidden="true"' in drawing or re.search(r'role="img" aria-label="[^"]{20,}"', drawing)
        assert page.count("<figure>") <= page.count("<table")


def test_a_name_cannot_break_out_of_the_page(public_page):
    assert "<south>" not in public_page
    assert "&lt;south&gt;" in public_page


def test_variables_of_which_the_same_is_stated_share_a_line():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 3))
    study = Study(Numeric("y"), [Numeric("a"), Numeric("b", -9, 9), Numeric("c")])
    page = report_page(analyze((rows, rows @ [1, 1, 0]), study, epsilon=4, delta="1e-6"))
    cells = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td>', page.partition("Public assumptions")[2])[:3]
    names = [re.findall(r"<code>(.*?)</code>", head) for head, _ in cells]
    assert names == [["y"], ["a", "c"], ["b"]]
    assert [said for _, said in cells] == ["a number", "a number", "\N{MINUS SIGN}9 to 9"]
