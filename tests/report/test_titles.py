"""Reports speak in labels and units where these are stated, and in names where not."""

import numpy as np
import pyarrow as pa

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.tables import column_titles
from dpselect.report.facts import facts_of
from dpselect.report.page import report_page
from dpselect.use.analyze import analyze

STUDY = Study(
    Numeric("rent", 0, 2000, label="Monthly rent", unit="euro", reason="the register's form"),
    [
        Numeric("size", 0, 150, label="Size of the flat", unit="m²"),
        Categorical("district", ["c", "n"], category_labels=["Centre", "North"], label="District"),
        Categorical("heat", [1, 2], category_labels=["gas", "oil"]),
        Numeric("pets", 0, 3),
    ],
    terms=["size", "district", "heat", "pets", ["size", "district"], ["pets", "heat"]],
)


def test_columns_are_called_by_their_labels():
    assert column_titles(STUDY) == {
        "intercept": "intercept",
        "size": "Size of the flat",
        "district[n]": "District: North",
        "heat[2]": "heat: oil",
        "pets": "pets",
        "size:district[n]": "Size of the flat \N{MULTIPLICATION SIGN} District: North",
        "heat[2]:pets": "heat: oil \N{MULTIPLICATION SIGN} pets",
    }


def test_a_study_without_labels_is_called_by_its_names():
    plain = Study(Numeric("y", 0, 1), [Numeric("a", 0, 1), Categorical("c", ["u", "v"]), Binary("b", [0, 1])])
    assert all(name == title for name, title in column_titles(plain).items())


def test_a_report_speaks_in_labels_and_gives_the_reasons():
    rng = np.random.default_rng(5)
    size = rng.uniform(10, 150, 4000)
    table = pa.table(
        {
            "size": size,
            "rent": 100 + 10 * size + rng.normal(0, 20, 4000),
            "district": rng.choice(["c", "n"], 4000),
            "heat": rng.integers(1, 3, 4000),
            "pets": rng.integers(0, 4, 4000),
        }
    )
    result = analyze(table, STUDY, epsilon=50)
    document = AnalysisRecord(title="", made="2026-11-16", selection=result.selection, coefficients=result.coefficients)
    facts = facts_of(document)
    assert facts.title == "What explains Monthly rent?"
    assert facts.response.statement == "0 to 2000 euro"
    assert "Size of the flat" in facts.summary
    assert facts.predictors[1].statement == "Centre, North (reference: Centre)"
    page = report_page(document)
    assert "the register&#39;s form" in page
    assert "Euro" in page and "per m²" in page
    assert "Monthly rent <code>rent</code>" in page
