"""How well private coefficients predict, with and without what `predict` makes shorter: error over the response's variance.

`python -m benchmarks.rounds_predictions [--rows 1000 2000 3000] [--releases 20]`: the ten studies, cut to so many rows, BIC's model
of those, price (.65, 1e-6); predicted are all rows of the study. Both have the same noise. Numbers are in docs/ESTIMATES.md.
"""

import argparse
from unittest import mock

import numpy as np

from benchmarks.rounds import _design, best_model, classical, mu_of, release, studies
from dpselect.release.rounds import intervals


def main() -> None:
    """A line for each number of rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 2000, 3000, 10000])
    parser.add_argument("--releases", type=int, default=20)
    asked, mu = parser.parse_args(), mu_of(0.65)
    for rows in asked.rows:
        lines = []
        for whole in studies():
            chance = np.random.default_rng(rows)
            errors = []
            for seed in range(asked.releases):
                table = whole.cut(rows, chance)
                table.columns = whole.columns = best_model(table)
                shorter = release(table, mu, np.random.default_rng(seed)).predictive
                with mock.patch.object(intervals, "shrunken", lambda facts, here, end, covariance: end):
                    plain = release(table, mu, np.random.default_rng(seed)).predictive
                design, response = _design(whole)
                least_squares = classical(table)[0]
                ways = (plain, shorter, least_squares)
                errors.append([((response - design @ np.array(way)) ** 2).mean() / response.var() for way in ways])
            lines.append(np.mean(errors, axis=0))
        plain, shorter, least_squares = np.mean(lines, axis=0)
        better = sum(line[1] < line[0] for line in lines)
        print(
            f"{rows:6} rows: {plain:.3f} as they are, {shorter:.3f} made shorter (better in {better} of {len(lines)}), "
            f"{least_squares:.3f} without privacy",
            flush=True,
        )


if __name__ == "__main__":
    main()
