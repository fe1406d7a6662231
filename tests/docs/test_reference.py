"""The reference is made from docstrings: every public name and member lists its parameters and no other, and examples run."""

import doctest
import importlib.util
import inspect
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpselect
from dpselect import rehearse
from dpselect.gather.rows import gather

ROOT = Path(__file__).parents[2]
PUBLIC = {name: getattr(dpselect, name) for name in dpselect.__all__} | {"gather": gather}
PUBLIC |= {f"rehearse.{name}": getattr(rehearse, name) for name in rehearse.__all__}
PUBLIC = {name: value for name, value in PUBLIC.items() if not inspect.ismodule(value)}


def is_error(value):
    return inspect.isclass(value) and issubclass(value, Exception)


def documented():
    """Every public name with what it can be called with, and every member of a public class that is defined in it."""
    for name, value in PUBLIC.items():
        if is_error(value):
            continue
        yield name, value, list(inspect.signature(value).parameters)
        if not inspect.isclass(value):
            continue
        for member, found in vars(value).items():
            called = found.__func__ if isinstance(found, classmethod | staticmethod) else found
            if not member.startswith("_") and inspect.isfunction(called):
                yield f"{name}.{member}", called, [each for each in inspect.signature(called).parameters][1:]


def section(text, title):
    """The names and types in a section of a docstring, and what is said of each."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return [] if found is None else re.findall(r"^(\S[^\n]*)\n((?:    [^\n]*\n?)*)", found[1] + "\n", re.MULTILINE)


def mistakes_in(text, parameters):
    """What a docstring says wrong of these parameters, or leaves out."""
    entries = section(text, "Parameters") or section(text, "Attributes")
    named = [each.strip().lstrip("*") for head, _ in entries for each in head.partition(" : ")[0].split(",")]
    if sorted(named) != sorted(parameters):
        yield f"lists {named} and takes {parameters}"
    yield from (f"says nothing of {head}" for head, said in entries if not said.strip())
    yield from (f"has no type of {head}" for head, _ in entries if " : " not in head and not head.startswith("**"))


def test_every_parameter_of_every_public_name_is_explained_and_no_other():
    listed = list(documented())
    assert len(listed) > 60
    wrong = [f"{name} {each}" for name, value, names in listed for each in mistakes_in(inspect.getdoc(value), names)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("One.\n\nParameters\n----------\na : int\n    One.\n", ["a", "b"]),
        ("One.\n\nParameters\n----------\na : int\n    One.\nb : int\n    Two.\n", ["a"]),
        ("One.\n\nParameters\n----------\na : int\n", ["a"]),
        ("One.\n\nParameters\n----------\na\n    One.\n", ["a"]),
        ("One.\n", ["a"]),
    ],
)
def test_a_docstring_that_lies_is_found(text, parameters):
    assert list(mistakes_in(text, parameters))


def test_what_a_function_returns_is_said():
    silent = [
        name
        for name, value, _ in documented()
        if inspect.isfunction(value)
        and "." not in name
        and name != "save_moments"
        and not section(inspect.getdoc(value), "Returns")
    ]
    assert silent == []


def test_the_examples_run(tmp_path, monkeypatch):
    """With the rows and files that they speak of. Answers are compared where one is printed; noise has none."""
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore")  # that the same rows are charged to two ledgers, or that epsilon is weak
    generator = np.random.default_rng(11)
    frame = pd.DataFrame({"age": generator.integers(18, 80, 2000), "hours": generator.integers(10, 60, 2000)})
    frame["income"] = (100 * frame["hours"] + generator.normal(0, 300, 2000)).clip(0, 9000).round()
    frame.to_csv("people.csv", index=False)
    study = dpselect.Study(
        dpselect.Numeric("income", 0, 9000), [dpselect.Numeric("age", 18, 90), dpselect.Numeric("hours", 0, 80)]
    )
    dpselect.save_moments(dpselect.gather(frame, study), "site-b.moments")
    ledger = dpselect.Ledger("people.budget.db", epsilon=5, delta="1e-5")
    analysis = dpselect.analyze("people.csv", study, epsilon=1, ledger=ledger)
    analysis.to_html("kept.html", title="What explains income?")
    known = {
        "dpselect": dpselect, "frame": frame, "study": study, "selection": analysis.selection,
        "X": frame[["age", "hours"]].to_numpy() / 90, "y": frame["income"].to_numpy() / 9000,
    }  # fmt: skip
    known |= {name: value for name, value in PUBLIC.items() if "." not in name}
    failed, runs = [], 0
    for name, value in sorted(
        PUBLIC.items(), key=lambda each: each[0] != "save_moments"
    ):  # its file is read by another
        world = dict(known)
        for suffix in (".html", ".json"):  # the one that is charged to the ledger, unless the example writes one
            Path("report" + suffix).unlink(missing_ok=True)
            if name != "analyze":
                shutil.copy("kept" + suffix, "report" + suffix)
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(value) or ""):
            runs += 1
            try:
                kind = "eval" if example.want else "exec"
                answer = eval(compile(example.source.strip(), name, kind), world)
            except Exception as problem:
                failed.append(f"{name}: {example.source.strip()}: {problem!r}")
                continue
            if example.want and doctest.SKIP not in example.options and repr(answer) != example.want.strip():
                failed.append(f"{name}: {example.source.strip()} is {answer!r}")
    assert failed == []
    assert runs > 25


def test_examples_become_code_and_parameters_a_list():
    spec = importlib.util.spec_from_file_location("docs_tool", ROOT / "tools" / "docs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = tool.reference()
    part = text[text.index("## `select`") :].partition("\n## ")[0]
    assert "- `epsilon` (number or str): The privacy cost of this call" in part
    assert '```python\nselection = dpselect.select(frame, "income ~ .", epsilon=1)\nselection.directions\n```' in part
    assert "doctest" not in text and "----" not in text
    assert "- `lower, upper` (float, optional): The limits, known without the rows" in text
