"""A report and a custodian's page made from artificial rows, for every test of the pages."""

from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.rows import gather
from dpselect.rehearse.check.fit import FitSummary
from dpselect.rehearse.check.listed import Listed
from dpselect.rehearse.check.preview import preview
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.ledger.ledger import Ledger
from dpselect.report.custodian.page import custodian_page
from dpselect.report.public.choice_facts import facts_of
from dpselect.report.public.facts import CoefficientFact, EstimateFact, IntervalFact
from dpselect.report.public.page import render_public
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


@pytest.fixture(scope="session")
def facts(document):
    """The facts of the document, with coefficients written down by hand: one wild, one long name."""

    def interval(estimate, half, width):
        ends = [(estimate + side * half) * width for side in (-1, 1, -2, 2)]
        low, high, wide_low, wide_high = ends
        return IntervalFact(
            value=estimate * width, lower=low, upper=high, adjusted_lower=wide_low, adjusted_upper=wide_high
        )

    def fact(name, estimate, half, width):
        effect = None if width is None else interval(estimate, half, width)
        return CoefficientFact(name=name, coefficient=interval(estimate, half, 1.0), effect=effect)

    estimate = EstimateFact(
        coefficients=(
            fact("intercept", 9.7, 2.0, None),
            fact("age", 0.41, 0.03, 72.0),
            fact("years_of_schooling_and_training", 1.18, 0.1, 25.0),
            fact("region[<south>]", -0.2, 900.0, 1.0),
        ),
        one="coefficient",
        many="coefficients",
        level="95%",
        selected=True,
        how="discrete Gaussian noise on the moments",
        residual="What the model leaves unexplained has a standard deviation of about 8.",
        cautions=("Cells beyond a bound were moved to it; intervals do not count what that changed.",),
    )
    return replace(facts_of(document), estimate=estimate)


@pytest.fixture(scope="session")
def public_page(facts):
    return render_public(facts)


@pytest.fixture(scope="session")
def private_page(table):
    moments = gather(table, STUDY_STATED)
    fit = gather(table, STUDY_STATED, FitSummary(STUDY_STATED))
    recipes = partial(make_recipe, STUDY_STATED, Choice("pcls"), rows=moments.n)
    listed = Listed(moments, lambda epsilon: recipes(epsilon=epsilon), Decimal(1))
    seen = preview(listed, Decimal(1), asked=[3])
    return custodian_page(STUDY_STATED, fit, seen)
