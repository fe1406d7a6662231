"""Public. Rounds as a family draws, keeps, solves and resumes them: one price, one path, and the rows read again for each ask.

The path (`path.py`) is a pure function of what was released: the next ask is found by replaying all answers so far, so a run that
was killed between two rounds goes on where its ledger says it was, and a stranger finds the same asks in the same release.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from dpselect.assume.budget import Budget, Guarantee, Price, exact_delta, exact_epsilon, float_below
from dpselect.assume.lemmas.moments import NoiseKind
from dpselect.assume.lemmas.rounds import MAX_ROUND_COLUMNS, answer_size, composed_is_within
from dpselect.assume.queries import Ask, FamilyName, RoundsPlan, Rows
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Count
from dpselect.errors import DataError, DpselectError, LedgerError, StudyError
from dpselect.gather.kept import KeptRows
from dpselect.gather.rounds import RoundSummary, Sums
from dpselect.gather.rows import gather, require_repeatable
from dpselect.randomize.rounds_noise import Answered, Rounds, add_noise, whole_mu
from dpselect.release.account import charge_about
from dpselect.release.drawn import Solved, terms_of
from dpselect.release.ledger.entries import Charge
from dpselect.release.rounds.intervals import Found
from dpselect.release.rounds.path import replay

ROWS_SHARE = 0.01
"""The share of mu squared that buys the number of rows, where it is private and not stated."""

MAX_ROUND_BYTES = 2**27
"""Memory for rows between rounds; longer tables are read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsDraws:
    """Public. All about the rounds of an estimate that is known before a row is read; `mu` is what the whole price buys."""

    study: Study
    columns: tuple[int, ...]
    family: FamilyName
    mu: float
    guarantee: Guarantee

    def __post_init__(self) -> None:
        self.study.require_places(self.columns)
        if len(self.columns) > MAX_ROUND_COLUMNS:
            raise StudyError(
                f"Rounds estimate models of at most {MAX_ROUND_COLUMNS} columns, as far as their sensitivity is proved: consider "
                "fewer variables, or merge categories."
            )


def plan_rounds(
    family: FamilyName,
    study: Study,
    columns: tuple[int, ...],
    *,
    epsilon: Price,
    delta: Price,
    noise: NoiseKind | None = None,
) -> RoundsDraws:
    """Check everything from public values alone; the price does not depend on the columns, which may be selected later."""
    if family == "binomial" and not isinstance(study.response, Binary):
        raise StudyError(
            f"Odds need a response of no and yes: state Binary({study.response.name!r}, [no, yes]), or leave family out."
        )
    if family == "poisson" and not isinstance(study.response, Count):
        raise StudyError(f"Rates need a response of counts: state Count({study.response.name!r}), or leave family out.")
    if noise == "laplace":
        raise StudyError("noise is 'laplace'; rounds have Gaussian noise: leave noise out.")
    if study.person is not None and study.max_rows_per_person is None:
        raise StudyError(
            "An estimate needs max_rows_per_person, because its noise grows with the rows of a person: state it, or choose by "
            "votes, which need none."
        )
    exact = exact_epsilon(epsilon), exact_delta(delta)
    mu = whole_mu(float_below(exact[0]), float_below(exact[1]))
    guarantee = Guarantee(epsilon=exact[0], delta=exact[1], neighbors=study.neighbors)
    return RoundsDraws(study=study, columns=columns, family=family, mu=mu, guarantee=guarantee)


def settle_rounds(plan: RoundsDraws, study: Study, columns: tuple[int, ...], price: Budget) -> RoundsDraws:
    """The plan of a model that was selected: nothing of it depends on the columns but which are read."""
    return dataclasses.replace(plan, columns=columns)


def rounds_charge(family: FamilyName, study: Study, guarantee: Guarantee) -> Charge:
    """What the ledger is told: one price for all rounds. Each draw's rho is at most half the square of its part of mu."""
    mu = whole_mu(float_below(guarantee.epsilon), float_below(guarantee.delta))
    return Charge(
        what="estimate",
        mechanism="gaussian",
        parameters={"family": family, "rho": str(Decimal(math.nextafter(mu**2 / 2, math.inf)))},
        **charge_about(study, guarantee),
    )


def require_rows(source: Any, study: Study) -> None:
    """Refuse what cannot be read once for each round."""
    if not isinstance(source, KeptRows):
        require_repeatable(source, "Coefficients by rounds")


def kept_between_rounds(study: Study) -> KeptRows:
    """What is gathered before anything is charged: how many rows there are, what is wrong with them, and short tables whole."""
    return KeptRows(study, MAX_ROUND_BYTES)


def begin_rounds(source: Any, plan: RoundsDraws) -> Rounds:
    """The release before any round: nothing of it is drawn together with the charge."""
    study = plan.study
    kept = source if isinstance(source, KeptRows) else gather(source, study, kept_between_rounds(study))
    rows = kept.count if counts_are_public(study) else study.expected_rows
    return with_rounds(Rounds(rows=rows, mu=plan.mu, asks=()), plan)


def counts_are_public(study: Study) -> bool:
    """Whether the rows that count may be counted: not those of persons or of a subgroup, nor rows that count by their weights."""
    alone = study.person is None and study.weights is None and study.only is None
    return study.neighbors == "replace-one" and alone


def draw_round(source: Any, study: Study, plan: RoundsDraws, drawn: Rounds) -> tuple[Answered, ...]:
    """The answers to what the path asks after all that was drawn, of rows that are read again."""
    if drawn.mu != plan.mu:  # an account of a server's ledger may commit any text that it pays for
        raise LedgerError("What was drawn so far states other noise than its price buys; nothing more was drawn.")
    ask = what_follows(plan.family, drawn, study, plan.columns)
    if isinstance(ask, Found):
        raise LedgerError("What was drawn so far states that rounds are left, and none are; nothing more was drawn.")
    answered = tuple(
        add_noise(query, sums, study, mu) for (query, mu), sums in zip(ask, _read(source, study, ask), strict=True)
    )
    require_within([*drawn.draws, *answered], plan.guarantee)
    return answered


def with_rounds(drawn: Rounds, plan: RoundsDraws, *answered: tuple[Answered, ...]) -> Rounds:
    """What was drawn, and what further rounds have answered; `done` if nothing follows."""
    drawn = replace(drawn, asks=(*drawn.asks, *answered))
    return replace(drawn, done=isinstance(what_follows(plan.family, drawn, plan.study, plan.columns), Found))


def require_within(draws: list[Answered], guarantee: Guarantee) -> None:
    """Refuse draws that are worth more than the price, whatever a path asks for: nothing of them leaves."""
    parts = [(each.draw.rho, each.draw.sensitivity) for each in draws]
    if not composed_is_within(parts, float_below(guarantee.epsilon), float_below(guarantee.delta)):
        raise DpselectError(
            "A round asks for more than its price buys; nothing was drawn. This is a fault of the program."
        )


def _read(source: Any, study: Study, ask: Ask) -> Sums:
    summary = RoundSummary(study, [query for query, _ in ask])
    return source.replay(summary) if isinstance(source, KeptRows) else gather(source, study, summary)


def what_follows(
    family: FamilyName,
    drawn: Rounds,
    study: Study,
    columns: tuple[int, ...],
    level: float = 0.95,
    considered: int | None = None,
) -> Ask | Found:
    """What follows from what was released so far: another ask, or what was found. No ask depends on the level.

    DataError if a draw is not an answer to its query: a text that was committed may state any.
    """
    if not all(len(each.draw.values) == answer_size(each.query, study) and each.draw.rho > 0 for each in drawn.draws):
        raise DataError("A round of this release has other numbers than were asked for, so nothing follows from it.")
    counted, mu = drawn.rows is None, drawn.mu
    if counted and not drawn.asks:
        return ((Rows(), mu * math.sqrt(ROWS_SHARE)),)
    known = RoundsPlan(
        study=study,
        columns=columns,
        family=family,
        rows=drawn.noisy_rows,
        mu=mu * math.sqrt(1 - ROWS_SHARE) if counted else mu,
        level=level,
        considered=considered,
    )
    return replay(known, [tuple(each.noisy() for each in ask) for ask in drawn.asks[counted:]])


def found_by(family: FamilyName, drawn: Rounds, *about: Any) -> Found:
    """What a release says that is done; refused if rounds are missing. `about` are study, columns, level and considered."""
    found = what_follows(family, drawn, *about)
    if not isinstance(found, Found):
        raise StudyError("Rounds of this release are missing, so nothing can be computed from it.")
    return found


def solve_rounds(
    family: FamilyName,
    drawn: Rounds,
    study: Study,
    columns: tuple[int, ...],
    *,
    level: float,
    considered: int | None,
) -> Solved:
    """Terms in the user's units, from the replayed path: the same each time."""
    found = found_by(family, drawn, study, columns, level, considered)
    return {
        "terms": terms_of(found.names, [0.0] * len(found.names), found.findings),
        "unadjusted": (),
        "residual_deviation": found.residual_deviation,
        "r_squared": found.r_squared,
        "rows": found.rows,
        "scales": found.scales,
    }


def predictive_terms(family: FamilyName, drawn: Rounds, study: Study, columns: tuple[int, ...]) -> dict[str, float]:
    """The coefficients to predict with, by name in the user's units."""
    found = found_by(family, drawn, study, columns)
    return dict(zip(found.names, found.predictive, strict=True))


def rounds_noise_words(drawn: Rounds) -> str:
    """How they were drawn."""
    return f"Gaussian noise on the sums of {len(drawn.asks)} rounds"
