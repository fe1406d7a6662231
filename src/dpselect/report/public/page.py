"""Public. The report as one HTML file that needs nothing else: no script, no network."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dpselect.release.analysis import AnalysisRecord
from dpselect.report.public.choice_facts import facts_of
from dpselect.report.public.facts import Facts
from dpselect.report.public.forest import forest_plot, runs_out
from dpselect.report.public.guard import require_public
from dpselect.report.public.numbers import number, span

if TYPE_CHECKING:
    from jinja2 import Environment


def report_page(analysis: AnalysisRecord) -> str:
    """The public page of an analysis."""
    return render_public(facts_of(analysis))


def render_public(facts: Facts) -> str:
    """The public template, filled with public facts and nothing else."""
    require_public(facts)
    plots: tuple[str, ...] = ()
    arrows = False
    if facts.estimate is not None:
        estimate, response = facts.estimate, facts.response
        unit = f"{response.title} ({response.unit})" if response.unit else response.title
        ratios = bool(estimate.quantity)
        what = f"{estimate.one} of {estimate.subject}" if ratios else f"change in {unit}"
        asked = {"adjusted": estimate.selected, "ratios": ratios}
        plots = tuple(forest_plot(estimate.coefficients, what, narrow=narrow, **asked) for narrow in (False, True))
        arrows = runs_out(estimate.coefficients, **asked)
    return render("report.html.j2", facts=facts, plots=plots, arrows=arrows)


def render(template: str, **values: Any) -> str:
    """A template of this package, with everything escaped and an undefined name an error."""
    return environment().get_template(template).render(**values)


@cache
def environment() -> Environment:
    """Jinja, set up once."""
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    folder = files("dpselect.report") / "templates"
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir() if each.is_file()}
    made = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["number"] = number
    made.globals["span"] = span
    made.filters["drawing"] = Markup  # only for text that report/public/svg.py made, which escapes what it is given
    made.filters["breakable"] = lambda name: Markup("_<wbr>").join(Markup.escape(part) for part in name.split("_"))
    made.filters["in_script"] = lambda text: Markup(text.replace("<", "\\u003c"))
    return made
