"""Which ledger is charged is decided by the data: a registry beside it, one line for each ledger it was ever charged to."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpselect
from dpselect.errors import LedgerError, TwoLedgersWarning
from dpselect.gather.sources.source import Csv, Database, DataPlace, data_place
from dpselect.release import account
from dpselect.release.account import REGISTRY_NAME, ledger_of, others_of, register, registered
from dpselect.use import command_line

STUDY = dpselect.Study(response=dpselect.Numeric("y", 0, 1), predictors=[dpselect.Numeric("a", 0, 1)])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = np.random.default_rng(23).random((200, 2))
    lines = "\n".join(f"{y:.4f},{a:.4f}" for y, a in table)
    (tmp_path / "people.csv").write_text(f"y,a\n{lines}\n")
    STUDY.write(tmp_path / "study.toml")
    return tmp_path


def select(capsys, data, *more):
    code = command_line.run(["select", data, "--study", "study.toml", "--epsilon", "1", "-q", "--yes", *more])
    return code, capsys.readouterr().err


def spent(ledger):
    return float(dpselect.Ledger(ledger).spent().epsilon)


def test_a_ledger_elsewhere_is_found_again_and_no_second_one_is_opened(place, capsys):
    (place / "office").mkdir()
    named = ["--ledger", "office/all.db", "--total-epsilon", "9"]
    assert select(capsys, "people.csv", *named)[0] == 0
    assert select(capsys, "people.csv")[0] == 0
    os.chdir(place / "office")
    assert (
        command_line.run(["select", "../people.csv", "--study", "../study.toml", "--epsilon", "1", "-q", "--yes"]) == 0
    )
    os.chdir(place)
    assert spent("office/all.db") == 3
    assert not list(place.rglob("people.budget.db"))
    assert command_line.run(["budget", "people.csv", "-q"]) == 0


def test_a_link_and_a_packed_copy_are_the_same_data(place, capsys):
    assert select(capsys, "people.csv", "--total-epsilon", "3")[0] == 0
    (place / "desk").mkdir()
    (place / "desk" / "mine.csv").symlink_to(place / "people.csv")
    assert select(capsys, "desk/mine.csv")[0] == 0
    assert spent("people.budget.db") == 2
    assert not list((place / "desk").glob("*.db"))


def test_a_ledger_that_is_gone_or_made_anew_is_no_fresh_budget(place, capsys):
    assert select(capsys, "people.csv")[0] == 0
    (place / "people.budget.db").unlink()
    code, err = select(capsys, "people.csv")
    assert code == 2 and "which is not there" in err
    assert command_line.run(["budget", "people.csv", "--open", "--epsilon", "5"]) == 2
    assert not (place / "people.budget.db").exists()
    dpselect.Ledger("people.budget.db", epsilon=5)
    code, err = select(capsys, "people.csv")
    assert code == 2 and "was made anew in its place" in err
    assert spent("people.budget.db") == 0


def test_a_new_one_is_opened_in_the_place_of_one_that_is_gone_for_who_names_it(place, capsys):
    assert select(capsys, "people.csv")[0] == 0
    (place / "people.budget.db").unlink()
    assert select(capsys, "people.csv", "--ledger", "people.budget.db", "--total-epsilon", "2")[0] == 0
    assert select(capsys, "people.csv")[0] == 0
    assert spent("people.budget.db") == 2


def test_a_second_one_is_told_of_and_then_has_to_be_named(place, capsys):
    (place / "office").mkdir()
    assert select(capsys, "people.csv")[0] == 0
    code, err = select(capsys, "people.csv", "--ledger", "office/second.db")
    assert code == 0 and "also charged to" in err and err.count("people.budget.db") == 1
    code, err = select(capsys, "people.csv")
    assert code == 2 and "people.budget.db" in err and "second.db" in err and "--ledger" in err


def test_several_others_are_told_of_in_one_line(place, capsys):
    assert select(capsys, "people.csv")[0] == 0
    for name in ("one", "two", "three"):
        (place / name).mkdir()
        code, err = select(capsys, "people.csv", "--ledger", f"{name}/people.db")
        assert code == 0 and err.count("Warning:") == 1
    assert all(name in err for name in ("'people.budget.db' and ", "one/people.db' and ", "two/people.db'. "))


def test_a_check_has_no_need_to_know_which_of_several(place, capsys):
    (place / "office").mkdir()
    assert select(capsys, "people.csv")[0] == 0
    assert select(capsys, "people.csv", "--ledger", "office/second.db")[0] == 0
    assert command_line.run(["check", "people.csv", "--study", "study.toml", "-o", "page.html"]) == 0


def test_a_refused_run_leaves_nothing_behind(place, capsys):
    before = sorted(place.rglob("*"))
    assert select(capsys, "people.csv", "--total-epsilon", "0.5")[0] == 3
    assert command_line.run(["select", "people.csv", "--study", "study.toml", "--epsilon", "1", "-q"]) == 2
    assert sorted(place.rglob("*")) == before


def test_rows_on_a_server_need_a_ledger_that_is_named(place, capsys):
    code, err = select(capsys, "postgresql://host/base?table=houses")
    assert code == 2 and "--ledger houses.budget.db" in err


def test_what_python_charges_is_known_to_the_command_and_the_other_way_round(place, capsys):
    ledger = dpselect.Ledger("elsewhere.db", epsilon=9)
    dpselect.select("people.csv", STUDY, epsilon=1, ledger=ledger)
    assert select(capsys, "people.csv")[0] == 0
    assert spent("elsewhere.db") == 2
    with pytest.warns(TwoLedgersWarning, match="is also charged to '.*elsewhere.db'"):
        dpselect.select(Path("people.csv"), STUDY, epsilon=1, ledger=dpselect.Ledger(epsilon=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpselect.select("people.csv", STUDY, epsilon=1, ledger=ledger)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("people.csv", DataPlace(Path(), "people")),
        (Path("x/people.csv.gz"), DataPlace(Path("x"), "people")),
        (Csv("x/people.txt", delimiter=";"), DataPlace(Path("x"), "people")),
        ("x/people.xlsx?sheet=2020", DataPlace(Path("x"), "people")),
        ("x/part-*.csv", DataPlace(Path("x"), "part")),
        (Database("postgresql://host/base", table="t"), None),
        (Database("duckdb:", query="SELECT 1"), None),
        (["a.csv", "b.csv"], None),
        ((np.zeros((2, 1)), np.zeros(2)), None),
        ("", None),
    ],
)
def test_the_place_of_a_source(source, expected):
    assert data_place(source) == expected


def test_a_table_of_duckdb_is_at_home_beside_its_file(tmp_path):
    assert data_place(f"{tmp_path}/shop.duckdb?table=houses") == DataPlace(tmp_path.resolve(), "houses")


def test_the_latest_word_on_a_ledger_counts(tmp_path):
    here = DataPlace(tmp_path, "people")
    register(here, str(tmp_path / "a.db"), "1")
    register(here, str(tmp_path / "a.db"), "1")
    register(here, str(tmp_path / "b.db"), "1")  # moved
    register(DataPlace(tmp_path, "others"), str(tmp_path / "c.db"), "3")
    assert [(each.ledger, each.id) for each in registered(here)] == [("b.db", "1")]
    assert len((tmp_path / REGISTRY_NAME).read_text().splitlines()) == 3
    register(here, "postgresql://host/base#x", "2")
    assert others_of(here, str(tmp_path / "b.db"), "1") == ["postgresql://host/base#x"]
    assert others_of(here, None, None) == [str(tmp_path / "b.db"), "postgresql://host/base#x"]


def test_a_ledger_on_a_server_is_named_for_its_account_is_not_known(tmp_path):
    here = DataPlace(tmp_path, "people")
    register(here, "postgresql://host/base#x", "2")
    with pytest.raises(LedgerError, match="is charged to 'postgresql://host/base#x': name it with --ledger"):
        ledger_of(here)


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"data": "people"}), "\udcff", "x" * 200])
def test_a_registry_that_cannot_be_read_opens_nothing(tmp_path, monkeypatch, text):
    monkeypatch.setattr(account, "MAX_REGISTRY_BYTES", 150)
    (tmp_path / REGISTRY_NAME).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(LedgerError, match="says which ledger data is charged to, and cannot be read"):
        ledger_of(DataPlace(tmp_path, "people"))


def test_where_nothing_may_be_written_nothing_is(tmp_path):
    register(DataPlace(tmp_path / "nowhere", "people"), str(tmp_path / "a.db"), "1")
    assert not (tmp_path / "nowhere").exists()


def test_twenty_processes_write_whole_lines(tmp_path):
    here = DataPlace(tmp_path, "people")
    children = []
    for number in range(20):
        if not (child := os.fork()):
            for turn in range(10):
                register(here, str(tmp_path / f"{number}-{turn}.db"), f"{number}-{turn}")
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    assert len(registered(here)) == 200


@pytest.mark.parametrize("spelling", ["p*.csv", "peopl?.csv", "[p]eople.csv", "*.csv"])
def test_a_pattern_that_means_a_file_is_that_file(place, capsys, spelling):
    assert select(capsys, "people.csv")[0] == 0  # all of its budget
    code, err = select(capsys, spelling)
    assert code != 0 and "budget" in err, err
    assert [each.name for each in place.glob("*.budget.db")] == ["people.budget.db"]


def test_every_file_of_a_folder_is_charged_with_it(place, capsys):
    (place / "fold").mkdir()
    for name in ("part1", "part2"):
        (place / "fold" / f"{name}.csv").write_text((place / "people.csv").read_text())
    assert select(capsys, "fold", "--total-epsilon", "3")[0] == 0
    assert select(capsys, "fold/part2.csv")[0] == 0
    (place / "fold" / "part3.csv").write_text((place / "people.csv").read_text())
    assert select(capsys, "fold/part*.csv")[0] == 0
    assert spent("fold.budget.db") == 3
    for spelling in ("fold", "fold/", "fold/*", "fold/part[13].csv", "fold/part3.csv"):
        assert "budget" in select(capsys, spelling)[1], spelling
    assert not list((place / "fold").glob("*.db"))


def test_files_that_are_charged_to_two_ledgers_are_not_charged_to_a_third(place, capsys):
    (place / "other.csv").write_text((place / "people.csv").read_text())
    assert select(capsys, "people.csv")[0] == select(capsys, "other.csv")[0] == 0
    code, err = select(capsys, "*.csv")
    assert code != 0 and "Name the one to use with --ledger" in err


def test_a_folder_is_called_the_same_from_within(tmp_path, monkeypatch):
    (tmp_path / "fold" / "deep").mkdir(parents=True)
    expected = DataPlace(tmp_path.resolve(), "fold")
    for where, source in (("fold", "."), ("fold", "./"), ("fold/deep", "..")):
        monkeypatch.chdir(tmp_path / where)
        assert data_place(source) == expected


@pytest.mark.parametrize("name", ["houses", "HOUSES", "main.houses", "shop.main.Houses", '"houses"'])
def test_a_table_of_duckdb_has_one_name(tmp_path, name):
    assert data_place(Database(f"duckdb:///{tmp_path}/shop.duckdb", table=name)).name == "houses"
    other = Database(f"duckdb:///{tmp_path}/shop.duckdb", table="old.houses")
    assert data_place(other).name == "old.houses"


def test_a_ledger_that_was_opened_anew_counts_once_for_all_files_of_a_folder(tmp_path):
    parts = tuple(DataPlace(tmp_path / "fold", f"part{number}") for number in range(3))
    (tmp_path / "fold").mkdir()
    whole = DataPlace(tmp_path, "fold", parts)
    register(whole, str(tmp_path / "fold.budget.db"), "1")
    register(whole, str(tmp_path / "fold.budget.db"), "2")
    register(whole, str(tmp_path / "fold.budget.db"), "2")
    assert [each.id for each in registered(whole)] == [each.id for each in registered(parts[0])] == ["2"]
    assert len((tmp_path / "fold" / REGISTRY_NAME).read_text().splitlines()) == 6
