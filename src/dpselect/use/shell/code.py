"""`--show-code`: the Python that does what a command would do, for those who go on in a script or a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpselect.assume.budget import Budget, exact_delta, exact_epsilon, plain
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric
from dpselect.use.shell.ledgers import LedgerOptions, ledger_place, usual_total_delta
from dpselect.use.shell.options import SETTING_NAMES, group_of, study_and_data
from dpselect.use.shell.sources import Stated, csv_form, label, ledger_beside, source_of

Options = dict[str, Any]
STUDY = "study = dpselect.Study.read({study_file!r})"
_USUAL = {"method": "votes", "mechanism": "permute-and-flip", "level": 0.95, "family": None}


def python_code(name: str, options: Options) -> str:
    """The Python of a command with these options."""
    if "places" in options:
        study_file, data = study_and_data(options["places"], options["study"])
        if study_file is None and options.get("response") is None:
            raise click.UsageError("Give --response NAME, the variable to explain, or --study FILE.")
        options = {**options, "study_file": study_file, "data": data}
    return "\n".join(["import dpselect", "", *_CODES[name](options)])


def _call(function: str, *arguments: str, **options: str | None) -> str:
    stated = [f"{name}={value}" for name, value in options.items() if value is not None]
    line = f"{function}({', '.join([*arguments, *stated])})"
    return line if len(line) <= 100 else f"{function}(\n    " + ",\n    ".join([*arguments, *stated]) + ",\n)"


def _number(text: str | None) -> str | None:
    """A number as Python writes it; what is none stays text, and Python will say what is wrong."""
    return text if text is None or re.fullmatch(r"\d+(\.\d+)?(e-?\d+)?", text) else repr(text)


def _study(options: Options) -> tuple[list[str], list[str], dict[str, str]]:
    """The line that reads the study, and how a call names it; or, without a study file, what a call states in its place."""
    if options["study_file"] is not None:
        return [STUDY.format(**options)], ["study"], {}
    # All of it by name, as Python wants it where a file does not state what its columns hold.
    study = Stated.from_options(options["places"], dict(options)).study
    if _settings(study):
        return [f"study = {_constructor(study)}"], ["study"], {}
    known = {each.name: list(each.categories) for each in study.predictors if not isinstance(each, Numeric)}
    if isinstance(study.response, Binary):
        known[study.response.name] = list(study.response.categories)
    numbers = [each.name for each in study.predictors if each.name not in known]
    said = {"response": repr(study.response.name), "predictors": repr(numbers)}
    if known:
        said["categories"] = repr(known)
    return [], [], said


def _source(options: Options) -> str:
    if options.get("moments") is not None:
        return f"dpselect.moments_from_answer({options['moments']!r}, study)"
    form = csv_form(dict(options))
    if options["data"] is None:
        raise click.UsageError("Give DATA, or --moments with the answer to `dpselect sql`.")
    source_of(options["data"], form)
    stated = "".join(f", {name}={value!r}" for name, value in form.items())
    return f"dpselect.Csv({options['data']!r}{stated})" if form else repr(options["data"])


def _ledger(options: Options) -> str:
    """The ledger as the command would open it: as it is, or new with what was stated, or with this price."""
    path = options["ledger"] or str(ledger_beside(options["data"] or options["moments"] or ""))
    stated = options["total_epsilon"], options["total_delta"]
    if LedgerOptions(path).existing() is not None and stated == (None, None):
        return _call("ledger = dpselect.Ledger", repr(path))
    run = Budget(exact_epsilon(options["epsilon"]), exact_delta(options["delta"] or "0"))
    usual = options["delta"] or "0" if stated[0] is None else plain(usual_total_delta(exact_epsilon(stated[0]), run))
    totals = stated[0] or options["epsilon"], stated[1] or usual
    return _call("ledger = dpselect.Ledger", repr(path), epsilon=_number(totals[0]), delta=_number(totals[1]))


def _choice(options: Options) -> dict[str, str | None]:
    """What decides the choice, where it is not the usual."""
    stated = {name: repr(options[name]) for name in ("method", "mechanism") if options[name] != _USUAL[name]}
    groups = tuple(group_of(each) for each in options.get("one_of") or ())
    limits = {"max_size": options["max_size"], "at_least": options.get("at_least") or None}
    limits |= {"always": tuple(options.get("always") or ()) or None, "one_of": groups or None}
    limits |= {"hierarchy": options.get("hierarchy") or None}
    if named := ", ".join(f"{name}={value!r}" for name, value in limits.items() if value is not None):
        stated["candidates"] = f"dpselect.Subsets({named})"
    if options["penalty"] is not None:
        stated["penalty"] = _number(options["penalty"]) or ""
    return {"epsilon": _number(options["epsilon"]), "delta": _number(options["delta"]), **stated}


def _paid(options: Options) -> dict[str, str]:
    return {"ledger": "ledger", "data": repr(label(options["data"] or Path(options["moments"] or "").name))}


def _kept_text(file: str, text: str) -> list[str]:
    return [f"with open({file!r}, 'w', encoding='utf-8') as file:", f"    file.write({text})"]


def _split(options: Options) -> str | None:
    return None if options["split"] is None else repr(tuple(options["split"].split(":", 1)))


def _select(options: Options) -> list[str]:
    study, named, said = _study(options)
    call = _call("selection = dpselect.select", _source(options), *named, **said, **_choice(options), **_paid(options))
    lines = [*study, _ledger(options), call, "print(selection)"]
    output = options["output"]
    if output is not None and Path(output).suffix == ".json":
        lines += _kept_text(output, "selection.to_json()")
    return lines


def _analyze(options: Options) -> list[str]:
    stated: dict[str, str | None] = {
        name: repr(options[name]) for name in ("level", "family") if options[name] != _USUAL[name]
    }
    stated["split"] = _split(options)
    study, named, said = _study(options)
    call = _call(
        "analysis = dpselect.analyze", _source(options), *named, **said, **_choice(options), **stated, **_paid(options)
    )
    report = _call(
        "analysis.to_html",
        repr(options["output"]),
        title=repr(options["title"]) if options["title"] else None,
        board=None if options["board"] is None else repr(options["board"]),
    )
    return [
        *study,
        _ledger(options),
        call,
        "print(analysis.selection)",
        "print(analysis.coefficients)",
        report,
    ]


def _plan(options: Options) -> list[str]:
    effects = options["effects"]
    if options["study_file"] is None:
        apart = {} if options.get("only") else {"rows": None}  # which the call states
        stated = Stated.from_options(options["places"], dict(options) | apart).study
        study = [f"study = {_constructor(stated)}"]
    else:
        study = [STUDY.format(**options)]
    call = _call(
        "plan = dpselect.plan",
        "study",
        rows=str(options["rows"]),
        epsilon=_number(options["epsilon"]),
        delta=_number(options["delta"]),
        method=None if options["method"] == _USUAL["method"] else repr(options["method"]),
        r2=None if options["r2"] is None else str(options["r2"]),
        choice_only="True" if options["run"] == "select" else None,
        split=_split(options),
        family=None if options["family"] is None else repr(options["family"]),
        effects=None if effects is None else f"[{', '.join(effects.split(','))}]",
        deviation=None if options["deviation"] is None else str(options["deviation"]),
    )
    return [*study, call, "print(plan)"]


def _constructor(study: Study) -> str:
    """A study as Python makes it."""
    variables = [re.sub(r"^(\w+)", r"dpselect.\1", repr(each)) for each in (study.response, *study.predictors)]
    settings = "".join(f", {name}={value}" for name, value in _settings(study).items())
    return f"dpselect.Study({variables[0]}, [{', '.join(variables[1:])}]{settings})"


def _settings(study: Study) -> dict[str, str]:
    """What was stated beside the variables, as Python writes it: persons, clusters, weights, a subgroup and the like."""
    stated = {name: value for name, value in study.to_dict().items() if name in SETTING_NAMES}
    made = {name: repr(value) for name, value in stated.items()}
    if study.only is not None:
        made["only"] = f"[{', '.join(f'dpselect.{each!r}' for each in study.only)}]"
    return made


def _check(options: Options) -> list[str]:
    stated: dict[str, str | None] = {} if options["epsilon"] is None else _choice(options)
    if options["run"] != "analyze":
        stated["run"] = repr(options["run"])
    stated["split"] = _split(options)
    if options["models"]:
        stated["models"] = repr(list(options["models"]))
    study, named, said = _study(options)
    call = _call("checked = dpselect.check", _source(options), *named, **said, **stated)
    lines = [*study, f"{call}  # confidential: do not publish", "print(checked)"]
    if options["output"] is not None:
        lines += _kept_text(options["output"], "checked.page()")
    return lines


def _budget(options: Options) -> list[str]:
    path = ledger_place(options["file"])
    totals = {"epsilon": _number(options["epsilon"]), "delta": _number(options["delta"])} if options["opens"] else {}
    lines = [_call("ledger = dpselect.Ledger", repr(path), **totals), "print(ledger.spent(), ledger.remaining())"]
    return [*lines, "for record in ledger.entries():", "    print(record)"]


def _verify(options: Options) -> list[str]:
    ledger = None if options["ledger"] is None else repr(options["ledger"])
    return [_call("verified = dpselect.verify", repr(options["report"]), ledger=ledger), "print(verified)"]


def _report(options: Options) -> list[str]:
    report = Path(options["report"]).with_suffix(".json")
    if options["board"]:
        raise click.UsageError(
            "In Python a board's page is written with its report: analysis.to_html(page, board=...)."
        )
    calls = {".html": "to_html", ".docx": "to_docx", ".md": "to_markdown", ".tex": "to_latex", ".csv": "to_csv"}
    written = []
    for each in options["outputs"]:
        if Path(each).suffix == ".json":
            written += _kept_text(each, "analysis.to_json()")
        else:
            written.append(f"analysis.{calls.get(Path(each).suffix, 'plot')}({each!r})")
    lines = [f"with open({str(report)!r}, encoding='utf-8') as file:"]
    lines.append("    analysis = dpselect.Analysis.from_json(file.read())")
    return [*lines, *(written or ["print(analysis)"])]


def _resume(options: Options) -> list[str]:
    path = options["ledger"] or ledger_place(options["place"])
    return [
        f"ledger = dpselect.Ledger({path!r})",
        "for waiting in ledger.undelivered():",
        "    print(waiting.time, waiting.text)",
        "    ledger.delivered(waiting.id)",
    ]


def _sql(options: Options) -> list[str]:
    booleans = f", booleans={list(options['booleans'])!r}" if options["booleans"] else ""
    return [
        STUDY.format(**options),
        f"print(dpselect.aggregate_query(study, {options['table']!r}, {options['dialect']!r}{booleans}))",
    ]


def _init(options: Options) -> list[str]:
    stated = {name: None if options[name] is None else repr(options[name]) for name in ("response", "codebook")}
    return [_call("dpselect.init", _source(options), repr(options["output"]), **stated)]


_CODES: dict[str, Callable[[Options], list[str]]] = {
    "init": _init,
    "check": _check,
    "plan": _plan,
    "select": _select,
    "analyze": _analyze,
    "budget": _budget,
    "resume": _resume,
    "report": _report,
    "verify": _verify,
    "sql": _sql,
}
