"""Standard deviations that an estimate releases along the way: near those of the rows, and absent where noise hides them."""

import numpy as np
import pytest

import dpselect
from dpselect import Categorical, Numeric, Study

STUDY = Study(Numeric("days", 0, 60), [Numeric("age", 0, 100), Categorical("ward", ["a", "b"])])


def rows(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    age = np.clip(rng.normal(50, 18, n), 0, 100)
    return {
        "age": age,
        "ward": rng.choice(["a", "b"], n),
        "days": np.clip(age / 4 + rng.normal(0, 3, n), 0, 60),
    }


@pytest.mark.parametrize("delta", [0, "1e-6"], ids=["noisy moments", "rounds"])
def test_they_are_near_those_of_the_rows(delta):
    table = rows(20_000)
    got = dpselect.estimate(table, ["age", "ward"], study=STUDY, epsilon=3, delta=delta)
    assert got.scales.keys() == {"age"}
    # The widest of 60 runs was 0.5% off for moments and 4% for rounds, whose bins are coarse.
    assert got.scales["age"] == pytest.approx(table["age"].std(), rel=0.08)
    assert dpselect.Estimate.from_json(got.to_json()).scales == got.scales


def test_what_noise_hides_is_not_offered():
    got = dpselect.estimate(rows(40), ["age"], study=STUDY, epsilon="0.05")
    assert got.scales == {}
