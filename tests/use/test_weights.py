"""A weighted sample from end to end: the population's model is chosen, and report, plan and ledger say what was done."""

import numpy as np
import pandas as pd
import pytest

import dpselect
from dpselect.assume.budget import Budget
from dpselect.assume.recipe import Choice
from dpselect.errors import DataError, StudyError
from dpselect.use.check import Rehearsal

WEIGHTED = {"weights": "w", "weight_limit": 50, "population": 60_000}


def informative(seed=1):
    """x1 is idle in the population and strong in the sample."""
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(60_000, 4))
    y = 0.5 * x[:, 0] - 0.4 * x[:, 2] + chance.normal(size=60_000)
    inclusion = np.where((y > 0) == (x[:, 1] > 0), 0.2, 0.02)
    taken = chance.random(60_000) < inclusion
    return pd.DataFrame(x[taken], columns=["x0", "x1", "x2", "x3"]).assign(y=y[taken], w=1 / inclusion[taken])


def study(**stated):
    return dpselect.Study(dpselect.Numeric("y"), [dpselect.Numeric(f"x{j}") for j in range(4)], **stated)


def test_the_model_of_the_population_is_chosen_where_the_samples_own_is_another():
    frame = informative()
    weighted = [dpselect.select(frame, study(**WEIGHTED), epsilon=1) for _ in range(5)]
    assert {each.variables for each in weighted} == {("intercept", "x0", "x2")}
    assert weighted[0].directions == {"x0": "up", "x2": "down"}
    unweighted = [dpselect.select(frame, study(), epsilon=1) for _ in range(5)]
    assert all("x1" in each.variables for each in unweighted)


def test_a_check_of_rows_in_memory_sees_the_same_thinning():
    """From memory and from the source again, chances are of the weighted model."""
    frame = informative()
    rehearsal = Rehearsal(study(**WEIGHTED), Choice(), Budget("1"), run="select")
    held = rehearsal.hold(frame)
    assert held.moments is None and held.kept is not None and held.kept.whole
    for each in (held, held._replace(kept=None)):
        found = rehearsal.preview(rehearsal.rehearse(frame, rows=len(frame), held=each, dealings=4))
        assert found.models[0] == ("intercept", "x0", "x2") and found.chances[0] > 0.9


def test_a_release_verifies_and_says_how_many_rows_count(tmp_path):
    found = dpselect.select(informative(), study(**WEIGHTED), epsilon=1)
    assert found.recipe.rows == 1_200
    page = dpselect.Analysis(title="", made="", selection=found, coefficients=None).to_html(tmp_path / "report.html")
    assert dpselect.verify(page)
    text = page.read_text()
    assert "w, limit 50; population 60,000; about 1,200 rows are expected to count in each random split" in text


def test_a_plan_counts_the_rows_that_are_expected_to_count():
    weighted = dpselect.plan(study(**WEIGHTED), epsilon=1, choice_only=True)
    plain = dpselect.plan(study(), rows=1_200, epsilon=1, choice_only=True)
    assert weighted.verdict == plain.verdict
    assert "About 1,200 rows are expected to count in each random split" in str(weighted)
    with pytest.raises(StudyError, match="about how many rows"):
        dpselect.plan(study(), epsilon=1)


def test_arrays_take_weights_third_and_not_otherwise():
    frame = informative()
    arrays = frame[["x0", "x1", "x2", "x3"]].to_numpy(), frame.y.to_numpy(), frame.w.to_numpy()
    assert dpselect.select(arrays, study(**WEIGHTED), epsilon=1).variables == ("intercept", "x0", "x2")
    for source, stated in ((arrays, {}), (arrays[:2], WEIGHTED)):
        with pytest.raises(DataError, match="not a table of this study"):
            dpselect.select(source, study(**stated), epsilon=1)
    with pytest.raises(DataError, match="different numbers of rows"):
        dpselect.select((*arrays[:2], arrays[2][1:]), study(**WEIGHTED), epsilon=1)


def test_a_column_of_weights_must_be_numbers_and_there():
    frame = informative()
    with pytest.raises(DataError, match="'w' is not in the table"):
        dpselect.select(frame.drop(columns="w"), study(**WEIGHTED), epsilon=1)
    with pytest.raises(DataError, match="'w' has the type"):
        dpselect.select(frame.assign(w="much").astype({"w": "category"}), study(**WEIGHTED), epsilon=1)


def test_a_cluster_is_dealt_together_and_the_ledger_knows_the_unit(tmp_path):
    """Three columns are constant in a cluster and idle, and the response is alike in it: dealt by cluster none is taken."""
    chance = np.random.default_rng(26)
    cluster = np.repeat(np.arange(500), 20)
    frame = pd.DataFrame(chance.normal(size=(10_000, 1)), columns=["x0"])
    for j in (1, 2, 3):
        frame[f"x{j}"] = chance.normal(size=500)[cluster]
    frame["y"] = 0.4 * frame.x0 + chance.normal(size=10_000) * 0.9 + chance.normal(size=500)[cluster] * 0.45
    frame["psu"], frame["who"] = cluster, np.arange(10_000) % 7
    stated = {"neighbors": "add-remove-one", "rows": 10_000, "cluster": "psu"}
    found = [dpselect.select(frame, study(**stated), epsilon=1).variables for _ in range(5)]
    assert all("x0" in each and len(each) <= 3 for each in found)
    ledger = dpselect.Ledger(tmp_path / "budget.db", epsilon=3)
    dpselect.select(frame, study(**stated, person="who"), epsilon=1, ledger=ledger)
    assert ledger.entries()[0].unit == "person:who within psu"
    with pytest.raises(DataError, match="Arrays have no column of clusters 'psu'"):
        dpselect.select((frame[["x0", "x1", "x2", "x3"]].to_numpy(), frame.y.to_numpy()), study(**stated), epsilon=1)


def bounded(**stated):
    return dpselect.Study(dpselect.Numeric("y", -6, 6), [dpselect.Numeric(f"x{j}", -5, 5) for j in range(4)], **stated)


def test_weighted_coefficients_are_the_populations(tmp_path):
    """True slopes are .5 and -.4; without weights they would be far off, for the sample was drawn by the response."""
    frame = informative(2)
    found = dpselect.analyze(frame, bounded(**WEIGHTED), epsilon=4, delta=1e-6)
    told = {each["term"]: each for each in found.coefficients.tidy()}
    sure = {
        each["term"]: each for each in found.coefficients.with_intervals(level=0.999).tidy()
    }  # hold both in all but 2 of 1,000 runs
    assert set(told) == {"intercept", "x0", "x2"} and found.coefficients.rows == 1_200
    assert sure["x0"]["conf_low"] < 0.5 < sure["x0"]["conf_high"] and told["x0"]["conf_low"] > 0.2
    assert sure["x2"]["conf_low"] < -0.4 < sure["x2"]["conf_high"] and told["x2"]["conf_high"] < -0.1
    page = found.to_html(tmp_path / "report.html")
    assert dpselect.verify(page) and "Weights above 50 were moved to 50" in page.read_text()
    edited = page.read_text().replace('"rows": 1200,\n      "mu"', '"rows": 1100,\n      "mu"')
    assert edited != page.read_text()
    page.write_text(edited)
    assert not dpselect.verify(page)


def clustered_table(seed, clusters=500, rows=20, alike=0.3):
    """x0 is constant in a cluster, x1 varies within; responses of a cluster are alike."""
    chance = np.random.default_rng(seed)
    psu, n = np.repeat(np.arange(clusters), rows), clusters * rows
    x0, x1 = chance.normal(size=clusters)[psu], chance.normal(size=n)
    error = np.sqrt(alike) * chance.normal(size=clusters)[psu] + np.sqrt(1 - alike) * chance.normal(size=n)
    return pd.DataFrame({"x0": x0, "x1": x1, "y": 0.3 * x0 + 0.3 * x1 + error, "psu": psu})


def test_intervals_allow_for_clusters(tmp_path):
    """Without privacy the interval of x0 is 2.6 times as long as one that takes rows for independent (deff 1 + 19 * .3 = 6.7).

    Medians of five draws: of one in 25 a length is out of these limits, of one in 1,500 three of five are.
    """
    frame = clustered_table(1)
    variables = [dpselect.Numeric("x0"), dpselect.Numeric("x1")]
    lengths = {}
    for cluster in (None, "psu"):
        study = dpselect.Study(
            dpselect.Numeric("y"), variables, cluster=cluster, neighbors="add-remove-one", rows=len(frame)
        )
        found = [dpselect.analyze(frame, study, epsilon=8, delta=1e-6) for _ in range(5)]
        told = [{each["term"]: each for each in analysis.coefficients.tidy()} for analysis in found]
        for term in ("x0", "x1"):
            lengths[cluster, term] = np.median([each[term]["conf_high"] - each[term]["conf_low"] for each in told])
    assert 1.8 < lengths["psu", "x0"] / lengths[None, "x0"] < 4.5
    assert lengths["psu", "x1"] < 0.95 * lengths["psu", "x0"]
    assert sum(each["x0"]["conf_low"] < 0.3 < each["x0"]["conf_high"] for each in told) >= 4
    page = found[-1].to_html(tmp_path / "report.html")
    assert dpselect.verify(page) and "intervals allow for rows that are alike" in page.read_text()


def test_a_handful_of_clusters_has_no_intervals():
    frame = clustered_table(2, clusters=6, rows=900)
    stated = {"neighbors": "add-remove-one", "rows": len(frame), "cluster": "psu"}
    variables = [dpselect.Numeric("x0"), dpselect.Numeric("x1")]
    found = dpselect.estimate(
        frame, ["x0", "x1"], study=dpselect.Study(dpselect.Numeric("y"), variables, **stated), epsilon=4, delta=1e-6
    )
    assert all(each["conf_low"] in (None, -np.inf) for each in found.tidy())


def test_a_check_says_what_is_wrong_with_weights():
    """Confidential: their sum beside the stated population, a limit that is too low, and weights that stop a run."""
    frame = informative()
    assert not dpselect.check(frame, study(**WEIGHTED)).advice
    told = dpselect.check(frame, study(**WEIGHTED | {"population": 200_000})).advice
    assert len(told) == 1 and "the study states a population of 200,000" in told[0]
    (limit, total) = dpselect.check(frame, study(**WEIGHTED | {"weight_limit": 5})).advice
    assert "Many weights are above the limit" in limit and "add up to" in total
    frame.loc[3, "w"] = -1.0
    stopped = dpselect.check(frame, study(**WEIGHTED), epsilon=1)
    assert stopped.stops and stopped.preview is None and "missing, negative or infinite" in stopped.advice[0]
    assert not dpselect.check(frame, study(**WEIGHTED, missing="zero-row")).stops
    dask = pytest.importorskip("dask.dataframe")
    parts = dask.from_pandas(frame, npartitions=3)
    assert dpselect.check(parts, study(**WEIGHTED)).advice == stopped.advice


def test_a_bad_weight_is_refused_before_an_estimate_is_charged(tmp_path):
    frame = informative()
    frame.loc[frame.index[5], "w"] = np.nan
    bounded = dpselect.Study(dpselect.Numeric("y", -5, 5), [dpselect.Numeric("x0", -4, 4)], **WEIGHTED)
    ledger = dpselect.Ledger(tmp_path / "budget.db", epsilon=5, delta=1e-4)
    with pytest.raises(DataError, match="weights 'w'"):
        dpselect.estimate(frame, ["x0"], study=bounded, epsilon=1, delta=1e-6, ledger=ledger)
    assert not ledger.entries()
