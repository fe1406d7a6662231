import numpy as np
import pytest

from dpselect.errors import AssumptionError
from dpselect.rehearse.simulate.settings import FIRST, HELD_OUT, Setting, draw


def test_the_paper_s_first_study_is_what_section_5_says():
    X, y = draw(FIRST.with_rows(200_000), np.random.SeedSequence(1))
    assert X.shape == (200_000, 6)
    assert np.abs(X).max() <= 1
    # Uniform on [-1,1]: variance 1/3; residuals standard normal. False alarms of about 1e-6 each.
    assert X.var(axis=0) == pytest.approx(np.full(6, 1 / 3), abs=0.004)
    residual = y - X @ [1, 1, 1, 0, 0, 0]
    assert residual.mean() == pytest.approx(0, abs=0.012)
    assert residual.var() == pytest.approx(1, abs=0.017)
    assert (FIRST.truth, FIRST.norm, FIRST.width) == (0b111, 3, 6)


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.7])
def test_columns_have_the_stated_correlation(shared):
    X, _ = draw(Setting("s", 100_000, (1, 1), shared=shared), np.random.SeedSequence(2))
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(shared**2 / (shared**2 + (1 - shared) ** 2), abs=0.02)
    assert np.abs(X).max() <= 1


def test_binary_columns_and_heavy_tails():
    X, y = draw(Setting("b", 20_000, (0.0,), columns="binary", noise="t2", empty=True), np.random.SeedSequence(3))
    assert set(np.unique(X)) == {-1, 1}
    assert np.abs(y).max() > 20  # a normal would not reach 6


def test_held_out_settings_cover_what_was_asked():
    assert len(HELD_OUT) == 12
    rows, widths = [s.rows for s, _ in HELD_OUT], [s.width for s, _ in HELD_OUT]
    assert (min(rows), max(rows), min(widths), max(widths)) == (300, 10_000, 4, 10)


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
    with pytest.raises(AssumptionError, match=message):
        Setting(**({"name": "s", "rows": 10, "effects": (1.0,)} | arguments))
