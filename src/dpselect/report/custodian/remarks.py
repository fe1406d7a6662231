"""Custodian's eyes only. The fit of rows and assumptions, and what would be chosen, in words and rows of a table."""

from __future__ import annotations

from collections.abc import Iterator

from dpselect.assume.budget import plain
from dpselect.rehearse.check.fit import TableFit, VariableFit
from dpselect.rehearse.check.preview import Preview, model_names

WATERMARK = "custodian only, not for release"
OFTEN = 0.05
"""A share of clipped or unusable cells above which the statement deserves a second look."""
FITS = "The data fits the assumptions."


def share(count: int, rows: int) -> str:
    """A count as a share people read: 0, 3 (3.1%), 97 (100%)."""
    hundredths = 100 * count / max(rows, 1)
    return "0" if count == 0 else f"{count:,} ({hundredths:{'.0f' if hundredths >= 10 else '.2g'}}%)"


def fit_rows(fit: TableFit) -> list[list[str]]:
    """One row a variable: name, below, above, missing."""
    return [
        [each.name, share(each.below, fit.rows), share(each.above, fit.rows), share(each.missing, fit.rows)]
        for each in fit.variables
    ]


def advice(fit: TableFit, missing: str) -> list[str]:
    """What the custodian should look at, one sentence each; none only if nothing is remarkable."""
    sentences = [sentence for each in fit.variables for sentence in _remarks(each, fit.rows, missing)]
    if missing == "error" and any(each.missing for each in fit.variables):
        sentences.append(
            "As it stands, a run would stop at the first such cell and charge nothing, so none was rehearsed."
        )
    response = fit.variables[0].name
    for one, other in fit.twins:
        if other == response:
            sentences.append(f"'{one}' is nearly the same as the response: was it computed from it? Then leave it out.")
        else:
            sentences.append(
                f"'{one}' and '{other}' are nearly the same: either may be chosen for both. Keep the one that means more."
            )
    return sentences


def _remarks(each: VariableFit, rows: int, missing: str) -> Iterator[str]:
    unknown = each.missing > OFTEN * rows
    if each.missing and each.unused:
        yield (
            f"'{each.name}': {share(each.missing, rows)} of the cells are missing or of an unstated level, and no row has the "
            f"stated {_quoted(each.unused)}. Is it spelt otherwise in the data?"
        )
    elif each.missing and missing == "error":
        yield (
            f"'{each.name}' has cells that are missing or of an unstated level: clean them, state the level, "
            "or set missing to 'midpoint' or 'zero-row'."
        )
    elif unknown:
        yield f"'{each.name}': {share(each.missing, rows)} of the cells have no usable value. Is its type right?"
    elif each.unused and not each.constant:
        yield f"No row has the level {_quoted(each.unused)} of '{each.name}'."
    if each.below + each.above > OFTEN * rows:
        yield (
            f"Many cells of '{each.name}' lie beyond its bounds. Is the unit right? Widen the bounds only for reasons "
            "that have nothing to do with these rows."
        )
    if each.constant and rows > 1 and each.missing < rows:
        yield f"'{each.name}' is the same in every row once it is clipped, so it can explain nothing. Is the unit right?"


def _quoted(levels: tuple[str, ...]) -> str:
    shown = ", ".join(repr(level) for level in levels[:5])
    return shown + (f" and {len(levels) - 5} more" if len(levels) > 5 else "")


def price_sentence(seen: Preview) -> str:
    """What is rehearsed: the whole price, and the part of it that pays for the choice."""
    whole, part = seen.epsilon, seen.recipe.guarantee.epsilon
    how = f"{seen.recipe.method} by {seen.recipe.mechanism} among {seen.recipe.candidates.count:,} models"
    if part == whole:
        return f"A selection at epsilon {plain(whole)}: {how}."
    return f"An analysis at epsilon {plain(whole)}, of which the choice gets {plain(part)}: {how}."


def chosen_rows(seen: Preview) -> list[list[str]]:
    """One row a term: its chance of being in the chosen model, the likeliest first; and its direction, where that is told."""
    named = sorted(zip(seen.inclusion, seen.terms, strict=True), key=lambda pair: -pair[0])
    return [
        [percent(chance), name, *([direction_text(name, seen)] if seen.directions else [])] for chance, name in named
    ]


def direction_text(term: str, seen: Preview) -> str:
    """The likeliest direction of a term, with the chance that it is told: "up 98.0%", or "[Napa] down 71.2%"."""
    own = {name: chances for name, chances in seen.directions.items() if name == term or name.startswith(f"{term}[")}
    ways = [(chance, name, way) for name, each in own.items() for chance, way in zip(each, ("up", "down"), strict=True)]
    chance, name, way = max(ways, default=(0.0, "", ""))
    return f"{name.removeprefix(term)} {way} {percent(chance)}".strip() if chance > 0 else ""


def model_rows(seen: Preview) -> list[list[str]]:
    """One row a model: the likeliest ones, then those asked for."""
    leading = zip(seen.chances, model_names(seen.models), strict=True)
    asked = [(chance, f"{model_names([model])[0]}  (asked for)") for model, chance in seen.asked]
    return [[percent(chance), name] for chance, name in [*leading, *asked]]


def percent(chance: float) -> str:
    """A chance as people read it; never 0% or 100% where it is neither."""
    if 0 < chance < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= chance < 1 - 1e-9 else f"{chance:.1%}"


def share_sentence(seen: Preview) -> str:
    """How much of what could be explained the choice is expected to explain."""
    if seen.best is None:
        return ""
    if seen.share is None:
        return "Not even without privacy does a model explain the response here: there is nothing to be found."
    model, r2 = seen.best
    return (
        f"Without privacy BIC would choose {model_names([model])[0]}, with an R² of {r2:.2f}. What is chosen in private is "
        f"expected to explain {percent(seen.share)} of that."
    )
