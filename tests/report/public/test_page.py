"""Both pages as text: complete, escaped, self-contained, and never mixed."""

import re
from html.parser import HTMLParser

import pytest

from dpselect.report.public.page import report_page
from dpselect.report.verify.verify import check_report, read_report

VOID = {"meta", "link", "br", "line", "circle", "polyline", "wbr"}


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


def test_the_public_page_says_everything(public_page, document):
    text = parsed(public_page)
    selection = document.selection
    for needed in (
        "What explains income <in> 2026 & after?",
        selection.formula,
        "exp(5)",
        "within a factor of 148",
        "18 to 90",
        'one of north & west, <south>, the "east" (reference north & west)',
        "replace-one",
        selection.receipt.hash,
        selection.study.hash,
        document.hash,
        "dpselect verify report.html",
        "does not cover",
        "arXiv:1607.04204",
        "0.41",
        "epsilon=5, delta=1e-5 left",
    ):
        assert needed in text, needed


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
    assert parsed(private_page).count("ustodian only, not for release") >= 3
    assert "position: fixed" in private_page
    assert "ustodian only" not in public_page
    assert "may be published" not in parsed(private_page)


def test_every_drawing_has_an_alternative_text_and_its_numbers_as_a_table(public_page, private_page):
    for page in (public_page, private_page):
        for drawing in re.findall(r"<svg [^>]*>", page):
            assert 'aria-hidden="true"' in drawing or re.search(r'role="img" aria-label="[^"]{20,}"', drawing)
        assert page.count("<figure>") <= page.count("<table>")


def test_a_name_cannot_break_out_of_the_page(public_page):
    assert "<south>" not in public_page
    assert "&lt;south&gt;" in public_page
