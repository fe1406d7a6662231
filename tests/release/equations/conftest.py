"""Noisy moments of made-up tables, for the tests beside this file: NumPy's noise, of the law that a release would have."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpselect.assume.lemmas.moments import moment_layout
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.randomize.noisy_moments import NoisyMoments, moment_noise


def a_study(neighbors="replace-one", **kwargs):
    predictors = [
        Numeric("a", -1, 1),
        Numeric("b", -1, 1),
        Categorical("sex", ["f", "m"]),
        Categorical("town", ["x", "y", "z"]),
    ]
    return Study(Numeric("r", -1, 1), predictors, neighbors=neighbors, **kwargs)


TRUTH = np.array([0.1, 0.3, -0.2, 0.15, 0.1, -0.1])


def rows(n, generator):
    a = generator.uniform(-1, 1, n)
    b = 0.6 * a + 0.4 * generator.uniform(-1, 1, n)
    town = generator.integers(0, 3, n)
    design = np.column_stack([np.ones(n), a, b, generator.integers(0, 2, n), town == 1, town == 2]).astype(float)
    return np.column_stack([design, design @ TRUTH + generator.uniform(-0.2, 0.2, n)])


def noisy(n=3000, epsilon=1.0, delta=1e-6, seed=0, study=None, loud=1.0):
    """Noisy moments of all columns, and the exact products in the design's own columns."""
    study = study or a_study()
    generator = np.random.default_rng(seed)
    table = rows(n, generator)
    if study.intercept == "none":
        table = table[:, 1:]
    width = table.shape[1] - 1
    layout = moment_layout(study, range(width))
    noise = moment_noise(layout, epsilon, delta)
    signed = table.copy()
    for place, kind in enumerate(layout.kinds):
        if kind == "sign":
            signed[:, place] = 2 * table[:, place] - 1
    products = signed.T @ signed
    exact = np.array([products[cells[0]] if cells else n for cells in layout.entries])
    known = n if study.neighbors == "replace-one" else None
    empty = NoisyMoments(layout=layout, noise=noise, values=(0,) * len(exact), known_rows=known)
    unit = empty.deviations / noise.deviation
    draw = generator.laplace(0, np.sqrt(0.5), exact.size) if delta == 0 else generator.standard_normal(exact.size)
    values = tuple(int(value) for value in np.round((exact + loud * draw * empty.deviations) / unit))
    return NoisyMoments(layout=layout, noise=noise, values=values, known_rows=known), table.T @ table


@pytest.fixture(scope="session")
def tables():
    return SimpleNamespace(a_study=a_study, noisy=noisy, truth=TRUTH)
