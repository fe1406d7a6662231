"""Public. What is shown before a run spends anything, and the confirmation that it asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import click

from dpselect.assume.budget import Budget, plain
from dpselect.assume.power import visible_share
from dpselect.assume.queries import RoundsPlan
from dpselect.assume.recipe import Recipe
from dpselect.assume.source_form import SourceForm
from dpselect.assume.variables import Binary, Categorical
from dpselect.errors import NotConfirmed
from dpselect.randomize.rounds_noise import whole_mu
from dpselect.release.account import Account
from dpselect.release.rounds.facts import MIN_NU, ExpectedLength, expected_length, facts_of
from dpselect.report.phrases import (
    BETTER,
    LARGE_DELTA,
    LITTLE_SHARE,
    VISIBLE_SHARE,
    are_long,
    cost_text,
    length_sentence,
    names_with_more,
    no_directions,
    share_text,
    strength,
    suspicion,
)
from dpselect.use.order import Order
from dpselect.use.proposal import IS_TEXT, LIKE_IDENTIFIER, NO_NAME, NOT_WANTED, Proposal
from dpselect.use.shell.ledgers import LedgerOptions
from dpselect.use.shell.terminal import on_terminal, pairs, tell


def privacy_line(price: Budget) -> str:
    """The cost of a run and what it means."""
    return (
        f"{cost_text(price.epsilon, price.delta)}: {strength(price.epsilon, price.delta)}. {suspicion(price.epsilon)}"
    )


def expected(order: Order, rows: int | None) -> str:
    """What would be found, and how long intervals would be, where the number of rows is public; and what is better, if little."""
    if order.method is None or not order.method.rule.counts_rows:
        return ""
    recipe = order.recipe(rows)
    share, beside = visible_share(recipe, math.inf), visible_share(recipe, math.inf, 1)
    if share is None:
        return ""
    found, lengths = "This table is small for its privacy level. Expect to find nothing.", ""
    if share < VISIBLE_SHARE:
        several, alone = share_text(min(beside or share, share)), share_text(share)
        only = "" if several == alone else f", or {alone} if it is the only one"
        found = f"A variable that explains {several} of the variance or more would be found with probability 80%{only}."
    asked, times = order.estimating, None
    told = "" if recipe.directions else no_directions(estimated=asked is not None)
    if asked is not None and asked.family.reads_rows:
        times = _expected_times(order, recipe)
        lengths = length_sentence(times)
    little = lengths and (not share < LITTLE_SHARE or are_long(times))
    return " ".join(each for each in (found, told, lengths, BETTER if little else "") if each)


def _expected_times(order: Order, recipe: Recipe) -> ExpectedLength | None:
    """How many times as long as without privacy intervals of a model of half the columns would be; None where none are given."""
    asked, study = order.estimating, order.study
    rows = study.expected_rows or recipe.rows
    assert asked is not None and rows is not None
    every = range(len(study.columns))
    mu = whole_mu(float(asked.price.epsilon), float(asked.price.delta))
    # Which columns will be selected is not known, and may not be: half of them is a guess that needs no row.
    plan = RoundsPlan(
        study=study, columns=tuple(every)[: (len(every) + 2) // 2], family=asked.family.name, rows=rows, mu=mu
    )
    return None if facts_of(plan).nu < MIN_NU else expected_length(plan)


def confirm(
    order: Order,
    ledger: LedgerOptions,
    account: Account,
    *,
    yes: bool,
    proposal: Proposal | None,
    label: str,
    rows: int | None,
    quiet: bool = False,
) -> None:
    """Say what would be done and what it costs, and ask for a yes. Without a terminal only `--yes` is one."""
    price = order.budget
    if price.delta > LARGE_DELTA:
        tell(f"Delta {plain(price.delta)} is large: the promise fails with that probability. 1e-6 or less is usual.")
    # Who says yes beforehand is asked nothing, but weak promises and hopeless tables are still worth a line in the log.
    if yes:
        require_stated(proposal, label)
        if strength(price.epsilon, Decimal(0)) == "weak":  # a large delta was just named
            tell(_weak(price.epsilon))
        if not quiet and BETTER in (words := expected(order, rows)):
            tell(words)
        return
    # A pipe's "y" is nobody's consent: without a terminal the option is the only yes.
    if not on_terminal():
        require_stated(proposal, label)
        raise NotConfirmed(
            f"Not confirmed: no terminal to ask. Add `--yes` to spend epsilon {plain(price.epsilon)}. Nothing was spent."
        )
    lines = [] if proposal is None else proposal_lines(proposal)
    if order.study.missing == "error":
        lines.append(("missing", "an empty cell stops the run; --missing zero-row leaves such rows out"))
    lines.append(("privacy", privacy_line(price)))
    if words := expected(order, rows):
        lines.append(("expect", words))
    lines.append(("budget", ledger.afterwards(account, price)))
    if proposal is not None and proposal.by_look:
        tell(
            f"{label}: types guessed from the first rows. Agree only to what you know to be so: it becomes part of the study and "
            "the report. To change it, use --predictors (numbers), --categories or --without."
        )
    tell(pairs(lines))
    if not _agreed(price.epsilon):
        raise NotConfirmed("Not confirmed. Nothing was spent.")


def _agreed(epsilon: Decimal) -> bool:
    """A yes; of a weak promise the number itself, so that nobody spends it by habit."""
    if strength(epsilon, Decimal(0)) != "weak":
        return click.confirm(f"Spend epsilon {plain(epsilon)}?", err=True)
    tell(_weak(epsilon))
    typed = click.prompt(
        f"Type {plain(epsilon)} to spend it anyway", default="", show_default=False, err=True, prompt_suffix=": "
    )
    return str(typed).strip() == plain(epsilon)


def _weak(epsilon: Decimal) -> str:
    said = suspicion(epsilon)
    return f"Epsilon {plain(epsilon)} is weak: {said[0].lower()}{said[1:]}"


def require_stated(proposal: Proposal | None, label: str) -> None:
    """Refuse types that a file only looks like where nobody is asked: nothing that was guessed from rows may decide a release."""
    if proposal is not None and proposal.by_look:
        # All names that are still open, in an order that no cell decides.
        known = [each.name for each in proposal.study.predictors if not isinstance(each, Categorical)]
        known += [name for name, why in proposal.left_out if why != NOT_WANTED]
        raise NotConfirmed(
            f"Not confirmed: {label} does not say what its columns hold, and nobody is asked here. State which of them are "
            f"numbers (`--predictors`; still open: {names_with_more(sorted(known))}), and all categories of the others "
            "(`--categories`), or give `--study FILE`; and add `--yes`. Nothing was spent."
        )


def proposal_lines(proposal: Proposal, listed: Callable[[Sequence[str]], str] = ", ".join) -> list[tuple[str, str]]:
    """Which columns would be considered, as what, and which not; all of them, for a person who agrees, or as `listed` has them."""
    study = proposal.study
    categorical = [each for each in study.predictors if isinstance(each, Categorical | Binary)]
    lines = [
        ("response", _with_categories(study.response) if isinstance(study.response, Binary) else study.response.name)
    ]
    flags = [each.name for each in categorical if each.categories == (0, 1)]
    numbers = [each.name for each in study.predictors if each not in categorical]
    said = [f"{listed(numbers)}{' (numbers)' if categorical else ''}"] if numbers else []
    said += [f"{listed(flags)} (yes or no: 1 or 0)"] if flags else []
    said += [_with_categories(each) for each in categorical if each.name not in flags]
    lines += [("" if k else "considered", each) for k, each in enumerate(said)]
    reasons: dict[str, list[str]] = {}
    for name, why in proposal.left_out:
        reasons.setdefault(why, []).append(name)
    for k, (why, names) in enumerate(reasons.items()):
        lines.append(("" if k else "left out", f"{listed(names)} ({_how_to_include(why, names)})"))
    if study.source is not None:
        lines.append(("read as", _form_words(study.source)))
    return lines


def _with_categories(variable: Binary | Categorical) -> str:
    if variable.categories == (0, 1):
        return f"{variable.name} (yes or no: 1 or 0)"
    listed = [f'"{each}"' if "," in str(each) else str(each) for each in variable.categories]
    return f"{variable.name} (categories {', '.join(listed)})"


def _how_to_include(why: str, names: Sequence[str]) -> str:
    if why == IS_TEXT:
        how = f"--categories {names[0]}=A,B, or in a study file"
        return f"text: to include one, list all its categories, a common one first, as in {how}"
    if why == NO_NAME:
        return "no name: to include one, name it in the table"
    if why == LIKE_IDENTIFIER:
        return f"{why}: to include one, name it in --predictors"
    return why


def _form_words(form: SourceForm) -> str:
    mark = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar"}.get(form.delimiter, form.delimiter)
    comma = "; for decimal commas add --decimal ," if form.delimiter == ";" and form.decimal == "." else ""
    return f"text with the delimiter {mark}, encoding {form.encoding}, decimal {form.decimal!r}{comma}"
