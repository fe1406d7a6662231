"""Releases show themselves in notebooks as small tables, escaped and without anything private."""

from html.parser import HTMLParser

import numpy as np
import pytest

import dpselect


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def shown(value):
    parser = Cells()
    parser.feed(value._repr_html_())
    assert parser.open == []
    return parser.text


@pytest.fixture(scope="module")
def analysis():
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (500, 2))
    y = np.clip(X[:, 0] + 0.1 * rng.normal(size=500), -2, 2)
    study = dpselect.Study(
        dpselect.Numeric("a < b", -2, 2), [dpselect.Numeric("x & z", -1, 1), dpselect.Numeric("<script>", -1, 1)]
    )
    return dpselect.analyze((X, y), study, epsilon=8, delta=1e-6, ledger=dpselect.Ledger(epsilon=9, delta=1e-6))


def test_a_selection(analysis):
    cells = shown(analysis.selection)
    assert cells[0] == analysis.selection.formula
    assert str(analysis.selection.guarantee) in cells
    left = analysis.selection.receipt.remaining.epsilon
    assert 0 < left < 9
    assert any(cell.startswith(f"record 1, epsilon={left}") for cell in cells)


def test_coefficients(analysis):
    cells = shown(analysis.coefficients)
    assert cells[0] == analysis.coefficients.formula
    for term in analysis.coefficients.terms:
        assert cells[cells.index(term.name) + 1] == f"{term.value:.5g}"
    assert all(caveat in cells for caveat in analysis.coefficients.caveats)


def test_an_analysis_is_both(analysis):
    assert shown(analysis) == shown(analysis.selection) + shown(analysis.coefficients)


def test_names_are_escaped(analysis):
    assert "<script>" not in analysis._repr_html_()
    assert "a &lt; b" in analysis._repr_html_()
