"""`--show-code`: the Python that does what a command would do, for those who go on in a script or a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpselect.use.shell.ledgers import Till, beside
from dpselect.use.shell.sources import csv_form, label, source_of

Options = dict[str, Any]
STUDY = "study = dpselect.read_assumptions({study!r})"
_USUAL = {"method": "votes", "mechanism": "permute-and-flip", "level": 0.95, "intervals": "plain", "scale": "response"}


def with_code(name: str, command: click.Command) -> click.Command:
    """The same command with the option `--show-code`, if it has an equivalent in Python."""
    if name not in _CODES or any(each.name == "show_code" for each in command.params):
        return command
    run = command.callback
    assert run is not None

    def run_or_show(*, show_code: bool, **options: Any) -> None:
        if show_code:
            click.echo(python_code(name, options))
        else:
            run(**options)

    command.params.append(click.Option(["--show-code"], is_flag=True, help="Print the same in Python, and do nothing."))
    command.callback = run_or_show
    return command


def python_code(name: str, options: Options) -> str:
    """The Python of a command with these options."""
    return "\n".join(["import dpselect", "", *_CODES[name](options)])


def _call(function: str, *arguments: str, **options: str | None) -> str:
    stated = [f"{name}={value}" for name, value in options.items() if value is not None]
    line = f"{function}({', '.join([*arguments, *stated])})"
    return line if len(line) <= 100 else f"{function}(\n    " + ",\n    ".join([*arguments, *stated]) + ",\n)"


def _number(text: str | None) -> str | None:
    """A number as Python writes it; what is none stays text, and Python will say what is wrong."""
    return text if text is None or re.fullmatch(r"\d+(\.\d+)?(e-?\d+)?", text) else repr(text)


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
    """The ledger as the command would open it: as it is, or new with these totals."""
    path = options["ledger"] or str(beside(options["study"]))
    stated = options["total_epsilon"], options["total_delta"]
    if Till(path).existing() is not None and stated == (None, None):
        return _call("ledger = dpselect.Ledger", repr(path))
    return _call(
        "ledger = dpselect.Ledger", repr(path), epsilon=_number(stated[0] or "10"), delta=_number(stated[1] or "1e-5")
    )


def _choice(options: Options) -> dict[str, str | None]:
    """What decides the choice, where it is not the usual."""
    said = {name: repr(options[name]) for name in ("method", "mechanism") if options[name] != _USUAL[name]}
    if options["max_size"] is not None:
        said["candidates"] = f"dpselect.Subsets(max_size={options['max_size']})"
    if options["penalty"] is not None:
        said["penalty"] = _number(options["penalty"]) or ""
    return {"epsilon": _number(options["epsilon"]), "delta": _number(options["delta"]), **said}


def _paid(options: Options) -> dict[str, str]:
    return {"ledger": "ledger", "data": repr(label(options["data"] or Path(options["moments"] or "").name))}


def _select(options: Options) -> list[str]:
    choice = _choice(options)
    if options["tune"]:
        choice.pop("method", None), choice.pop("delta", None)
    name = "dpselect.select_tuned" if options["tune"] else "dpselect.select"
    call = _call(f"selection = {name}", _source(options), "study", **choice, **_paid(options))
    lines = [STUDY.format(**options), _ledger(options), call, "print(selection)"]
    if options["output"] is not None:
        lines += [
            f"with open({options['output']!r}, 'w', encoding='utf-8') as file:",
            "    file.write(selection.to_json())",
        ]
    return lines


def _analyze(options: Options) -> list[str]:
    said: dict[str, str | None] = {
        name: repr(options[name]) for name in ("level", "intervals", "scale") if options[name] != _USUAL[name]
    }
    if options["tune"]:
        said["tune"] = "True"
    if options["split"] is not None:
        said["split"] = repr(tuple(options["split"].split(":", 1)))
    call = _call("analysis = dpselect.analyze", _source(options), "study", **_choice(options), **said, **_paid(options))
    report = _call(
        "analysis.report",
        repr(options["output"]),
        title=repr(options["title"]) if options["title"] else None,
        board=None if options["board"] is None else repr(options["board"]),
    )
    return [
        STUDY.format(**options),
        _ledger(options),
        call,
        "print(analysis.selection)",
        "print(analysis.coefficients)",
        report,
    ]


def _plan(options: Options) -> list[str]:
    if options["method"] == "votes":
        call = _call(
            "plan = dpselect.rehearse.outlook_study",
            "study",
            rows=str(options["rows"]),
            epsilon=_number(options["epsilon"]),
            r2=None if options["r2"] is None else str(options["r2"]),
            choice_only="True" if options["choice_only"] else None,
        )
        lines = [STUDY.format(**options), call, "print(plan.verdict)"]
        return lines if options["choice_only"] else [*lines, *_lengths(options)]
    effects = options["effects"]
    call = _call(
        "plan = dpselect.rehearse.plan_study",
        "study",
        rows=str(options["rows"]),
        epsilon=_number(options["epsilon"]),
        delta=_number(options["delta"]),
        effects=None if effects is None else f"[{', '.join(effects.split(','))}]",
        deviation=None if options["deviation"] is None else str(options["deviation"]),
        wanted=str(options["wanted"]),
    )
    return [STUDY.format(**options), call, "print(plan.verdict)"]


def _lengths(options: Options) -> list[str]:
    call = _call(
        "lengths = expected_intervals",
        "study",
        rows=str(options["rows"]),
        epsilon=_number(options["epsilon"]),
        delta=_number(options["delta"]),
        r2=None if options["r2"] is None else str(options["r2"]),
    )
    return [
        "",
        "from dpselect.use.interval_plan import expected_intervals",
        "",
        call,
        "print(lengths and lengths.words(study))",
    ]


def _check(options: Options) -> list[str]:
    lines = [
        "from dpselect.gather.table import table_cells",
        "from dpselect.rehearse.check.fit import measure_fit",
        "",
        STUDY.format(**options),
        f"fit = measure_fit(table_cells({_source(options)}, study), study)  # private: for the custodian's eyes only",
        "for variable in fit.variables:",
        "    print(variable.name, variable.below, variable.above, variable.missing)",
    ]
    return lines if options["epsilon"] is None else [*lines, "# what would be chosen is shown by the command alone"]


def _budget(options: Options) -> list[str]:
    path = str(beside(options["file"])) if Path(options["file"]).suffix == ".toml" else options["file"]
    totals = {"epsilon": _number(options["epsilon"]), "delta": _number(options["delta"])} if options["opens"] else {}
    lines = [_call("ledger = dpselect.Ledger", repr(path), **totals), "print(ledger.spent(), ledger.left())"]
    return [*lines, "for record in ledger.records():", "    print(record)"]


def _verify(options: Options) -> list[str]:
    ledger = "" if options["ledger"] is None else f", dpselect.Ledger({options['ledger']!r})"
    return [
        "from dpselect.report.verify.verify import check_report",
        "",
        f"with open({options['report']!r}, encoding='utf-8') as file:",
        f"    checks = check_report(file.read(){ledger})",
        "for check in checks:",
        "    print(check.holds, check.what, check.found)",
    ]


def _sql(options: Options) -> list[str]:
    booleans = f", booleans={list(options['booleans'])!r}" if options["booleans"] else ""
    return [
        STUDY.format(**options),
        f"print(dpselect.aggregate_query(study, {options['table']!r}, {options['dialect']!r}{booleans}))",
    ]


def _init(options: Options) -> list[str]:
    return [
        "from dpselect.gather.sources.open import read_schema",
        "",
        f"for column in read_schema({_source(options)}):",
        "    print(column.name, column.kind)  # names and types: all that is read; the bounds are yours to state",
    ]


_CODES: dict[str, Callable[[Options], list[str]]] = {
    "init": _init,
    "check": _check,
    "plan": _plan,
    "select": _select,
    "analyze": _analyze,
    "budget": _budget,
    "verify": _verify,
    "sql": _sql,
}
