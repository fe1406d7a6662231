"""A public report and a confidential page made from artificial rows, for every test of the pages."""

from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.fit import FitSummary
from dpselect.gather.rows import gather
from dpselect.rehearse.check.listed import Listed
from dpselect.rehearse.check.preview import preview
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.drawn import Term
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.confidential import confidential_page
from dpselect.report.page import report_page
from dpselect.use.analyze import analyze
from dpselect.use.select import select

STUDY_STATED = Study(
    Numeric("income", 0, 100),
    [
        Numeric("age", 18, 90),
        Numeric("years_of_schooling_and_training", 0, 25),
        Categorical("region", ["north & west", "<south>", 'the "east"']),
    ],
)


@pytest.fixture(scope="session")
def table():
    rng = np.random.default_rng(6)
    rows = 3000
    age, school = rng.uniform(15, 95, rows), rng.uniform(0, 25, rows)
    income = 10 + 0.4 * age + 1.2 * school + rng.normal(0, 8, rows)
    region = rng.choice(["north & west", "<south>", 'the "east"'], rows)
    return pa.table({"age": age, "years_of_schooling_and_training": school, "region": region, "income": income})


@pytest.fixture(scope="session")
def document(table):
    selection = select(table, STUDY_STATED, epsilon=5, ledger=Ledger(epsilon=10, delta="1e-5"), data="artificial")
    return AnalysisRecord(
        title="What explains income <in> 2026 & after?", made="2026-11-15", selection=selection, coefficients=None
    )


@pytest.fixture(scope="session")
def estimated(table):
    """A document with coefficients."""
    result = analyze(
        table, STUDY_STATED, epsilon=8, delta="1e-6", ledger=Ledger(epsilon=10, delta="1e-5"), data="artificial"
    )
    return AnalysisRecord(title="", made="2026-11-15", selection=result.selection, coefficients=result.coefficients)


def term(name, value, half, wide=None):
    """A term with an interval of this half length; without a value where noise hides it."""
    wide = 2 * half if wide is None else wide
    ends = [value + side for side in (-half, half, -wide, wide)]
    return Term(name, value, half / 2, *ends, 0.5, half)


@pytest.fixture(scope="session")
def crafted(estimated, document):
    """A report whose numbers are written down by hand: one clear, one in small units, one wild."""
    coefficients = replace(
        estimated.coefficients,
        columns=(0, 1, 2, 3, 4),
        terms=(
            term("intercept", 9.7, 2.0),
            term("age", 0.41234, 0.0311),
            term("years_of_schooling_and_training", 1.18, 0.1),
            term("region[<south>]", -0.2, 900.0),
            term('region[the "east"]', 1.5, 0.61),
        ),
    )
    selection = replace(estimated.selection, columns=(0, 1, 2, 3, 4), variables=coefficients.variables)
    return replace(document, selection=selection, coefficients=coefficients)


@pytest.fixture(scope="session")
def public_page(crafted):
    return report_page(crafted)


@pytest.fixture(scope="session")
def private_page(table):
    moments = gather(table, STUDY_STATED)
    fit = gather(table, STUDY_STATED, FitSummary(STUDY_STATED))
    recipes = partial(make_recipe, STUDY_STATED, Choice("pcls"), rows=moments.n)
    listed = Listed(moments, lambda epsilon: recipes(epsilon=epsilon), Decimal(1))
    seen = preview(listed, Decimal(1), asked=[3])
    return confidential_page(STUDY_STATED, fit, seen)
