"""Private. The least loss of one candidate, exactly: the lasso path of its columns in integers, for every input.

The loss is min { y'y - 2 c'b + b'Gb : b = 0 outside M, ||b||_1 <= R }. For theta >= 0 let b(theta) solve the same problem with the
price 2 theta ||b||_1 in place of the bound: q = c - Gb has q_j = theta sign(b_j) where b_j is not 0 and |q_j| <= theta
elsewhere. Those conditions with ||b||_1 = R, or with theta = 0 and ||b||_1 <= R, are the conditions (KKT) of the bounded problem,
which is convex, so they suffice. From theta = infinity, b = 0, the path is followed down until the first of the two holds.

Each piece of the path has a support S with signs s: b_S = a - theta u, with a = G_SS^-1 c_S and u = G_SS^-1 s, and its norm grows
as theta falls (s'u > 0). It ends where a coefficient reaches zero (leaves S) or another |q_j| reaches theta (j joins S).

Ties. The path of a problem whose prices are theta + eps_j, 1 >> eps_0 >> eps_1 >> ... > 0, is followed, and its standard part is
returned; the conditions are closed, so the standard part satisfies those of the problem asked. Two events never tie: in terms
of the eps, that of a j outside S is the only one with eps_j outside S, those of two members of S are two rows of G_SS^-1, and
q_j cannot reach both its limits while theta > 0. So each piece is entered once, by one exchange, at a lower theta than the
last; there are finitely many pieces (S, s), and each holds on one interval of theta: no cycling.

Singular designs. A j that depends linearly on S has Schur complement 0 and, as c is in the range of G, zero residual
correlation; its event is then at theta = 0 but for the eps, where the path has stopped. So every pivot is positive.

Arithmetic. The table holds the swept moments times their common denominator, det G_SS: an exchange (Jordan's elimination
with Bareiss' division) keeps all entries integers, minors of the moments, and every division is exact.

Tested: tests/minimize/losses/test_exact.py
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect.assume.candidates import columns_of
from dpselect.gather.moments import Integers

PRODUCT_UNIT = 2**40
"""Products are integers in units of 1/PRODUCT_UNIT."""

_Condition = tuple[int, int, int, int]


class _Path:
    """Private. The moments of some columns (the response last), swept on the support; all entries times `scale`."""

    def __init__(self, table: list[list[int]]) -> None:
        self.table = table
        self.scale = 1
        self.signs = [0] * (len(table) - 1)

    def exchange(self, p: int) -> None:
        """Move column p into the support, or out of it: a principal pivot."""
        table, scale = self.table, self.scale
        row = table[p]
        pivot = row[p]
        for i, other in enumerate(table):
            if i != p:
                factor = other[p]
                if factor:
                    changed = [(x * pivot - factor * y) // scale for x, y in zip(other, row, strict=True)]
                else:
                    changed = [x * pivot // scale for x in other]
                changed[p] = factor
                table[i] = changed
        table[p] = [-y for y in row]
        table[p][p] = scale
        self.scale = pivot

    def slopes(self) -> list[int]:
        """For each column j, the sum of its row over the support, with signs: u_j in S, how q_j moves with theta outside."""
        support = [(k, s) for k, s in enumerate(self.signs) if s]
        return [sum(row[k] * s for k, s in support) for row in self.table[:-1]]

    def slacks(self, slopes: list[int]) -> list[_Condition]:
        """(A, B, column, sign): the conditions of this piece, each A theta + B >= 0.

        For a member of S that its coefficient has its sign; for another column that sign * q_j <= theta.
        """
        conditions: list[_Condition] = []
        for j, (row, slope) in enumerate(zip(self.table, slopes, strict=False)):
            own, signs = (0, (self.signs[j],)) if self.signs[j] else (self.scale, (1, -1))
            conditions.extend((own - t * slope, -t * row[-1], j, t) for t in signs)
        return conditions

    def _tie_breaker(self, event: _Condition) -> list[Fraction]:
        """The event's place in terms of eps_0, eps_1, ...; of two events at one theta the larger comes first."""
        rate, _, j, t = event
        place = [Fraction(t * self.table[j][k] * s, rate) for k, s in enumerate(self.signs)]
        if not self.signs[j]:
            place[j] -= Fraction(self.scale, rate)
        return place

    def next_event(self, slopes: list[int]) -> _Condition | None:
        """The condition that fails first as theta falls, if one does before theta = 0."""
        first: _Condition | None = None
        for event in self.slacks(slopes):
            rate, start = event[:2]
            if not (rate > 0 and start < 0):
                continue
            if first is None:
                first = event
                continue
            lead = start * first[0] - first[1] * rate
            if lead < 0 or (lead == 0 and self._tie_breaker(event) > self._tie_breaker(first)):
                first = event
        return first

    def solution(self, slopes: list[int], theta: Fraction) -> tuple[Fraction, list[Fraction]]:
        """(loss, coefficients) of this piece at theta, in the units of the table."""
        steepness = sum(s * slope for s, slope in zip(self.signs, slopes, strict=True))
        loss = (self.table[-1][-1] + theta * theta * steepness) / Fraction(self.scale)
        coefficients = [
            (-row[-1] - theta * slope) / Fraction(self.scale) if s else Fraction(0)
            for row, slope, s in zip(self.table, slopes, self.signs, strict=False)
        ]
        return loss, coefficients

    def theta_at(self, radius: Fraction, slopes: list[int]) -> Fraction:
        """Where this piece, extended, has norm `radius`; 0 if it has not reached it at theta = 0."""
        reach = -sum(s * row[-1] for s, row in zip(self.signs, self.table, strict=False)) - radius * self.scale
        if reach <= 0:
            return Fraction(0)
        return reach / sum(s * slope for s, slope in zip(self.signs, slopes, strict=True))


def _follow(path: _Path, radius: Fraction) -> tuple[Fraction, list[Fraction]]:
    """Down the path from b = 0 to the norm `radius` or to theta = 0."""
    while True:
        slopes = path.slopes()
        event = path.next_event(slopes)
        stop = path.theta_at(radius, slopes)
        if event is None or stop * event[0] >= -event[1]:
            return path.solution(slopes, stop)
        _, _, j, t = event
        path.exchange(j)
        path.signs[j] = 0 if path.signs[j] else t


def _try(path: _Path, signs: Sequence[int], radius: Fraction) -> tuple[Fraction, list[Fraction]] | None:
    """The solution with the support and signs guessed, if it is the solution."""
    for j, s in enumerate(signs):
        if s:
            if path.table[j][j] == 0:
                return None
            path.exchange(j)
            path.signs[j] = s
    if sum(abs(row[-1]) for row, s in zip(path.table, signs, strict=False) if s) <= radius * path.scale:
        # Least squares is inside the ball; then its own signs are the right ones.
        path.signs = [(row[-1] < 0) - (row[-1] > 0) if s else 0 for row, s in zip(path.table, signs, strict=False)]
        inside = all(row[-1] == 0 for row, s in zip(path.table, signs, strict=False) if not s)
        return path.solution(path.slopes(), Fraction(0)) if inside else None
    slopes = path.slopes()
    theta = path.theta_at(radius, slopes)
    if all(rate * theta + start >= 0 for rate, start, _, _ in path.slacks(slopes)):
        return path.solution(slopes, theta)
    return None


def exact_loss(
    integers: Integers, mask: int, radius: float | Fraction, guess: Sequence[float] | None = None
) -> tuple[Fraction, list[Fraction]]:
    """(loss, coefficients) of the candidate, exactly, with columns and response in [-1, 1].

    `integers` are those of `Moments.integers()`, `radius` is taken as the exact value of the double. `guess` may hold
    coefficients from elsewhere (one a column of the table): if the solution with their support and signs satisfies the
    conditions, it is returned at once, otherwise it is forgotten.

    Why: see the module. Tested: tests/minimize/losses/test_exact.py
    """
    _, gram, with_response, square = integers
    columns = columns_of(mask)
    bound = Fraction(radius)

    def fresh() -> _Path:
        rows = [[gram[i][j] for j in columns] + [with_response[i]] for i in columns]
        return _Path([*rows, [with_response[j] for j in columns] + [square]])

    found = None
    if guess is not None:
        found = _try(fresh(), [(guess[j] > 0) - (guess[j] < 0) for j in columns], bound)
    loss, inside = found or _follow(fresh(), bound)
    coefficients = [Fraction(0)] * len(with_response)
    for j, value in zip(columns, inside, strict=True):
        coefficients[j] = value
    return loss / PRODUCT_UNIT, coefficients


def exact_double(integers: Integers, mask: int, radius: float, guess: Sequence[float] | None = None) -> float:
    """The exact loss, rounded once to the nearest double: off by at most 2^-53 of itself."""
    return float(exact_loss(integers, mask, radius, guess)[0])
