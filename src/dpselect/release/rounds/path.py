"""Public. The path of an estimate by rounds: what is asked next follows from the answers so far, and from nothing else.

First look, first Gram, a coarse step (two to five where the link is curved), the lengths of gradients, the last gradient. Whoever
drives it answers from the rows with noise; `replay` finds the next question, or what was found, from saved answers.

The numbers of this folder that decide something have names. Where no reason stands with one, it was chosen among a few by how long
intervals are and how often they hold, on the tables that decided (docs/RESULTS_ROUNDS.md); no guarantee rests on any of them.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from dpselect.assume.queries import (
    Answer,
    Ask,
    ClusterNorms,
    Gradient,
    Noisy,
    Norms,
    RoundsPlan,
    Sandwich,
    center_of,
    rows_of,
)
from dpselect.assume.records import Public
from dpselect.errors import DpselectError
from dpselect.release.rounds.clips import (
    ANSWER_EDGES,
    CLUSTER_EDGES,
    TAIL_EDGES,
    Clip,
    ClusterClip,
    Half,
    choose_cluster_radius,
    choose_radius,
    choose_radius_of_answers,
    farthest_answer,
    farthest_row,
)
from dpselect.release.rounds.facts import MIN_NU, Facts, facts_of
from dpselect.release.rounds.intervals import Found, Last, found, nothing_found
from dpselect.release.rounds.scales import Scales, look
from dpselect.release.rounds.steps import Standpoint, coarse_step, gram_around, look_around, start

COARSE_PARTS = (0.35, 0.65)
"""Of the price of a coarse step, where there are two: the second is near the end, where more of it shows."""
FAR_MOVE, MORE_STEPS, MOST_FOR_STEPS = 0.35, 3, 0.6
"""A coarse step that moves linear predictors farther for sure has another one after it: so many at most, and for all of them this
share of the price of the last gradient."""
NEAR_MOVE, AROUND_SHARE = 0.25, 0.5
"""Where the last coarse step was longer than that the Hessian is looked at again, for this share of what Grams have cost."""
MAX_CLUSTER_ROW = 8.0
"""Usual lengths at which a row's gradient is cut before its cluster is summed, however long the response's tail."""
MAX_SUM, LEAST_DEVIATION = 1e15, 1e-9
"""More than any sum of rows, and less than any noise: a file may state any."""


def path(plan: RoundsPlan) -> Generator[Ask, Answer, Found]:
    """Ask, be sent the answer, ask again; return what was found. The squares of all mus add up to at most that of the plan."""
    walk = _walk(facts_of(plan))
    try:
        ask = next(walk)
        while True:
            answer = yield ask
            ask = walk.send(tuple(map(_finite, answer)))
    except StopIteration as end:
        result: Found = end.value
        return result


def _walk(facts: Facts) -> Generator[Ask, Answer, Found]:
    if facts.nu < MIN_NU or not facts.width:
        return nothing_found(facts)
    scales = yield from look(facts)
    here = yield from start(facts, scales)
    # A curved link is looked at twice, at a point near the end: its Hessian depends on where it is taken.
    left = _last_share(facts, scales)
    for part in (1.0,) if facts.gaussian else COARSE_PARTS:
        here = yield from coarse_step(facts, scales, here, part)
    if not facts.gaussian:
        here, left = yield from _more_steps(facts, scales, here, left)
    around = 0.0
    if not facts.gaussian and here.moved > NEAR_MOVE:
        around = AROUND_SHARE * min(facts.shares.gram, left)
    clip, clusters = yield from _look_at_lengths(facts, scales, here, left - around)
    here, last = yield from _last_step(facts, scales, here, clip, clusters, left - around, around)
    return found(facts, scales, here, last)


def _finite(noisy: Noisy) -> Noisy:
    """Noise can be anything; nobody's file may make a number that is none."""
    sums = np.clip(np.nan_to_num(np.asarray(noisy.sums, dtype=np.float64)), -MAX_SUM, MAX_SUM)
    deviation = min(max(float(np.nan_to_num(noisy.deviation)), LEAST_DEVIATION), MAX_SUM)
    return Noisy(noisy.query, sums, deviation)


def replay(plan: RoundsPlan, answers: Sequence[Answer]) -> Ask | Found:
    """What follows from these answers: the next ask, or what was found. Refused if they are answers to other questions."""
    walk = path(plan)
    try:
        ask = next(walk)
        for answer in answers:
            if [_form(each.query) for each in answer] != [_form(query) for query, _ in ask]:
                raise DpselectError(
                    "This release was asked other questions than this version of dpselect asks. Use the version that began it."
                )
            ask = walk.send(answer)
    except StopIteration as end:
        result: Found = end.value
        return result
    return ask


def _form(query: Any) -> Any:
    """A query without its numbers, of which another machine finds other last digits."""
    if isinstance(query, Public):
        return type(query), [_form(getattr(query, name)) for name in query.__struct_fields__]
    if isinstance(query, tuple):
        return [_form(each) for each in query]
    return float if isinstance(query, float) else query


def _unit(here: Standpoint) -> float:
    """The length of a usual row's gradient."""
    return math.sqrt(here.matrix.shape[1]) * here.deviation


def _last_share(facts: Facts, scales: Scales) -> float:
    """What closer looks have left of the last gradient's share."""
    return facts.shares.last + facts.shares.first - sum(facts.look_share(turn) for turn in range(scales.looks))


def _more_steps(
    facts: Facts, scales: Scales, here: Standpoint, left: float
) -> Generator[Ask, Answer, tuple[Standpoint, float]]:
    """More coarse steps where effects are so strong that two do not reach the end; and what is left for the last gradient."""
    whole = facts.shares.gram + facts.shares.coarse
    part = min(COARSE_PARTS[-1], MOST_FOR_STEPS / MORE_STEPS * left / whole)
    for _ in range(MORE_STEPS):
        if here.moved_for_sure <= FAR_MOVE:
            break
        here = yield from coarse_step(facts, scales, here, part)
        left -= part * whole
    return here, left


def _look_at_lengths(
    facts: Facts, scales: Scales, here: Standpoint, left: float
) -> Generator[Ask, Answer, tuple[Clip, ClusterClip | None]]:
    """Ask how many gradients have which length, of rows and of clusters; choose the radii of the last clips.

    `left` is the last gradient's share of the price.
    """
    yes_or_no = facts.response == "yes or no"
    query = Norms(
        family=facts.family,
        standard=here.standard,
        matrix=rows_of(here.matrix),
        center=center_of(here.center),
        edges=tuple(((ANSWER_EDGES if yes_or_no else TAIL_EDGES) * _unit(here)).tolist()),
        halves="response" if yes_or_no else "none",
    )
    ask: Ask = ((query, facts.mu * math.sqrt(facts.shares.radii)),)
    if facts.clustered:
        row_radius = min(scales.long_tail, MAX_CLUSTER_ROW)
        lengths = ClusterNorms(
            family=facts.family,
            standard=here.standard,
            matrix=query.matrix,
            center=query.center,
            radius=row_radius * _unit(here),
            edges=tuple((CLUSTER_EDGES * _unit(here)).tolist()),
        )
        ask = (*ask, (lengths, facts.mu * math.sqrt(facts.shares.clusters)))
    reply, *clusters = yield ask
    noise_a_radius = facts.replaced / (facts.row_mu * math.sqrt(left))
    width = here.matrix.shape[1]
    if yes_or_no:
        halves = _halves_of_answers(facts, scales, here, reply)
        clip = choose_radius_of_answers(
            halves,
            reply.deviation,
            facts.rows,
            width=width,
            tail=scales.tail,
            farthest=farthest_answer(scales.reach, scales.mean, width),
            noise_a_radius=noise_a_radius,
        )
    else:
        clip = choose_radius(
            reply.sums[0],
            reply.deviation,
            facts.rows,
            width=width,
            tail=scales.tail,
            farthest=farthest_row(
                scales.response_extent, scales.extent, here.deviation, width, counts=facts.family == "poisson"
            ),
            noise_a_radius=noise_a_radius,
        )
    return clip, choose_cluster_radius(facts, clusters[0], clip.radius) if clusters else None


def _halves_of_answers(facts: Facts, scales: Scales, here: Standpoint, lengths: Noisy) -> list[Half]:
    """The rows with no and those with yes: a residual is near the chance of yes, or what is left of it to one."""
    yes, root = scales.mean, math.sqrt(scales.mean * (1 - scales.mean)) * here.deviation
    bins = [
        min(max(int(np.searchsorted(ANSWER_EDGES, part / root)), 0), len(ANSWER_EDGES) - 3) for part in (yes, 1 - yes)
    ]
    shares = (1 - yes, yes)
    return [Half(lengths.sums[k], bins[k], facts.rows * shares[k]) for k in range(2)]


def _last_step(
    facts: Facts,
    scales: Scales,
    here: Standpoint,
    clip: Clip,
    clusters: ClusterClip | None,
    left: float,
    around: float,
) -> Generator[Ask, Answer, tuple[Standpoint, Last]]:
    """Ask for the gradient at the standpoint with most of the price, and the sandwich in the same pass; make the last step.

    Where the link is curved and the step to here was long, for the Hessian too, with the share `around`.
    """
    place: dict[str, Any] = {
        "family": facts.family,
        "standard": here.standard,
        "matrix": rows_of(here.matrix),
        "center": center_of(here.center),
        "radius": clip.radius * _unit(here),
    }
    shares = facts.shares
    ask: Ask = ((Gradient(**place), facts.mu * math.sqrt(left)),)
    asked = shares.sandwich > 0 and (clusters is not None or not facts.clustered)
    if asked:
        within = None if clusters is None else clusters.radius * _unit(here)
        ask = (*ask, (Sandwich(**place, cluster_radius=within), facts.mu * math.sqrt(shares.sandwich)))
    of_squares = len(ask)
    if shares.residuals > 0:
        # Of the constant alone a gradient is the residual, and the sandwich the sum of their squares.
        constant = rows_of(np.eye(len(here.center))[:, :1])
        alone = place | {"matrix": constant, "radius": scales.long_tail}
        ask = (*ask, (Sandwich(**alone), facts.mu * math.sqrt(shares.residuals)))
    if around:
        ask = (*ask, (gram_around(facts, here), facts.mu * math.sqrt(around)))
    replies = yield ask
    if around:
        here = look_around(facts, here, replies[-1])
    last = Last(
        step=here.inverse @ replies[0].sums,
        noise=replies[0].deviation,
        clip=clip,
        unit=_unit(here),
        sandwich=replies[1] if asked else None,
        clusters=clusters,
        squares=replies[of_squares] if shares.residuals > 0 else None,
    )
    return here, last
