/* The support and the signs of one candidate's solution: from a guess, or step by step. */

#ifndef DPSELECT_ACTIVE_H
#define DPSELECT_ACTIVE_H

#include "tableau.h"

#define GUESSES 6 /* rounds in which all that is wrong with a guess is mended at once */

/* Where a solution lies: b is 0 outside the support, with these signs inside, and the l1 bound has this multiplier. */
typedef struct {
    uint64_t support, negative;
    double multiplier;
} face;

/* The best point of the face, into `out`, and the columns of it that have the wrong sign there.
 * Least squares inside the ball has no wrong signs: they become the face's own. */
INLINE uint64_t solve_face(workspace *work, face *face, double *out)
{
    const double radius = work->table.radius;
    const double *const response = (const double *)reach_support(work, &face->support)->response;
    double norm = 0.0, along = 0.0, steep = 0.0;
    uint64_t minus = 0, wrong = 0;
    for (uint64_t rest = face->support; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        out[k] = response[k];
        norm += fabs(out[k]);
        along += face->negative >> k & 1 ? -out[k] : out[k];
        minus |= (uint64_t)(out[k] < 0) << k;
    }
    face->multiplier = 0.0;
    if (norm <= radius) {
        face->negative = minus;
        return 0;
    }
    if (along > radius) {
        const double *const u = (const double *)work->u;
        double signs[64];
        for (uint64_t rest = face->support; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            signs[k] = face->negative >> k & 1 ? -1.0 : 1.0;
        }
        solve_right(work, face->support, signs);
        for (uint64_t rest = face->support; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            steep += signs[k] * u[k];
        }
        face->multiplier = (along - radius) / steep;
        for (uint64_t rest = face->support; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            out[k] -= face->multiplier * u[k];
        }
    }
    for (uint64_t rest = face->support; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        wrong |= (uint64_t)(face->negative >> k & 1 ? out[k] > 0 : out[k] < 0) << k;
    }
    return wrong;
}

/* The columns inside the candidate whose correlation exceeds the multiplier by more than rounding; the strongest too.
 */
INLINE uint64_t missing(const workspace *work, uint64_t inside, const face *face, int *strongest)
{
    const table *const t = &work->table;
    const double *const q = (const double *)work->q, *const h = (const double *)t->h;
    double extent = t->response_norm, most = 0.0;
    uint64_t found = 0;
    for (uint64_t rest = face->support; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        extent += h[k] * fabs(work->b[k]);
    }
    const double slack = t->slack * t->shares[__builtin_popcountll(face->support)] * extent;
    for (uint64_t rest = inside & ~face->support; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        const double excess = fabs(q[k]) - face->multiplier;
        if (excess > slack * h[k]) {
            found |= 1ull << k;
            if (excess > most) {
                most = excess;
                *strongest = k;
            }
        }
    }
    return found;
}

/* Let columns join the support with the signs of their correlations. */
INLINE void join(const workspace *work, face *face, uint64_t columns)
{
    face->support |= columns;
    face->negative &= ~columns;
    for (uint64_t rest = columns; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        face->negative |= (uint64_t)(((const double *)work->q)[k] < 0) << k;
    }
}

/* Mend a guess, all its faults at once: seldom more than a round or two, but nothing says that it ends. */
INLINE int mend_guess(workspace *work, uint64_t inside, face *face)
{
    for (int round = 0; round < GUESSES; round++) {
        const uint64_t asked = face->support, wrong = solve_face(work, face, work->b);
        if (wrong) {
            face->support &= ~wrong;
            continue;
        }
        int strongest = 0;
        correlate(work, face->support);
        const uint64_t more = missing(work, inside, face, &strongest);
        if (!more)
            return 1;
        if (more & asked) /* it depends on the others, and would be asked for again and again */
            return 0;
        join(work, face, more);
    }
    return 0;
}

/* From `work->b`, which is allowed on the face, to the face's best point, leaving columns behind that reach zero. */
INLINE void descend(workspace *work, face *face)
{
    uint64_t wrong;
    while ((wrong = solve_face(work, face, work->next))) {
        double share = 1.0;
        int first = __builtin_ctzll(wrong);
        for (uint64_t rest = wrong; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            const double reached = work->b[k] / (work->b[k] - work->next[k]);
            if (reached < share) {
                share = reached;
                first = k;
            }
        }
        for (uint64_t rest = face->support; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            work->b[k] += share * (work->next[k] - work->b[k]);
        }
        face->support &= ~(1ull << first);
    }
    for (uint64_t rest = face->support; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        work->b[k] = work->next[k];
    }
}

/* Column k depends on the support and yet would shorten b: it takes the place of the first column that reaches zero as
 * b moves along the dependence, which changes no fitted value. Whether there is one. */
INLINE int exchange(workspace *work, face *face, int k)
{
    const double *const u = (const double *)work->u;
    const double sign = ((const double *)work->q)[k] < 0 ? -1.0 : 1.0;
    double length = INFINITY;
    int first = -1;
    solve_face(work, face, work->next); /* the sweeps of this support again */
    solve_right(work, face->support, (const double *)(work->table.gram + k * work->table.vectors));
    for (uint64_t rest = face->support; rest; rest &= rest - 1) {
        const int j = __builtin_ctzll(rest);
        const double reached = work->b[j] / (sign * u[j]);
        if (reached >= 0 && reached < length) {
            length = reached;
            first = j;
        }
    }
    if (first < 0)
        return 0;
    for (uint64_t rest = face->support; rest; rest &= rest - 1) {
        const int j = __builtin_ctzll(rest);
        work->b[j] -= length * sign * u[j];
    }
    work->b[k] = length * sign;
    join(work, face, 1ull << k);
    face->support &= ~(1ull << first);
    return 1;
}

/* One column joins, all else follows: each round ends at the best point of its face with a smaller loss than the last,
 * so no face comes twice, but for rounding. Source: Osborne, Presnell and Turlach 2000, IMA J. Numer. Anal. 20. */
INLINE void step_by_step(workspace *work, uint64_t inside, face *face)
{
    memset(work->b, 0, sizeof work->b);
    if (solve_face(work, face, work->b)) {
        face->support = 0; /* a start that is not what its own signs say: from nothing, then */
        memset(work->b, 0, sizeof work->b);
        solve_face(work, face, work->b);
    }
    for (int round = 0; round < 4 * work->table.d + 8; round++) {
        int k = 0;
        correlate(work, face->support);
        if (!missing(work, inside, face, &k))
            return;
        uint64_t both = face->support | 1ull << k;
        const uint64_t asked = both;
        reach_support(work, &both);
        if (both == asked) {
            work->b[k] = 0.0;
            join(work, face, 1ull << k);
        } else if (!exchange(work, face, k))
            return;
        descend(work, face);
    }
    correlate(work, face->support);
}

/* Coefficients in work->b and correlations in work->q for the columns inside: from the guess if it can be mended, else
 * from `start`, a face whose own solution is allowed. */
INLINE void find_support(workspace *work, uint64_t inside, face *found, const face *start)
{
    if (work->table.radius <= 0) {
        *found = (face){0, 0, INFINITY};
        correlate(work, 0);
        return;
    }
    if (mend_guess(work, inside, found))
        return;
    *found = *start;
    step_by_step(work, inside, found);
}

#endif
