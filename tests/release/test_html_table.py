"""Releases show themselves in notebooks as the table of effects with its figure, escaped and without anything private."""

from html.parser import HTMLParser

import numpy as np
import pytest

import dpselect
from dpselect.report.table import estimate_table


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("col", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def shown(value):
    parser = Cells()
    parser.feed(value._repr_html_())
    assert parser.open == []
    return " ".join("".join(parser.text).split())


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
    text = shown(analysis.selection)
    assert "a < b rises with x & z." in text and "up: x & z" in text
    assert "Rows: 500." in text and "Privacy: " in text


def test_coefficients(analysis):
    text = shown(analysis.coefficients)
    assert analysis.coefficients.formula in text
    for row in estimate_table(analysis.coefficients).effects:
        assert row.label in text and row.effect in text and row.interval in text
    assert analysis.coefficients._repr_html_().count("<svg") > len(analysis.coefficients.terms) - 1


def test_an_analysis(analysis):
    text = shown(analysis)
    assert text.index("rises with") < text.index("95% interval") < text.index("Privacy: weak (ε = 8, δ = 10⁻⁶)")


def test_names_are_escaped(analysis):
    assert "<script>" not in analysis._repr_html_()
    assert "a &lt; b" in analysis._repr_html_()
