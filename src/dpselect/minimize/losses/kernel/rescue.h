/* Rounding trouble: singular subsets that no child explains. */

/* A subset's marks in lane l, wherever it is. */
TARGET static uint64_t NAME(mark_of)(const TYPE(state) *state, int l, int radius, int w, uint64_t mask)
{
    const lattice_run *run = state->run;
    if (mask >> state->low == state->tops[l] >> state->low)
        return (uint64_t)state->marks[(radius * state->places + place_of(run, mask)) * WORDS + w][l];
    return run->marks[(radius * WORDS + w) * run->count + start_of(run, mask) + place_of(run, mask)];
}

/* What the solution of a subset, in any block, uses: follow the copies down. Its signs too. */
TARGET static uint64_t NAME(support_of)(const TYPE(state) *state, int l, int radius, uint64_t mask, uint64_t *signs)
{
    for (;;) {
        uint64_t idle = 0;
        *signs = 0;
        for (uint64_t rest = mask; rest && !idle; rest &= rest - 1) {
            const uint64_t bit = rest & -rest, mark = NAME(mark_of)(state, l, radius, 0, mask ^ bit);
            if (mark & bit)
                idle = bit;
            else
                *signs |= (WORDS == 1 ? mark >> 32 : NAME(mark_of)(state, l, radius, WORDS - 1, mask ^ bit)) & bit;
        }
        if (!idle)
            return mask;
        mask ^= idle;
    }
}

/* No child explains the subset, and yet it cannot be solved: rounding of a singular design. Then its best child's
 * coefficients are taken, and certified for the subset; if the bound is large, the exact solver is asked. In exact
 * arithmetic some child of a singular subset has its loss, because a solution of least l1 norm can be chosen with
 * independent columns. */
TARGET static void NAME(rescue)(TYPE(state) *state, const TYPE(slot) *slot, int radius, const TYPE(family) *family,
                                int l, TYPE(marks) *out)
{
    const lattice_run *run = state->run;
    const double *values = run->values + state->tables[l] + radius * run->count;
    uint64_t support = family->mask | state->tops[l], negative;
    double coefficients[64], multiplier = 0.0, least = INFINITY;
    do {
        uint64_t best = 0;
        least = INFINITY;
        for (uint64_t rest = support; rest; rest &= rest - 1) {
            const uint64_t child = support ^ (rest & -rest);
            const double value = values[start_of(run, child) + place_of(run, child)];
            if (value < least) {
                least = value;
                best = child;
            }
        }
        support = NAME(support_of)(state, l, radius, best, &negative);
    } while (!solve_dense(run, state->products[l], support, negative, run->radii[radius], coefficients, &multiplier));
    for (int k = 0; k < state->d; k++)
        state->b[k][l] = coefficients[k];
    TYPE(sums) sums = {ZERO, ZERO, ZERO};
    for (int k = 0; k < state->d; k++)
        NAME(add)(&sums, state, k, state->b[k]);
    const int size = __builtin_popcountll(family->mask) + state->top_size;
    TYPE(certificate) found;
    NAME(certify)(state, slot, &sums, size, ZERO + multiplier, run->radii[radius], &found);
    if (!(found.bound[l] >= 0 && found.bound[l] < INFINITY)) {
        found.bound[l] = INFINITY;
        found.value[l] = least < INFINITY ? least : state->yy[l];
        found.marks.words[0][l] |= EVERY;
    }
    v4l lane = {0, 0, 0, 0};
    lane[l] = -1;
    NAME(store_values)(state, radius, family, &found, lane);
    NAME(mix_marks)(out, &found.marks, lane);
}
