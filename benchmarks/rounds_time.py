"""What the passes of an estimate by rounds cost over a Parquet file, as multiples of gathering its moments; one run.

python -m benchmarks.rounds_time [--rows 10000000] [--columns 12]

Each ask of a whole path is gathered once, its answers with the noise of a release; moments are gathered before it and after it, and
the faster of the two is the unit. The clock and the processor time of all threads are told.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gather import names, write_table
from benchmarks.timing import in_words, table
from dpselect.assume.queries import Histograms, RoundsPlan
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.randomize.rounds_noise import add_noise, whole_mu
from dpselect.release.rounds.path import path


def timed(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock and of all threads, and what was made."""
    clock, processor = time.perf_counter(), time.process_time()
    made = run()
    return time.perf_counter() - clock, time.process_time() - processor, made


def main() -> None:
    """Write the file, gather, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=12)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        write_table(file, asked.rows, asked.columns)
        *predictors, response = names(file)
        study = Study(Numeric(response, -30, 30), [Numeric(each, -4, 4) for each in predictors])
        moments = [timed(lambda: gather(file, study, MomentSummary(study)))]
        places = tuple(range(len(study.columns)))
        plan = RoundsPlan(study=study, columns=places, family="gaussian", rows=asked.rows, mu=whole_mu(0.65, 1e-6))
        walk, lines = path(plan), []
        try:
            ask = next(walk)
            while True:
                queries = [query for query, _ in ask]
                clock, processor, sums = timed(
                    lambda queries=queries: gather(file, study, RoundSummary(study, queries))
                )
                kinds = ", ".join(type(query).__name__.lower() for query in queries)
                if isinstance(queries[0], Histograms):
                    kinds += f" ({max(len(edges) for edges in queries[0].edges) + 1} bins)"
                lines.append((kinds, clock, processor))
                pairs = zip(ask, sums, strict=True)
                ask = walk.send(tuple(add_noise(query, own, study, mu).noisy() for (query, mu), own in pairs))
        except StopIteration:
            pass
        moments.append(timed(lambda: gather(file, study, MomentSummary(study))))
    clock, processor = (min(each[k] for each in moments) for k in range(2))
    rows = [("moments alone", in_words(clock), in_words(processor))]
    rows += [(kinds, f"{own / clock:.2f}", f"{all_threads / processor:.2f}") for kinds, own, all_threads in lines]
    table(f"{asked.rows:,} rows x {asked.columns + 1}, Parquet", ("a pass", "by the clock", "processor time"), rows)


if __name__ == "__main__":
    main()
