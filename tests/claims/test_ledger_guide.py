"""The code in docs/LEDGER.md runs as it stands."""

import re
from pathlib import Path

GUIDE = (Path(__file__).parents[2] / "docs" / "LEDGER.md").read_text(encoding="utf-8")


def test_the_code_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    use, check = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
    values = {}
    exec(use, values)
    assert str(values["ledger"].spent()) == "epsilon=1, delta=0"
    assert str(values["ledger"].remaining()) == "epsilon=2, delta=1e-6"
    exec(check, values)
    assert values["previous"] == values["receipt"].hash


def test_the_rights_in_the_guide_are_the_tested_ones():
    tested = (Path(__file__).parents[1] / "release" / "ledger" / "test_ledger_postgres.py").read_text(encoding="utf-8")
    for right in re.findall(r"^GRANT (\w+)", GUIDE, re.M):
        assert f"GRANT {right} ON" in tested
