"""The exits alone, one release at a time: what `use.spend` does to all parts of an order, for tests of a part."""

from dpselect.release.account import Account
from dpselect.release.drawn import Request, as_level
from dpselect.release.estimate import draw_estimate, draw_rounds, solved
from dpselect.release.families import Family, family_for
from dpselect.release.sealed import Stage
from dpselect.release.selection import check_selection, draw_selection, selection_charge

NO_ACCOUNT = Account()


def release_selection(scores, recipe, account=NO_ACCOUNT):
    """Choose one candidate, commit the choice with its charge, and hand it over."""
    check_selection(scores, recipe)
    committed = account.commit((selection_charge(recipe),), lambda: draw_selection(scores, recipe))
    committed.delivered()
    return committed.release


def plan_estimate(
    study, columns, *, epsilon, delta, family=None, noise=None, level=0.95, selected=False, directions=None
):
    """Check everything, and fix the noise and its price, from public values alone.

    `family` is the record of one, or its name where the rows can be read again. `selected` says that the model was selected from
    the same rows, and `directions` what the selection says about each column. What `draw_estimate` takes beside a source.
    """
    columns = tuple(sorted(set(columns)))
    kind = family if isinstance(family, Family) else family_for(study, family, delta=delta, noise=noise)
    draws = kind.plan(study, columns, epsilon=epsilon, delta=delta, noise=noise)
    request = Request(
        family=kind.name,
        columns=columns,
        level=as_level(level),
        selected=selected,
        directions=dict(directions or {}),
        study=study,
        guarantee=draws.guarantee,
    )
    return request, kind, draws


def release_estimate(source, plan, account=NO_ACCOUNT):
    """Draw once, commit what was drawn with its charge, and solve from it.

    `source` is moments, or rows where the family reads them again.
    """
    request, kind, draws = plan
    kind.require_source(source, request.study)
    charge = kind.charge(request.study, request.guarantee)
    committed = account.commit((charge,), lambda: draw_estimate(source, *plan))

    def keep(answered):
        committed.keep(Stage(part=0, answered=answered))

    estimate = solved(draw_rounds(source, committed.release, keep, draws))
    committed.delivered()
    return estimate
