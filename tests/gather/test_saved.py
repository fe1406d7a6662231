import json
import stat

import numpy as np
import pytest

from dpselect.assume.records import sha256_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.saved import load_moments, save_moments

STUDY = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
OTHER = Study(Numeric("y", -1, 1), [Numeric("a", -2, 1)])


def site(seed: int):
    values = np.random.default_rng(seed).normal(size=(30, 2))
    return values[:, :1], values[:, 1]


def test_saved_and_loaded_moments_are_the_same(tmp_path):
    moments = gather(site(1), STUDY)
    save_moments(moments, tmp_path / "a.moments")
    loaded = load_moments(tmp_path / "a.moments", STUDY)
    assert (loaded.integers(), loaded.columns, loaded.study) == (moments.integers(), moments.columns, STUDY.hash)


def test_sites_pool_theirs_by_file(tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        save_moments(gather(site(seed), STUDY), tmp_path / f"{name}.moments")
    (xa, ya), (xb, yb) = site(1), site(2)
    expected = gather((np.vstack([xa, xb]), np.append(ya, yb)), STUDY).integers()
    assert gather(str(tmp_path / "*.moments"), STUDY).integers() == expected
    assert gather(tmp_path, STUDY).integers() == expected
    assert gather([tmp_path / "a.moments", tmp_path / "b.moments"], STUDY).integers() == expected


def test_the_file_says_that_it_is_private_and_only_its_owner_reads_it(tmp_path):
    save_moments(gather(site(1), STUDY), tmp_path / "a.moments")
    save_moments(gather(site(1), STUDY), tmp_path / "a.moments")  # over the old one
    assert "PRIVATE" in (tmp_path / "a.moments").read_text()[:200]
    assert stat.S_IMODE((tmp_path / "a.moments").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a.moments"]


def test_other_assumptions_are_refused(tmp_path):
    save_moments(gather(site(1), STUDY), tmp_path / "a.moments")
    for read in (load_moments, gather):
        with pytest.raises(DataError, match="under other assumptions"):
            read(tmp_path / "a.moments", OTHER)


WRONG = [
    lambda v: {**v, "format": "something"},
    lambda v: {**v, "n": 1.5},
    lambda v: {**v, "n": 3},
    lambda v: {**v, "n": -1},
    lambda v: {**v, "products": v["products"][:2]},
    lambda v: {**v, "products": [[0, 0], [0]]},
    lambda v: {**v, "products": [[1.0] * 3] * 3},
    lambda v: {**v, "products": [[0, 1, 0], [0, 0, 0], [0, 0, 0]]},
    lambda v: {**v, "products": [[*v["products"][0][:-1], float(v["products"][0][-1])], *v["products"][1:]]},
    lambda v: {**v, "products": 7},
    lambda v: {**v, "columns": None},
    lambda v: {name: value for name, value in v.items() if name != "study"},
    lambda v: {**v, "columns": [["a"]]},
]
BROKEN = [
    lambda v: {name: value for name, value in v.items() if name != "checksum"},
    lambda v: {**v, "gatherings": ["another"]},
    lambda v: {**v, "warning": float("inf")},
    lambda v: [],
]


@pytest.mark.parametrize("change", [*WRONG, *BROKEN], ids=range(len(WRONG) + len(BROKEN)))
def test_damaged_files_are_refused_without_a_number_from_them(tmp_path, change):
    refused(tmp_path / "a.moments", change)


@pytest.mark.parametrize("change", WRONG, ids=range(len(WRONG)))
def test_a_checksum_that_was_made_anew_saves_no_wrong_file(tmp_path, change):
    def sealed(values):
        values = {name: value for name, value in change(values).items() if name != "checksum"}
        return {**values, "checksum": sha256_of(values)}

    refused(tmp_path / "a.moments", sealed)


def refused(path, change):
    save_moments(gather(site(1), STUDY), path)
    secret = json.loads(path.read_text())["products"][1][2]
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(DataError, match=r"damaged|no table has") as caught:
        load_moments(path, STUDY)
    assert str(secret) not in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(DataError, match="There is no file"):
        gather(tmp_path / "none.moments", STUDY)
    with pytest.raises(DataError, match="cannot be read: No such file"):
        load_moments(tmp_path / "none.moments", STUDY)
    with pytest.raises(DataError, match="cannot be written"):
        save_moments(gather(site(1), STUDY), tmp_path / "no" / "a.moments")
    (tmp_path / "cut.moments").write_text('{"format": ')
    with pytest.raises(DataError, match="not a file of moments"):
        load_moments(tmp_path / "cut.moments", STUDY)
    (tmp_path / "cut.moments").write_text("[" * 100_000)
    with pytest.raises(DataError, match="not a file of moments"):
        load_moments(tmp_path / "cut.moments", STUDY)
