"""A selection without a study file: what is proposed, who confirms it, and what must be stated where nobody can."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import dpselect
from dpselect.assume.budget import NEIGHBORS
from dpselect.assume.recipe import KNOWN_METHODS, MECHANISMS
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import DataError, DpselectError, LeftOutWarning, StudyError
from dpselect.gather.sources.schema import ColumnType, read_schema
from dpselect.gather.sources.source import parse_address
from dpselect.release.families import FAMILIES
from dpselect.report.exports import EXPORT_KINDS
from dpselect.use import command_line
from dpselect.use.check import RUNS
from dpselect.use.command_line import dpselect as program
from dpselect.use.init import named_columns
from dpselect.use.proposal import propose, study_for
from dpselect.use.shell import options
from dpselect.use.shell.confirm import _with_categories

SELECT = ["select", "people.csv", "--response", "income", "--epsilon", "1"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    age, school = rng.normal(40, 10, 2000), rng.normal(12, 3, 2000)
    region = rng.choice(["north", "south"], 2000)
    income = 3 * age + 5 * school + rng.normal(0, 10, 2000)
    table = pa.table(
        {
            "person_id": np.arange(2000),
            "income": income,
            "age": age,
            "school": school,
            "region": region,
            "member": rng.random(2000) < 0.5,
        }
    )
    pacsv.write_csv(table, "people.csv")
    pq.write_table(table, "people.parquet")
    return table


def run(capsys, *arguments):
    code = command_line.run(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def predictors(study):
    return {each.name: type(each).__name__ for each in study.predictors}


def test_a_person_confirms_what_a_text_file_looks_like_and_it_becomes_part_of_the_study(place, monkeypatch):
    monkeypatch.setattr("dpselect.use.shell.confirm.on_terminal", lambda: True)
    refused = CliRunner().invoke(program, SELECT, input="n\n", standalone_mode=False)
    assert type(refused.exception).__name__ == "NotConfirmed"
    for words in (
        "types guessed from the first rows",
        "considered  age, school, member",
        "person_id (looks like an identifier",
        "region (text: to include one, list all its categories, a common one first, as in --categories region=",
        "raise a 10% suspicion about a person to 23% at most",
        "of the variance or more would be found with probability 80%",
        "opens people.budget.db with a total of epsilon 1; 0 remains afterwards",
    ):
        assert words in refused.output, refused.output
    accepted = CliRunner().invoke(program, [*SELECT, "-o", "found.json"], input="y\n", standalone_mode=False)
    assert accepted.exit_code == 0
    with open("found.json", encoding="utf-8") as file:
        found = dpselect.Selection.from_json(file.read())
    assert predictors(found.study) == dict.fromkeys(["age", "school", "member"], "Numeric")
    assert found.directions == {"age": "up", "school": "up"}


def test_nobody_confirms_a_text_file_without_a_terminal(place, capsys, tmp_path):
    code, out, err = run(capsys, *SELECT, "--yes")
    assert (
        (code, out) == (2, "") and "does not say what its columns hold" in err and err.endswith("Nothing was spent.\n")
    )
    assert "still open: age, " in err and "add `--yes`" in err
    assert run(capsys, *SELECT)[2] == err  # asked for all of it at once
    assert not list(tmp_path.glob("*.db"))
    code, out, err = run(capsys, *SELECT, "--yes", "--predictors", "age,school", "--categories", "region=north,south")
    assert (code, err) == (0, "") and "income rises with age and school" in out


def test_a_file_with_a_schema_states_its_types(place, capsys):
    code, out, err = run(capsys, "select", "people.parquet", *SELECT[2:], "--yes", "--json")
    assert (code, err) == (0, "")
    study = dpselect.Selection.from_dict(json.loads(out)).study
    assert predictors(study) == {"age": "Numeric", "school": "Numeric", "member": "Binary"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--response", "incom"], "people.csv has no column 'incom'. Did you mean 'income'? Nothing was spent."),
        (["--response", "Age_of_all"], "people.csv has no column 'Age_of_all'. It has 'person_id', 'income',"),
        (["--response", "income", "--predictors", "age,scool"], "Did you mean 'school'?"),
        (["--response", "income", "--predictors", "income"], "cannot be a predictor too"),
        (["--response", "income", "--predictors", ","], "such as age,school"),
        (["--response", "income", "--categories", "region"], "such as region=north,south"),
        (["--response", "region"], "the response 'region' is text. State its two categories"),
        (["--response", "region", "--categories", "region=a,b,c"], "State two, no first: region=no,yes."),
    ],
)
def test_what_cannot_be_considered_is_refused_with_what_to_do(place, capsys, asked, says):
    code, out, err = run(capsys, "select", "people.csv", "--epsilon", "1", *asked, "--yes")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err and err.endswith("Nothing was spent.\n")


def test_a_study_file_and_what_stands_in_its_place_are_not_mixed(place, capsys):
    code, _, err = run(capsys, *SELECT, "--study", "study.toml")
    assert code == 2 and "With a study file, --response has no effect. State it in study.toml." in err


def test_a_weak_epsilon_has_to_be_typed(place, monkeypatch):
    monkeypatch.setattr("dpselect.use.shell.confirm.on_terminal", lambda: True)
    asked = [*SELECT[:-1], "12"]
    for typed, spent in (("y\n", False), ("\n", False), ("12\n", True)):
        done = CliRunner().invoke(program, asked, input=typed, standalone_mode=False)
        assert "to over 99.9%" in done.output and "Type 12 to spend it anyway" in done.output
        assert (done.exception is None) == spent


def test_plan_and_check_need_no_study_file_either(place, capsys):
    code, out, err = run(capsys, "plan", "people.csv", *SELECT[2:], "--rows", "2000", "--run", "select")
    assert code == 0 and "considered  age, school, member" in err and out
    code, out, _ = run(capsys, "check", "people.csv", *SELECT[2:], "--run", "select", "--json")
    assert code == 0 and json.loads(out)["inclusion"]["age"] > 0.9


@pytest.mark.filterwarnings("ignore::dpselect.errors.ShortTableWarning")
def test_of_very_many_variables_plan_and_check_name_the_first(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    table = pd.DataFrame({f"x{j}": rng.normal(size=60).round(2) for j in range(70)} | {"y": rng.normal(size=60)})
    table.loc[0] = np.nan
    table.to_csv("many.csv", index=False)
    code, out, err = run(capsys, "plan", "many.csv", "--response", "y", "--rows", "60", "--epsilon", "1")
    assert code == 0 and "x10, x11 and 58 more\n" in err and "x12" not in out + err
    more = "; all are on the page that -o FILE writes."
    code, out, _ = run(capsys, "check", "many.csv", "--response", "y", "-o", "page.html")
    assert f"\nand 59 more{more}" in out and f"\nand 60 more such sentences{more}" in out and "x12" not in out
    assert Path("page.html").read_text().count("x69") == 2
    code, out, _ = run(
        capsys, "check", "many.csv", "--response", "y", "--missing", "zero-row", "--epsilon", "1", "--run", "select"
    )
    assert f"\nand 58 more{more}" in out
    study = study_for("many.csv", None, response="y", predictors=[f"x{j}" for j in range(70)], missing="error")
    assert "and 60 more in `advice`" in str(dpselect.check("many.csv", study))
    # What a person has to agree to is named in full.
    monkeypatch.setattr("dpselect.use.shell.confirm.on_terminal", lambda: True)
    asked = ["select", "many.csv", "--response", "y", "--epsilon", "1", "--missing", "zero-row"]
    assert "x68, x69" in CliRunner().invoke(program, asked, input="n\n", standalone_mode=False).output


def test_python_takes_a_formula_or_a_response(place):
    frame = place.to_pandas()
    with pytest.warns(LeftOutWarning, match=r"person_id \(looks like an identifier\)"):
        found = dpselect.select(place.drop_columns(["region"]), "income ~ .", epsilon=1)
    assert predictors(found.study) == {"age": "Numeric", "school": "Numeric", "member": "Binary"}
    named = dpselect.select("people.csv", "income ~ age + school", epsilon=1)
    assert predictors(named.study) == {"age": "Numeric", "school": "Numeric"}
    stated = dpselect.select(
        "people.csv", response="income", predictors=["age"], categories={"region": ["north", "south"]}, epsilon=1
    )
    assert predictors(stated.study) == {"age": "Numeric", "region": "Categorical"}
    product = dpselect.select(frame, "income ~ age*C(region)", categories={"region": ["north", "south"]}, epsilon=1)
    assert ("age", "region") in product.study.terms


@pytest.mark.parametrize(
    ("study", "more", "says"),
    [
        ("income ~ .", {}, "Name the predictors"),
        ("income ~ agee", {}, "Did you mean 'age'?"),
        (None, {}, "Give a study, a formula"),
        ("income ~ age", {"response": "income"}, "one of them"),
        (dpselect.Study(dpselect.Numeric("y"), [dpselect.Numeric("x")]), {"response": "y"}, "give it alone"),
    ],
)
def test_python_refuses_what_nobody_states(place, study, more, says):
    with pytest.raises(StudyError, match=says.replace("?", r"\?")):
        dpselect.select("people.csv", study, epsilon=1, **more)


def column(name, kind="number", **more):
    return ColumnType(name, kind, kind, **more)


def test_no_cell_decides_the_type_of_a_column_that_was_named():
    """With named predictors the study is the same, whatever the first rows of a text file look like."""
    found = []
    for kind in ("number", "text", "date", "other", "boolean"):
        columns = [column(name, kind, stated=False) for name in ("y", "x", "z")]
        proposal = propose(columns, "y", predictors=["x"], categories={"z": ["a", "b"]})
        assert not proposal.by_look
        found.append(proposal.study)
    assert len({study.hash for study in found}) == 1


def test_objects_in_a_typed_frame_are_named_or_stated_whatever_they_hold():
    """One cell makes objects of a column, and no cell may take a column out of a released study."""
    for kind in ("number", "text", "date", "other", "boolean"):
        columns = [column("y"), column("x"), column("z", kind, stated=False)]
        with pytest.raises(StudyError, match="'z' does not hold numbers alone: name the predictors"):
            propose(columns, "y")
        assert predictors(propose(columns, "y", predictors=["x"]).study) == {"x": "Numeric"}
        assert predictors(propose(columns, "y", categories={"z": ["a", "b"]}).study)["z"] == "Categorical"
        assert not propose(columns, "y", person="z").left_out
        named = propose([column("y"), column("x"), column("person_id", kind, stated=False)], "y")
        assert named.left_out == (("person_id", "looks like an identifier"),)


@pytest.mark.parametrize(("name", "cell"), [("age", "unknown"), ("member", None)])
@pytest.mark.parametrize("asked", [{"study": "income ~ ."}, {"response": "income"}])
def test_one_cell_takes_no_column_out_of_a_frame(place, name, cell, asked):
    frame = place.drop_columns(["region"]).to_pandas()
    frame[name] = frame[name].astype(object if cell is None else str).astype(object)  # as pandas.read_csv gives it
    frame.loc[7, name] = cell
    ledger = dpselect.Ledger("budget.db", epsilon=5)
    with pytest.raises(StudyError, match=f"'{name}' does not hold numbers alone"):
        dpselect.select(frame, **asked, epsilon=1, ledger=ledger)
    assert not ledger.entries()


READERS = {
    "pandas": pd.read_csv,
    "pandas, arrow": lambda file: pd.read_csv(file, dtype_backend="pyarrow"),
    "polars": lambda file: pl.read_csv(file, infer_schema_length=None),
    "pyarrow": pacsv.read_csv,
    "pyarrow, batches": pacsv.open_csv,
    "dictionary": lambda file: pacsv.read_csv(file).to_pydict(),
    "dataset": lambda file: pads.dataset(file, format="csv"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "cell", ["", "unknown", "n/a", "true", "2020-01-01", "0x1f", "1e400", "12:30", '"1,5"', "NaN", "-"]
)
@pytest.mark.parametrize("name", ["age", "member", "empty"])
def test_one_cell_decides_no_study_whoever_read_the_file(tmp_path, reader, cell, name):
    """The study of "income ~ ." is that of the table without the cell, or there is none: what is left out is left out by name."""
    chance = random.Random(5)
    lines = [
        [round(chance.gauss(9, 3), 2), chance.randint(20, 60), chance.choice(["true", "false"]), ""] for _ in range(40)
    ]
    head, made = ["income", "age", "member", "empty"], []
    for strange in (None, cell):
        if strange is not None:
            lines[33][head.index(name)] = strange
        file = tmp_path / "t.csv"
        file.write_text("\n".join(",".join(map(str, line)) for line in [head, *lines]) + "\n")
        try:
            made.append(study_for(READERS[reader](str(file)), "income ~ .").hash)
        except DpselectError as problem:
            assert cell not in str(problem) or cell in ("", "-")
            made.append(None)
        except (pl.exceptions.PolarsError, pa.ArrowException):  # the reader's own refusal
            made.append(None)
    assert len({each for each in made if each is not None}) <= 1


TABLES = {
    "pandas": pd.DataFrame,
    "polars": lambda cells: pl.DataFrame(cells, strict=False),
    "pyarrow": pa.table,
    "lists": dict,
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("cells", [["1", "2", "n/a"], [1, 2, "n/a"], [1.5, None, object()], ["a", 2020, b"c"]])
@pytest.mark.parametrize(
    "asked",
    [
        {"x": ["1.5", "n/a", "2"], "y": ["1", "2", "3"]},
        {"x": ["1", "2", "1"], "y": ["no", "yes", "no"], "categories": {"x": ["1", "2"], "y": ["no", "yes"]}},
        {"x": [1.0, 2.0, 4.0], "y": [3.0, 5.0, 1.0]},
    ],
)
def test_no_cell_of_another_column_decides_what_is_said_of_those_named(kind, cells, asked):
    """Of a column that no study names: whatever it holds, the same study is made of the others, or the same refusal."""
    table, categories = {"x": asked["x"], "y": asked["y"]}, asked.get("categories")
    found = []
    for other in ([1.0, 2.0, 3.0], cells):
        try:
            source = TABLES[kind](table | {"z": other})
        except (pa.ArrowException, TypeError):  # such a table cannot be made
            continue
        try:
            found.append(study_for(source, None, response="y", predictors=["x"], categories=categories).hash)
        except DpselectError as problem:
            found.append(str(problem))
    assert len(set(found)) == 1


def sqlite_of(cell):
    pytest.importorskip("adbc_driver_sqlite")
    with closing(sqlite3.connect("t.sqlite")) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (age, bmi DOUBLE, income)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(40, cell, 3), *[(k, k + 0.5, k) for k in range(99)]])
        connection.commit()


@pytest.mark.parametrize("address", ["adbc:sqlite:t.sqlite?table=t", "adbc:sqlite:t.sqlite?query=SELECT * FROM t"])
def test_no_cell_of_a_database_decides_a_study(place, capsys, monkeypatch, address):
    asked = ["select", address, *SELECT[2:], "--ledger", "budget.db"]
    monkeypatch.setattr("dpselect.use.shell.confirm.on_terminal", lambda: True)
    studies = set()
    for cell in (1.5, "unknown"):
        sqlite_of(cell)
        assert not any(each.stated for each in read_schema(address))
        code, out, err = run(capsys, *asked, "--yes")
        assert (code, out) == (2, "") and "does not say what its columns hold" in err
        shown = CliRunner().invoke(program, asked, input="n\n", standalone_mode=False)
        assert type(shown.exception).__name__ == "NotConfirmed" and "types guessed from the first rows" in shown.output
        for source in (address, parse_address(address)):
            with pytest.raises(StudyError, match="Name the predictors"):
                study_for(source, "income ~ .")
            studies.add(study_for(source, "income ~ age + bmi").hash)
    assert len(studies) == 1


def test_a_table_of_duckdb_states_its_types_and_a_relation_does_not(place):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("t.duckdb") as connection:
        connection.execute('CREATE SCHEMA "s"; CREATE TABLE s.t (age DOUBLE, income DOUBLE)')
        assert not any(each.stated for each in read_schema(connection.sql("SELECT * FROM s.t")))
    assert predictors(study_for("t.duckdb?table=s.t", "income ~ .")) == {"age": "Numeric"}


def test_categories_are_shown_as_they_are_confirmed():
    assert _with_categories(Binary("m", [0, 1])) == "m (yes or no: 1 or 0)"
    assert _with_categories(Binary("s", ["no", "yes"])) == "s (categories no, yes)"
    assert _with_categories(Categorical("r", ["a", "b, c"])) == 'r (categories a, "b, c")'


def test_a_file_dictionary_states_categories():
    coded = column("sex", categories=((1, "male"), (2, "female")), label="Sex")
    (sex,) = propose([column("y"), coded], "y").study.predictors
    assert (sex.categories, sex.category_labels, sex.label) == ((1, 2), ("male", "female"), "Sex")
    words = column("town", "text", categories=(("u", "Ulm"), ("k", "Köln")))
    (town,) = propose([column("y"), words], "y").study.predictors
    assert town.categories == ("u", "k")
    one = column("alone", "text", categories=(("u", "Ulm"),))  # of one category nothing can be said
    assert [name for name, _ in propose([column("y"), column("x"), one], "y").left_out] == ["alone"]


@pytest.mark.parametrize(
    "name", ["id", "person_id", "ID", "caseId", "UUID", "patient id", "email", "Unnamed: 0", "rownames"]
)
def test_identifiers_are_known_by_their_names(name):
    assert propose([column("y"), column("x"), column(name)], "y").left_out == ((name, "looks like an identifier"),)


@pytest.mark.parametrize("name", ["idle", "wide", "paid", "bmi", "video", "price_index", "squid"])
def test_words_that_only_contain_one_are_not(name):
    assert not propose([column("y"), column(name)], "y").left_out


def test_the_choices_of_the_options_are_those_of_the_package():
    assert options.METHOD_CHOICES == tuple(KNOWN_METHODS)
    assert options.MECHANISM_CHOICES == tuple(MECHANISMS)
    assert set(options.FAMILY_CHOICES) == set(FAMILIES)
    assert options.NEIGHBOR_CHOICES == NEIGHBORS
    assert options.RUN_CHOICES == RUNS
    assert options.EXPORT_CHOICES == EXPORT_KINDS


def test_help_is_short_and_the_rest_is_under_advanced(capsys):
    for name in ("select", "analyze", "check", "plan"):
        _, out, _ = run(capsys, name, "--help")
        assert "--mechanism" not in out and "--help-advanced" in out and out.count("\n") < 40
        code, more, _ = run(capsys, name, "--help-advanced")
        assert code == 0 and "--method" in more and "--show-code" in more


def test_a_released_result_is_written_in_other_forms_at_no_cost(place, capsys, tmp_path):
    asked = ["analyze", "people.csv", "--response", "income", "--predictors", "age,school", "--epsilon", "1", "--yes"]
    code, out, err = run(capsys, *asked)
    assert code == 0, err
    assert "income rises with age and school." in out and "95% interval" in out  # effects, without any range
    for source in ("report.json", "report.html"):
        names = [f"{source}.{kind}" for kind in ("tex", "md", "csv", "svg", "docx")]
        code, _, err = run(capsys, "report", source, *(each for name in names for each in ("-o", name)))
        assert code == 0 and err.endswith("Nothing was spent.\n")
        assert all((tmp_path / name).stat().st_size > 50 for name in names)
    assert run(capsys, "report", "report.json", "--board", "-o", "board.html")[0] == 0
    for wrong in (["report.json", "-o", "board.html"], ["report.json", "-o", "x.pdf"], ["people.csv", "-o", "x.md"]):
        code, _, err = run(capsys, "report", *wrong)
        assert code == 2 and err.count("\n") == 1, wrong
    assert len(dpselect.Ledger("people.budget.db").entries()) == 2


def test_a_column_whose_first_rows_are_0_and_1_is_proposed_as_yes_or_no_and_named_it_is_a_number(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("y,flag,count,only,half\n" + "1.5,0,0,1,0.0\n2.5,1,2,1,1.0\n" * 20)
    columns = named_columns(str(file))
    assert {column.name: column.zero_one for column in columns} == {
        "y": False, "flag": True, "count": False, "only": False, "half": False
    }  # fmt: skip
    assert predictors(propose(columns, "y").study)["flag"] == "Binary"
    assert propose(columns, "y").by_look, "a person has to confirm it"
    assert type(propose(columns, "flag").study.response).__name__ == "Binary"
    assert predictors(propose(columns, "y", predictors=["flag"]).study) == {"flag": "Numeric"}


def test_a_selection_is_kept_in_a_report_and_a_script_names_its_own(place, capsys):
    asked = [*SELECT, "--yes", "--predictors", "age,school", "--total-epsilon", "5"]
    code, out, _ = run(capsys, *asked)
    assert code == 0 and "Wrote selection.html, selection.json (both public)." in out
    assert run(capsys, "verify", "selection.html")[0] == 0
    assert dpselect.Analysis.from_json(Path("selection.json").read_text()).coefficients is None
    before = sorted(Path().iterdir())
    assert run(capsys, *asked, "--json")[0] == run(capsys, *asked, "-q")[0] == 0
    assert sorted(Path().iterdir()) == before
    assert run(capsys, *asked, "-o", "page.html")[0] == 0 and Path("page.json").exists()
    code, _, err = run(capsys, *asked, "-o", "page.txt")
    assert code == 2 and "End it in .html" in err and "Nothing was spent" in err


def test_columns_that_are_not_wanted_or_have_no_name_are_said_to_be_left_out(place, monkeypatch):
    monkeypatch.setattr("dpselect.use.shell.confirm.on_terminal", lambda: True)
    text = Path("people.csv").read_text().splitlines()
    Path("people.csv").write_text("\n".join(["," + text[0], *(f"{k},{line}" for k, line in enumerate(text[1:]))]))
    shown = CliRunner().invoke(program, [*SELECT, "--without", "school, member"], input="n\n", standalone_mode=False)
    assert "considered  age\n" in shown.output, shown.output
    assert "school, member (as you asked)" in shown.output
    assert "column 1 (no name: to include one, name it in the table)" in shown.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--without", "scool"], "Did you mean 'school'?"),
        (["--without", "school", "--predictors", "age"], "not both"),
        (["--without", "region", "--categories", "region=north,south"], "both stated and left out"),
        (["--without", "income"], "both stated and left out"),
        (["--without", " , "], "--without is ' , '"),
    ],
)
def test_what_is_left_out_is_a_column_that_nothing_else_is_said_of(place, capsys, options, words):
    code, _, err = run(capsys, *SELECT, "--yes", *options)
    assert code == 2 and words in err, err


def test_a_category_with_a_comma_in_it_is_quoted():
    assert options.categories_in(['region=north,"south, far", west']) == {"region": ["north", "south, far", "west"]}


def test_missing_cells_can_be_stated_without_a_study():
    frame = pd.DataFrame({"y": np.arange(60.0), "x": np.arange(60.0) % 7})
    frame.loc[3, "x"] = np.nan
    with pytest.raises(DataError, match="leave such rows out"):
        dpselect.select(frame, "y ~ x", epsilon=1)
    assert dpselect.select(frame, "y ~ x", epsilon=1, missing="zero-row").study.missing == "zero-row"
    with pytest.raises(StudyError, match="already: give it alone"):
        dpselect.select(frame, Study(Numeric("y"), [Numeric("x")]), epsilon=1, missing="zero-row")


def test_arrays_need_a_study_and_are_told_so():
    with pytest.raises(DataError, match="Arrays have no names"):
        dpselect.select((np.zeros((5, 2)), np.zeros(5)), response="y", epsilon=1)


def test_the_version_is_told():
    assert dpselect.__version__.count(".") == 2
