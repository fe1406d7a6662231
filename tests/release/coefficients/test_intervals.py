import numpy as np
import pytest

from dpselect.errors import AssumptionError
from dpselect.release.coefficients.intervals import INTERVALS, Intervals, check_kind, check_level


@pytest.mark.parametrize("level", [0.4, 1.0, float("nan")])
def test_levels_that_are_none(level):
    with pytest.raises(AssumptionError, match=r"between 0\.5 and 0\.999"):
        check_level(level)


def test_kinds_that_are_none():
    assert INTERVALS == ("plain", "after-selection")
    with pytest.raises(AssumptionError, match="'plain', 'after-selection'"):
        check_kind("bootstrap")


@pytest.mark.parametrize("number", [np.float16(0.9), np.float32(0.9), np.float64(0.9)])
def test_a_level_is_kept_as_what_json_can_write(number):
    assert type(Intervals(number).level) is float
