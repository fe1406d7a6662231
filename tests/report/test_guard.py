"""The two pages never mix: a private type that reaches the public template is an error, and so is one that says nothing."""

import ast
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import dpselect
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.fit import TableFit, VariableFit
from dpselect.gather.rows import gather
from dpselect.report import confidential
from dpselect.report.facts import facts_of
from dpselect.report.page import render_public, require_public

STUDY_STATED = Study(Numeric("y", -1, 1), [Numeric("x", -1, 1)])
MOMENTS = gather((np.full((3, 1), 0.5), np.full(3, 0.25)), STUDY_STATED)


@dataclass(frozen=True)
class Silent:
    """It does not say who may see it."""

    value: int = 1


@dataclass(frozen=True)
class Boasting:
    """Public. Or so it says; python -OO would not even read that."""

    value: int = 1


PRIVATE = {
    "moments": MOMENTS,
    "fit": TableFit(3, (VariableFit("x", 1, 0, 0),)),
    "confidential facts": confidential.PrivateFacts(*[()] * len(fields(confidential.PrivateFacts))),
    "a curve": confidential.CurveFact("", "", (), (), ()),
    "an array": np.zeros(3),
    "a NumPy number": np.float64(0.5),
    "a class that says nothing": Silent(),
    "a class that only says it is public": Boasting(),
    "a list": [1, 2],
    "a dictionary": {"rows": 3},
}


@pytest.mark.parametrize("value", PRIVATE.values(), ids=PRIVATE)
@pytest.mark.parametrize("field", ["title", "table", "charges", "methodology"])
def test_a_private_type_does_not_reach_the_public_template(value, field, document):
    inside = (value,) if field in ("charges", "methodology") else value
    with pytest.raises(TypeError, match="may not reach a public page") as refused:
        render_public(replace(facts_of(document), **{field: inside}))
    assert "0.5" not in str(refused.value)


def test_public_facts_pass(document):
    facts = facts_of(document)
    require_public(facts)
    assert document.selection.formula in render_public(facts)


def test_only_the_guarded_function_renders_the_public_template():
    """No module but page.py names the public template, and there it stands behind the guard."""
    package = Path(dpselect.__file__).parent
    naming = [path.name for path in package.rglob("*.py") if "report.html.j2" in path.read_text(encoding="utf-8")]
    assert naming == ["page.py"]
    tree = ast.parse((package / "report" / "page.py").read_text(encoding="utf-8"))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "render_public")
    first = function.body[1]
    assert ast.unparse(first) == "require_public(facts)"
    assert ast.unparse(tree).count("'report.html.j2'") == 1


def test_the_public_modules_import_no_rehearsal():
    """What the public page is made of comes from releases; only the custodian's modules know rehearse and gather."""
    folder = Path(dpselect.__file__).parent / "report"
    confidential_too = {"confidential.py", "plan_figure.py", "selection_checks.py"}
    public = [path for path in folder.glob("*.py") if path.name not in confidential_too]
    assert len(public) > 10
    for path in public:
        text = path.read_text(encoding="utf-8")
        assert "dpselect.rehearse" not in text, path.name
        assert "dpselect.gather" not in text, path.name
