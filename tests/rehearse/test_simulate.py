import numpy as np
import pytest

from dpselect.errors import StudyError
from dpselect.rehearse.simulate import Setting, clipped_products, draw, sizes_of


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.7])
def test_columns_have_the_stated_correlation(shared):
    X, _ = draw(Setting("s", 100_000, (1, 1), shared=shared), np.random.SeedSequence(2))
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(shared**2 / (shared**2 + (1 - shared) ** 2), abs=0.02)
    assert np.abs(X).max() <= 1


def test_binary_columns_and_heavy_tails():
    X, y = draw(Setting("b", 20_000, (0.0,), columns="binary", noise="t2", empty=True), np.random.SeedSequence(3))
    assert set(np.unique(X)) == {-1, 1}
    assert np.abs(y).max() > 20  # a normal would not reach 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": 1}, "at least 2"),
        ({"effects": ()}, "1 to 16"),
        ({"effects": (0.0, 0.0)}, "empty=True"),
        ({"deviation": float("nan")}, "deviation"),
        ({"shared": 1.0}, "shared"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(StudyError, match=message):
        Setting(**({"name": "s", "rows": 10, "effects": (1.0,)} | arguments))


def test_products_are_those_of_the_clipped_centred_response():
    X, y = np.array([[1.0], [-0.5]]), np.array([7.0, 2.0])
    assert clipped_products(X, y, 1.0, 5.0).tolist() == [[1.25, 2.5], [2.5, 5.0]]  # responses 2 and -1


def test_sizes_count_the_columns_of_each_mask():
    assert sizes_of(3).tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
    assert Setting("s", 10, (1, 1, 1, 0, 0, 0)).truth == np.flatnonzero(sizes_of(6) == 3)[0]
