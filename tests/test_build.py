"""The extensions' build: clean under the sanitizers, and not needed for an install."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LATTICE = ROOT / "src/dpselect/minimize/losses/kernel/lattice.c"
TERMS = ROOT / "src/dpselect/minimize/losses/kernel/terms.c"
GRID = ROOT / "src/dpselect/gather/_grid.c"
BLOCKS = ROOT / "src/dpselect/gather/_blocks.c"
ROUNDS = ROOT / "src/dpselect/gather/_rounds.c"
VOTES = ROOT / "src/dpselect/minimize/votes/_votes.c"
COMPILER = shutil.which("gcc") or shutil.which("clang")

DRIVE_LATTICE = """
import importlib.util, sys
import numpy as np
from dpselect.minimize.losses import lattice_compiled
spec = importlib.util.spec_from_file_location("_lattice", sys.argv[1])
lattice_compiled._lattice = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lattice_compiled._lattice)
rng = np.random.default_rng(0)
for d in (0, 1, 2, 3, 7, 10):
    x = rng.uniform(-1, 1, (30, d + 1))
    x[:, d // 2] = x[:, d // 3]
    for products in (x.T @ x, 0 * x.T @ x, 1e300 * (x.T @ x), np.full((d + 1, d + 1), np.nan)):
        for plain in (False, True):
            for radius in (0.0, 0.3, 1e3, 1e200):
                for size in (None, 0, 2):
                    lattice_compiled.solve_lattice(products, radius, 2.0**-53, max_size=size, plain=plain)
            tables = np.stack([products] * 5)
            lattice_compiled.solve_batch(tables, np.array([0.0, 0.5, 9.0]), 2.0**-53, threads=2, plain=plain)
for d, size in ((33, 2), (63, 1), (40, 2)):
    x = rng.uniform(-1, 1, (20, d + 1))
    lattice_compiled.solve_lattice(x.T @ x, 1.0, 2.0**-53, max_size=size, threads=2)
def words(*numbers):
    return np.array(numbers, np.uint64)
def run(wrong, low=3):
    arrays = [np.eye(4), np.ones(1), np.zeros(8), np.zeros(8, np.float32), words(), np.ones(4),
              words(), words(0, 0, 0, 0), words(0, 0, 0, 0), words(), words(0), words(0, 0)]
    for place, array in wrong.items():
        arrays[place] = array
    return lattice_compiled._lattice.run(tuple(arrays), 3, low, 3, 32, 8.0, 1e-12, 1.0, 1, False)
assert run({}) and not run({11: words(1, 1)})
for wrong in ({0: np.zeros(3)}, {2: np.zeros(3)}, {3: np.zeros(9, np.float32)}, {4: words(0)}, {5: np.zeros(1)}, {7: words(0, 0)},
              {8: words(0)}, {9: words(0)}, {10: words(1)}, {10: words(0, 0)}, {11: words(0)}):
    try:
        run(wrong)
    except ValueError:
        continue
    raise SystemExit(f"arrays that do not fit were taken: {wrong}")
try:
    run({}, low=2)
except ValueError:
    pass
else:
    raise SystemExit("blocks without starts were taken")
print("clean")
"""

DRIVE_TERMS = """
import importlib.util, sys
import numpy as np
from dpselect.assume.candidates import SubsetRule
from dpselect.minimize.losses import terms
spec = importlib.util.spec_from_file_location("_terms", sys.argv[1])
terms._terms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(terms._terms)
rng = np.random.default_rng(0)
for d, rule in (
    (1, SubsetRule(1, (), 1)), (5, SubsetRule(5, (0b10, 0b11100), 1)), (9, SubsetRule(9, (0b11, 0b11100, 0b111100000), empty=True)),
    (10, SubsetRule(10, (0b110, 0b1, 0b1111000), 0b1110000000, 4)), (63, SubsetRule(63, (2**40 - 1, 2**62 - 2**40), 2**62)),
):
    x = rng.uniform(-1, 1, (30, d + 1))
    x[:, d // 2] = x[:, d // 3]
    for products in (x.T @ x, 0 * x.T @ x, 1e300 * (x.T @ x), np.full((d + 1, d + 1), np.nan)):
        for radius in (0.0, 0.3, 1e3, 1e200):
            terms.term_losses(products, rule, radius)
def words(*numbers):
    return np.array(numbers, np.uint64)
def run(wrong, width=3, end=4):
    arrays = [np.eye(4), np.ones(4), words(1, 2, 4), np.zeros(4), np.zeros(4, np.float32), *np.zeros((3, 4), np.uint64)]
    for place, array in wrong.items():
        arrays[place] = array
    terms._terms.run(tuple(arrays), width, 3, 1.0, 8.0, 1e-12, 1.0, 0, end)
run({})
for wrong in ({0: np.zeros(3)}, {1: np.zeros(3)}, {2: words(1, 2, 8)}, {2: words(1, 2)}, {2: words()}, {3: np.zeros(3)},
              {4: np.zeros(5, np.float32)}, {5: words(0)}, {6: words(0)}, {7: words(0)}):
    try:
        run(wrong)
    except ValueError:
        continue
    raise SystemExit(f"arrays that do not fit were taken: {wrong}")
for more in ({"width": 64}, {"width": -1}, {"end": 5}):
    try:
        run({}, **more)
    except ValueError:
        continue
    raise SystemExit(f"numbers that do not fit were taken: {more}")
print("clean")
"""

DRIVE_GRID = """
import importlib.util, sys
import numpy as np
spec = importlib.util.spec_from_file_location("_grid", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
np.seterr(over="ignore")
values = np.concatenate([np.random.default_rng(0).normal(size=1500), [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324]])
pairs = np.stack([values, values], axis=1)
bytes_apart = np.frombuffer(b"x" + values.tobytes(), np.uint8)[1:].view(np.float64)  # not aligned
for columns in ((values,), (pairs[:, 0], values[::-1]), (bytes_apart, pairs[::-1, 1], values), ()):
    for start in (0, 1, 700, values.size):
        for stop in (start, (start + values.size) // 2, values.size):
            out = np.empty((len(columns), 2000))[:, : stop - start]
            finite = module.put_rows(columns, start, stop, np.zeros(len(columns)), np.full(len(columns), 2e5), 2.0**20, out)
            parts = [column[start:stop] for column in columns]
            assert finite == all(np.isfinite(part).all() for part in parts)
            for row, part in zip(out, parts):
                usual = np.isfinite(part)
                assert (row[usual] == np.clip(np.floor(part[usual] * 2e5 + 0.5), -(2.0**20), 2.0**20)).all()
for wrong in ((1,), (values, 0, 1), ((1.0,), 0, 1, np.ones(1), np.ones(1), 1.0, np.ones((1, 1))),
              ((values,), 0, 2000, np.ones(1), np.ones(1), 1.0, np.ones((1, 2000)))):
    try:
        module.put_rows(*wrong)
    except (TypeError, ValueError):
        continue
    raise SystemExit(f"arguments that do not fit were taken: {wrong}")
print("clean")
"""

DRIVE_BLOCKS = """
import importlib.util, sys
import numpy as np
from dpselect.gather import block_numpy
from dpselect.gather.blocks import count_numbers
spec = importlib.util.spec_from_file_location("_blocks", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
rng = np.random.default_rng(0)
for width in (1, 2, 3, 4, 5, 9, 17):
    whole_numbers, numbers = (count_numbers(width + 1, cubes) for cubes in (2, 1))
    for blocks, rows in ((1, 0), (1, 1), (1, 5000), (7, 40), (90, 33), (3, 200)):
        ids = rng.integers(0, blocks, rows).astype(np.uint32)
        starts, order = np.empty(blocks + 1, np.uint32), np.empty(rows, np.uint32)
        module.sort_rows(ids, starts, order)
        work = rng.integers(-(2**20), 2**20 + 1, (width + 2, rows)).astype(float)
        lines = rng.permutation(width + 2)[:width]
        whole, doubles = np.empty((rows, width), np.int32), np.empty((rows, width))
        module.take_rows(work, lines, whole)
        module.take_rows(work[:, :rows], lines, doubles)
        assert (whole == work[lines].T).all() and (doubles == whole).all()
        doubles *= 10.0 ** rng.integers(-60, 60, doubles.shape)
        tables = [[np.zeros((blocks, whole_numbers), np.int64), np.full((blocks, numbers), -20, np.int8),
                   np.zeros((blocks, 3, numbers))] for _ in range(2)]
        for twin, (table, tops, slices) in zip((module, block_numpy), tables):
            for first, last in ((0, blocks // 2), (blocks // 2, blocks)):
                twin.add_whole(whole, order, starts, table, first, last)
                twin.add_binned(doubles, order, starts, tops, slices, first, last)
        assert all((left == right).all() for left, right in zip(*tables))
rows, order, starts = np.zeros((4, 2)), np.arange(4, dtype=np.uint32), np.array([0, 4], np.uint32)
tops, slices = np.full((1, 8), -20, np.int8), np.zeros((1, 3, 8))
module.add_binned(rows, order, starts, tops, slices, 0, 1)
for wrong in ((rows, order, starts, tops + np.int8(40), slices, 0, 1), (rows, order, starts, tops, slices[:, :2].copy(), 0, 1),
              (rows.astype(np.int32), order, starts, tops, slices, 0, 1), (rows, order[::-1], starts, tops, slices, 0, 1),
              (rows, order + np.uint32(1), starts, tops, slices, 0, 1), (rows, order, starts, tops, slices, 1, 0)):
    try:
        module.add_binned(*wrong)
    except (TypeError, ValueError, BufferError):
        continue
    raise SystemExit("arrays that do not fit were taken")
print("clean")
"""

DRIVE_ROUNDS = """
import importlib.util, sys
import numpy as np
spec = importlib.util.spec_from_file_location("_rounds", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
rng = np.random.default_rng(0)
tables = np.linspace(0.0, 1.0, 8193), np.linspace(1.0, 2.0, 8193)
edges, starts = np.array([*np.arange(9.0), np.nan, 1.0, np.nan]), np.array([0, 10, 12])
for width in (1, 2, 3, 4, 5, 9, 17):
    for rows in (0, 1, 127, 128, 129, 700):
        lines = rng.normal(size=(width + 2, rows)) * 3
        odd = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324], lines.shape)
        strange = np.where(rng.random(lines.shape) < 0.3, odd, lines)
        matrix, center, cuts = rng.integers(-9, 9, (width, width)) * 1.0, np.ones(width), np.array([0.0, 1.0, 2.0])
        shares, places = rng.integers(0, 2**20, rows) * 2.0**-20, rng.permutation(width + 2)
        for own, family in ((lines, (None, None, None)), (strange, (None, None, None)), (strange, (lines[0].copy(), *tables))):
            answers = []
            for lanes in (8, 4, 2):
                asked = ((0, matrix, center, 1.0, 1e5, False, 2.0, 0.5, (width + 1) ** 2),
                         (1, matrix, center, 1.0, 1e5, True, -1.0, 0.0, width),
                         (2, matrix, center, 2.0, 1e5, False, -1.0, 0.0, width**2),
                         (3, matrix, center, 0.0, 1.0, False, -1.0, 0.0, 6),
                         (3, matrix, center, 0.0, 1.0, False, -1.0, 0.0, 3),
                         (0, matrix, None, 1.0, 1e5, False, -1.0, 0.0, width**2))
                sums = [np.zeros(each[-1], np.int64) for each in asked]
                asked = tuple((*each[:-1], cuts, each[0] == 3 and each[-1] == 6, total) for each, total in zip(asked, sums))
                module.add_sums(own, places[:width], np.zeros(width), np.full(width, 4096.0), True, family[0], shares,
                                *family[1:], asked, lanes)
                counts = np.zeros(12, np.int64)
                for weights in (None, shares * 2.0**20):
                    module.add_bins(own, places[:2], edges, starts, np.zeros(2), np.array([1.0, 0.0]), weights, counts, lanes)
                answers.append([each.tolist() for each in (*sums, counts)])
            assert own is strange or answers[0] == answers[1] == answers[2]
for wrong in ((1,), (lines, places[:2], np.zeros(2), np.ones(2), True, None, None, None, None, ((),), 8),
              (lines, places[:2] + 99, np.zeros(2), np.ones(2), True, None, None, None, None, (), 8),
              (lines, places[:2], np.zeros(2), np.ones(2), True, None, None, None, None, (1,), 8)):
    try:
        module.add_sums(*wrong)
    except (TypeError, ValueError):
        continue
    raise SystemExit(f"arguments that do not fit were taken: {wrong}")
print("clean")
"""

DRIVE_VOTES = """
import importlib.util, sys
import numpy as np
from dpselect.gather.blocks import lanes_of
from dpselect.minimize.votes.votes_numpy import Fitting, lane_votes
spec = importlib.util.spec_from_file_location("_votes", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
rng = np.random.default_rng(0)
for columns in (0, 1, 2, 5, 12):
    width = columns + 2
    upper = np.triu_indices(width)
    for blocks in (1, 3, 4, 9):
        z = np.round(rng.uniform(-1, 1, (blocks, 30, width)) * 2**20).astype(np.int64)
        z[:, :, 0] = 1
        products = (z.transpose(0, 2, 1) @ z)[:, upper[0], upper[1]]
        cubes = rng.integers(-(2**40), 2**40, (blocks, 2 * (width - 1)))
        whole = np.ascontiguousarray(np.concatenate([products, cubes], axis=1))
        strange = whole.copy()
        strange[0, 1:] = np.iinfo(np.int64).max
        bins = np.zeros((blocks, 3, products.shape[1] + width - 1))
        bins[:, 0] = whole[:, : bins.shape[2]]
        odd = bins.copy()
        odd[-1, :, 1:] = np.nan
        for sums in (whole, strange, bins, odd, -whole, 0 * whole):
            for how in (Fitting(True, False, 2.0**-44, 0.0), Fitting(True, True, 2.0**-44, 0.1),
                        Fitting(False, False, 0.0, 0.0)):
                votes = np.empty((blocks, columns + how.with_intercept), np.int8)
                module.votes_of(sums, votes, width, *how)
                assert (votes == lane_votes(*lanes_of(sums, width), width, how)).all()
for wrong in ((np.zeros((2, 9), np.int64), 3), (np.zeros((2, 10)), 3), (np.zeros((2, 2, 8)), 3), (np.zeros((3, 10), np.int64), 3),
              (np.zeros((2, 10), np.int64), 1)):
    try:
        module.votes_of(wrong[0], np.empty((2, 1), np.int8), wrong[1], True, False, 0.0, 0.0)
    except ValueError:
        continue
    raise SystemExit("arrays that do not fit were taken")
print("clean")
"""


SOURCES = [LATTICE, TERMS, GRID, BLOCKS, ROUNDS, VOTES]
DRIVES = [DRIVE_LATTICE, DRIVE_TERMS, DRIVE_GRID, DRIVE_BLOCKS, DRIVE_ROUNDS, DRIVE_VOTES]
SCRIPTS = list(zip(SOURCES, DRIVES, strict=True))
NAMES = ["lattice", "terms", "grid", "blocks", "rounds", "votes"]


def built(source, folder, *flags):
    target = folder / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    command = [COMPILER, "-shared", "-fPIC", *flags, f"-I{include}", str(source), "-o", str(target), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


def run(target, script, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1", **more}
    command = [sys.executable, "-c", script, str(target)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.thorough
@pytest.mark.skipif(not COMPILER, reason="no compiler here, so the sanitizers were not run")
@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are loaded the Linux way")
@pytest.mark.parametrize(("source", "script"), SCRIPTS, ids=NAMES)
def test_sanitizers_find_nothing(tmp_path, source, script):
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-Wno-psabi"]
    target = built(source, tmp_path, *flags)
    found = subprocess.run([COMPILER, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    result = run(target, script, LD_PRELOAD=found.stdout.strip(), ASAN_OPTIONS="detect_leaks=0")
    assert result.stdout.strip() == "clean", result.stderr[-3000:]


@pytest.mark.skipif(not COMPILER, reason="no compiler here")
@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_it_compiles_without_a_warning(source):
    include = sysconfig.get_paths()["include"]
    command = [COMPILER, "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-psabi", f"-I{include}", str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not COMPILER, reason="no compiler here")
@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_it_refuses_a_compiler_that_may_change_roundings(source):
    include = sysconfig.get_paths()["include"]
    command = [COMPILER, "-ffast-math", "-fsyntax-only", f"-I{include}", str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "the NumPy twin serves" in result.stderr


def test_without_a_compiler_the_build_succeeds_and_says_so(tmp_path):
    command = [
        sys.executable,
        "setup.py",
        "build_ext",
        f"--build-lib={tmp_path}",
        f"--build-temp={tmp_path}",
        "--force",
    ]
    result = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "CC": "false"}, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert "failed" in result.stdout + result.stderr
    assert not list(tmp_path.rglob("*.so"))
