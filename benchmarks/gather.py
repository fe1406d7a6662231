"""Exact moments against inexact ones: the same Parquet files, read and added up by several programs, as ratios in one run.

python -m benchmarks.gather [--quick]      quick: a tenth of the rows, under a minute

Each measurement is a fresh process that reads the file twice and times the second time, by the clock and by processor time (of
all threads); the programs take turns, and the least of their times counts. BLAS has one thread in all of them: on a busy
machine its idle threads cost more than they bring, and none would be comparable. Memory is the process's peak, Python and its
libraries included.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
BATCH = 65_536
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def names(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_schema(path).names


def write_table(path: Path, rows: int, columns: int) -> None:
    """Normal columns and a response, in row groups of half a million."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(columns)
    slopes, writer = rng.normal(size=columns), None
    for start in range(0, rows, 250_000):
        x = rng.normal(size=(columns, min(250_000, rows - start)))
        content = {f"x{j}": x[j] for j in range(columns)} | {"y": slopes @ x}
        table = pa.table(content)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=500_000)
    assert writer is not None
    writer.close()


def exact(path: Path) -> None:
    """dpselect."""
    from dpselect.assume.study import Study
    from dpselect.assume.variables import Numeric
    from dpselect.gather.rows import gather

    predictors = [Numeric(name, -4, 4) for name in names(path)[:-1]]
    gather(path, Study(Numeric("y", -30, 30), predictors, intercept="none"))


def _stream(path: Path, **options: object) -> None:
    import pyarrow.parquet as pq

    total: object = 0
    with pq.ParquetFile(path, **options) as file:
        for batch in file.iter_batches(BATCH, columns=names(path)):
            matrix = np.column_stack([column.to_numpy() for column in batch.columns])
            total = total + matrix.T @ matrix


def plain(path: Path) -> None:
    """Pyarrow to BLAS, in doubles, with the reader that dpselect uses."""
    _stream(path, pre_buffer=False, buffer_size=1 << 18)


def plain_defaults(path: Path) -> None:
    """Pyarrow to BLAS, in doubles, with pyarrow's own settings."""
    _stream(path)


def duckdb_sums(path: Path) -> None:
    """DuckDB's SQL: a float sum of each product."""
    import duckdb

    every = names(path)
    sums = ", ".join(f"sum({a} * {b})" for i, a in enumerate(every) for b in every[i:])
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        connection.execute(f"SELECT {sums} FROM '{path}'").fetchall()


def from_memory(path: Path) -> None:
    """One pass over so many bytes in memory: their sum."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    _memory(metadata.num_rows * metadata.num_columns).sum()


_held: dict[int, np.ndarray] = {}


def _memory(cells: int) -> np.ndarray:
    if cells not in _held:
        _held[cells] = np.ones(cells)
    return _held[cells]


PROGRAMS = {program.__name__: program for program in (exact, plain, plain_defaults, duckdb_sums, from_memory)}


def peak_megabytes() -> float:
    """The most memory this process has held; on Linux without what its parent held before it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measure_here(program: str, path: Path) -> dict[str, float]:
    """In a process of its own: the second of two runs."""
    PROGRAMS[program](path)
    clock, processor = time.perf_counter(), time.process_time()
    PROGRAMS[program](path)
    return {
        "seconds": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "megabytes": peak_megabytes(),
    }


def measure(programs: list[str], path: Path, turns: int) -> dict[str, dict[str, float]]:
    """The least time of each program, taking turns; the largest memory."""
    found: dict[str, list[dict[str, float]]] = {program: [] for program in programs}
    for _ in range(turns):
        for program in programs:
            command = [sys.executable, "-m", "benchmarks.gather", "--program", program, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
            found[program].append(json.loads(done.stdout))
    return {
        program: {
            "seconds": min(run["seconds"] for run in runs),
            "processor": min(run["processor"] for run in runs),
            "megabytes": max(run["megabytes"] for run in runs),
        }
        for program, runs in found.items()
    }


def show(title: str, found: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}")
    ours = found["exact"]
    for program, values in found.items():
        by_clock, by_processor = values["seconds"] / ours["seconds"], values["processor"] / ours["processor"]
        print(
            f"  {program:<15}{values['seconds']:8.2f} s {values['processor']:8.2f} s processor {values['megabytes']:7.0f} MB"
            f"   {by_clock:5.2f} x exact by the clock, {by_processor:5.2f} x by processor"
        )


def main(*, quick: bool) -> None:
    million, turns = (100_000, 2) if quick else (1_000_000, 5)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows, columns in [(10 * million, 13), (million, 50)]:
            path = Path(folder) / f"{rows}x{columns}.parquet"
            write_table(path, rows, columns)
            results[path.stem] = measure(list(PROGRAMS), path, turns)
            show(f"{rows:,} rows of {columns} columns and a response", results[path.stem])
            path.unlink()
        grown = [(rows * million, 13) for rows in (1, 2, 4)] + [(million, columns) for columns in (5, 25, 100)]
        print("\ngrowth of exact")
        for rows, columns in grown:
            path = Path(folder) / f"{rows}x{columns}.parquet"
            write_table(path, rows, columns)
            results[path.stem] = measure(["exact"], path, 1 if quick else 2)
            one = results[path.stem]["exact"]
            cells = rows * (columns + 1)
            print(
                f"  {rows:>10,} x {columns:<4} {one['seconds']:7.3f} s {one['processor'] / cells * 1e9:6.2f} ns a cell "
                f"(processor) {one['megabytes']:6.0f} MB"
            )
            path.unlink()
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / ("gather-quick.json" if quick else "gather.json")).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gather")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--program", nargs=2, metavar=("NAME", "PATH"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.program:
        print(json.dumps(measure_here(asked.program[0], Path(asked.program[1]))))
    else:
        main(quick=asked.quick)
