"""Public. A report as an entry of the Differential Privacy Deployments Registry (registry.opendp.org): its YAML file, tiers 1 to 3.

What the report says is taken from it; what only people know (who publishes, what for, why so) is stated. Field names are those of
the registry's data as of September 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.subgroup import subgroup_words
from dpselect.errors import StudyError
from dpselect.randomize.rounds_noise import Rounds
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.answer import charge_fact, has_ranges, methodology, not_covered, remaining_words


class Deployment(Public, frozen=True, kw_only=True):
    """What a report cannot know about its publication; `rationale`, why these choices were made, is what makes an entry tier 3."""

    curator: str
    use: str
    curator_type: str = "Government"
    region: str = ""
    sector: str = "Government"
    authors: tuple[str, ...] = ()
    url: str = ""
    rationale: str = ""

    def __post_init__(self) -> None:
        for name in ("curator", "use"):
            if not getattr(self, name).strip():
                raise StudyError(f"An entry of the registry needs to say {name}: state it in a few words.")


def registry_entry(analysis: AnalysisRecord, stated: Deployment) -> dict[str, Any]:
    """The entry as plain values: tier 3 with a rationale, else tier 2."""
    study, guarantee = analysis.selection.study, analysis.guarantee
    title = analysis.title or f"What explains {study.response.label or study.response.name}"
    facts = dict(methodology(analysis))
    charges = [charge_fact(release) for release in analysis.releases]
    parameters = {"epsilon": float(guarantee.epsilon)} | ({"delta": float(guarantee.delta)} if guarantee.delta else {})
    entry: dict[str, Any] = {
        "url_slug": _slug(title),
        "status": "Draft",
        "tier": 3 if stated.rationale else 2,
        "deployment": {
            "basic": {
                "name": title,
                "data_curators": [{"data_curator_name": stated.curator, "data_curator_type": stated.curator_type}],
                "intended_use": stated.use,
                "data_product_type": "Summary statistics",
                "data_product_region": stated.region,
                "description": _description(analysis),
                "publication_date": analysis.made,
                "data_product_sector": stated.sector,
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if guarantee.delta else "Pure DP",
                "data_domain": _domain(study),
                "unprotected_quantities": _unprotected(study),
            },
            "privacy_loss": {
                "privacy_unit": "Row-level" if study.person is None else "Person-level",
                "privacy_unit_details": _unit(study),
                "privacy_parameters": parameters,
                "privacy_parameters_details": "\n".join(
                    f"- {each.what}: {each.how}, epsilon {each.epsilon}, delta {each.delta}" for each in charges
                ),
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "The curator holds the rows and runs the mechanism; only the report leaves.",
                "actors": f"- {stated.curator}, which holds the rows and runs dpselect.\n- Readers of the report. The promise "
                "holds whatever else they know.",
                "release_type": "One release",
                "release_type_details": "The report is published once; its cost is that of all that it says."
                + (
                    f" It was released together with reports on {', '.join(analysis.beside)}, whose costs add up with its own."
                    if analysis.beside
                    else ""
                ),
                "data_source_type": "Static",
                "access_type": "Non-interactive",
                "access_type_details": "Readers see the report and cannot query the rows.",
            },
            "accounting": {
                "post_processing": "Coefficients, intervals and sentences are computed from the noisy answers alone; anyone can "
                "compute them again from the report (`dpselect verify`).",
                "composition": f"{_composition(analysis)} {remaining_words(analysis.releases[-1].receipt)}".strip(),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Ranges, categories and all settings were stated before the rows "
                "were read, and the report prints them. Nothing was tuned on the rows.\n"
                + _said(facts, "Several responses", "Terms", "Subgroup", "Missing values", "Weights", "Clusters"),
                "mechanisms": _said(facts, "Selection", "Coefficients", "Odds ratios", "Rate ratios", "Random numbers")
                + "\n- Arithmetic: sums are exact whole numbers, so that no rounding changes a sensitivity.\n- Not covered: "
                + " ".join(not_covered(study))
                + f"\n- Software: dpselect {analysis.selection.version}",
                "justification": stated.rationale,
            },
            "administrative": {
                "sources": f"- Report: {stated.url}" if stated.url else "",
                "registry_authors": list(stated.authors) or [stated.curator],
            },
        },
    }
    return entry


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "deployment"


def _composition(analysis: AnalysisRecord) -> str:
    if analysis.coefficients is None:
        return "The selection is one release, with nothing to compose."
    within = "; within the coefficients the rounds compose as Gaussian mechanisms"
    rounds = isinstance(analysis.coefficients.released, Rounds)
    return f"Epsilons and deltas of the selection and the coefficients add up{within if rounds else ''}."


def _description(analysis: AnalysisRecord) -> str:
    study, selection = analysis.selection.study, analysis.selection
    count = len(study.predictors)
    whom = "" if study.only is None else f", among rows with {subgroup_words(study.only)}"
    said = "Which of {} variables explain {}{}: {}."
    model = said.format(count, study.response.label or study.response.name, whom, selection.formula)
    if analysis.coefficients is None:
        return model
    return f"{model} With the {analysis.coefficients.kind.words.many} of the selected variables and their intervals."


def _domain(study: Study) -> str:
    used = [variable.name for variable in (study.response, *study.predictors)]
    design = [name for name in (study.weights, study.cluster, study.person) if name is not None]
    names = ", ".join(dict.fromkeys([*used, *(each.name for each in study.only or ()), *design]))
    moved = " Values outside the stated ranges are moved to the nearest limit." if has_ranges(study) else ""
    return f"All tables with the columns {names}, one row a record.{moved}"


def _unprotected(study: Study) -> str:
    known = "None"
    if study.neighbors == "replace-one":
        known = "The number of rows" if study.person is None else "The number of persons"
    return f"{known}. Ranges, categories and settings are public statements and were not read from the rows."


def _unit(study: Study) -> str:
    unit = "one row" if study.person is None else f"all rows of one person, told apart by the column {study.person}"
    if study.person is not None and study.cluster not in (None, study.person):
        unit += f" within one cluster of {study.cluster}"
    if study.max_rows_per_person is not None:
        unit += f", of which at most {study.max_rows_per_person:,} count in the coefficients"
    how = "replacing" if study.neighbors == "replace-one" else "adding or removing"
    return f"Tables are adjacent if they differ by {how} {unit} (`{study.neighbors}`)."


def _said(facts: Mapping[str, str], *names: str) -> str:
    return "\n".join(f"- {name}: {facts[name]}" for name in names if name in facts)


def as_yaml(entry: Mapping[str, Any]) -> str:
    """The text of the entry's file. Quoted strings are those of JSON, which YAML takes; long ones keep their lines."""
    return "".join(_lines(entry, 0))


def _lines(values: Mapping[str, Any], depth: int) -> Iterator[str]:
    room = "  " * depth
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield f"{room}{name}:\n"
            yield from _lines(value, depth + 1)
        elif isinstance(value, list):
            yield f"{room}{name}:\n"
            for each in value:
                if isinstance(each, Mapping):
                    yield f"{room}  -\n"
                    yield from _lines(each, depth + 2)
                else:
                    yield f"{room}  - {_scalar(each)}\n"
        elif isinstance(value, str) and "\n" in value:
            yield f"{room}{name}: |\n"
            yield from (f"{room}  {line}\n".rstrip(" ") for line in value.strip().split("\n"))
        else:
            yield f"{room}{name}: {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        mantissa, _, power = f"{value:.12g}".partition("e")
        # A number of YAML 1.1 has a point, also before a power.
        return (mantissa if "." in mantissa else f"{mantissa}.0") + (f"e{power}" if power else "")
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)
