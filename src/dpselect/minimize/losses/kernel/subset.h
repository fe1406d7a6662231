/* One subset in four lanes: coefficients, certificate, marks; or a copy of a child. */

typedef struct {
    v4 norm, length, fit; /* sums of |b|, h |b| and c b */
} TYPE(sums);

/* One more coefficient. */
TARGET INLINE void NAME(add)(TYPE(sums) *sums, const TYPE(state) *state, int k, v4 value)
{
    const v4 size = absolute(value);
    sums->norm += size;
    sums->length += state->h[k] * size;
    sums->fit += state->c[k] * value;
}

/* Coefficients into state->b, and the multiplier: the subset's columns are all in the support, with the signs given. */
TARGET static inline v4 NAME(coefficients)(TYPE(state) *state, const TYPE(slot) *slot, int radius, v4l negative,
                                           v4l needed, TYPE(sums) *out)
{
    const double limit = state->run->radii[radius];
    const v4 *const response = slot->response;
    v4 *const b = state->b;
    const uint64_t rows = slot->rows;
    TYPE(sums) sums = {ZERO, ZERO, ZERO};
    for (uint64_t rest = rows; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        const v4 value = response[k];
        b[k] = value;
        NAME(add)(&sums, state, k, value);
    }
    v4 multiplier = ZERO + (limit > 0 ? 0.0 : INFINITY);
    const v4l bound = ~(sums.norm <= limit);
    if (NAME(any)(bound & needed)) {
        const v4 *vector = NAME(reach_signs)(state, radius, slot->mask, negative, needed);
        v4 su = ZERO, sb = ZERO;
        for (uint64_t rest = rows; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            const v4l flip = NAME(flip)(negative, k);
            su += (v4)((v4l)vector[k] ^ flip);
            sb += (v4)((v4l)b[k] ^ flip);
        }
        const v4 found = (sb - limit) / su;
        multiplier = (v4)((v4l)found & bound & (found > 0));
        sums = (TYPE(sums)){ZERO, ZERO, ZERO};
        for (uint64_t rest = rows; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            const v4 value = b[k] - multiplier * vector[k];
            b[k] = value;
            NAME(add)(&sums, state, k, value);
        }
    }
    *out = sums;
    return multiplier;
}

/* The marks of a subset's four lanes: one vector, or two. */
typedef struct {
    v4l words[WORDS];
} TYPE(marks);

typedef struct {
    v4 value, bound;
    TYPE(marks) marks;
} TYPE(certificate);

/* The next lower column's marks; first violators are pushed, to be turned round when all are there. */
TARGET INLINE void NAME(push)(TYPE(marks) *marks, v4l violating, v4 value)
{
#if MARK_BITS == 32
    /* a double's sign is in the upper half of its word */
    const v8i signs = (v8i)value >> 31, both = UPPER_FROM((v8i)violating, signs);
    marks->words[0] = (v4l)((v8u)marks->words[0] + (v8u)marks->words[0] - (v8u)both);
#else
    marks->words[0] += marks->words[0] - violating;
    marks->words[1] += marks->words[1] - (value < 0);
#endif
}

/* q for `count` columns at once, all in registers; the last tile may overlap the one before. */
TARGET INLINE void NAME(tile)(const TYPE(state) *state, uint64_t rows, v4 *q, const int count)
{
    const int d = state->d;
    for (int from = 0; from < d; from += count) {
        const size_t shift = (size_t)(from + count <= d ? from : d - count);
        const v4 *const start = in_one_register(state->c + shift);
        v4 sums[WIDEST_TILE], *const to = in_one_register(q + shift);
#pragma GCC unroll 14
        for (int t = 0; t < count; t++)
            sums[t] = start[t];
        for (uint64_t rest = rows; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            const v4 *const column = in_one_register(state->gram_columns[k] + shift);
            const v4 factor = state->b[k];
#pragma GCC unroll 14
            for (int t = 0; t < count; t++)
                sums[t] -= column[t] * factor;
        }
#pragma GCC unroll 14
        for (int t = 0; t < count; t++)
            to[t] = sums[t];
    }
}

/* q for all columns. A tile's size is a constant in each case, so that its sums stay in registers. */
TARGET INLINE void NAME(correlations)(const TYPE(state) *state, uint64_t rows, v4 *q)
{
    switch (state->tile) {
    case 1: NAME(tile)(state, rows, q, 1); break;
    case 2: NAME(tile)(state, rows, q, 2); break;
    case 3: NAME(tile)(state, rows, q, 3); break;
    case 4: NAME(tile)(state, rows, q, 4); break;
    case 5: NAME(tile)(state, rows, q, 5); break;
    case 6: NAME(tile)(state, rows, q, 6); break;
    case 7: NAME(tile)(state, rows, q, 7); break;
    case 8: NAME(tile)(state, rows, q, 8); break;
    case 9: NAME(tile)(state, rows, q, 9); break;
    case 10: NAME(tile)(state, rows, q, 10); break;
    case 11: NAME(tile)(state, rows, q, 11); break;
    case 12: NAME(tile)(state, rows, q, 12); break;
    case 13: NAME(tile)(state, rows, q, 13); break;
    case 14: NAME(tile)(state, rows, q, 14); break;
    }
}

/* Column k's mark, its part of q'b in `inner`, and in `largest` what no violator exceeds. A q that is no number makes
 * `inner` none, and so the bound. */
TARGET INLINE void NAME(mark)(const TYPE(state) *state, const v4 *q, int k, v4 multiplier, v4 slack, v4 *inner,
                              v4 *largest, TYPE(marks) *marks)
{
    const v4 size = absolute(q[k]);
    const v4l violating = size > multiplier + slack * state->barriers[k];
    *largest = NAME(maximum)(*largest, (v4)((v4l)size & ~violating));
    NAME(push)(marks, violating, q[k]);
    *inner += q[k] * state->b[k];
}

/* See lattice_certificate.py for what is computed here and the proof. */
TARGET INLINE void NAME(certify)(const TYPE(state) *state, const TYPE(slot) *slot, const TYPE(sums) *sums, int size,
                                 v4 multiplier, double limit, TYPE(certificate) *out)
{
    const lattice_run *run = state->run;
    const int d = state->d;
    const uint64_t rows = slot->rows;
    v4 inner = ZERO, other = ZERO, largest = ZERO, q[64];
    TYPE(marks) marks = {{all_lanes(0)}};
    const double share = run->shares[size];
    const v4 extent = state->response_norm + sums->length, slack = (run->slack * share) * extent;
    /* what needs no q first, while the processor waits for the sums below */
    const v4 total = sums->norm * run->norm_up;
    const v4 over = (v4)((v4l)(1.0 - limit / total) & (total > limit)) + UNIT;
    const v4 excess = 2.0 * over * extent * extent,
             rounding = 2.0 * share * extent * (extent + limit * state->largest_norm);
    const v4 without = state->yy - sums->fit;
    NAME(correlations)(state, rows, q);
    long k = d - 1;
    for (; k > 0; k -= 2) {
        NAME(mark)(state, q, (int)k, multiplier, slack, &inner, &largest, &marks);
        NAME(mark)(state, q, (int)k - 1, multiplier, slack, &other, &largest, &marks);
    }
    if (k == 0)
        NAME(mark)(state, q, 0, multiplier, slack, &inner, &largest, &marks);
    inner += other;
    const v4 gap = 2.0 * (limit * largest - inner);
    /* the maximum gives its second argument if one is no number, and then the bound must be none either */
    out->bound = (NAME(maximum)(excess, gap) + rounding) * ROUND_UP + UNDERFLOW_BOUND;
    const v4 value = without - inner;
    out->value = (v4)((v4l)value & (value > 0));
    marks.words[0] ^= all_lanes(EVERY);
    out->marks = marks;
}

TARGET static inline void NAME(store_values)(const TYPE(state) *state, int radius, const TYPE(family) *family,
                                             const TYPE(certificate) *found, v4l lanes)
{
    double *const values = state->run->values + radius * state->run->count + family->place;
    float *const bounds = state->run->bounds + radius * state->run->count + family->place;
    const v4f raised = __builtin_convertvector(found->bound * FLOAT_UP + FLOAT_LEAST, v4f);
    const int all = !NAME(any)(~lanes); /* asked first, because it is the rule */
#pragma GCC unroll 4
    for (int l = 0; l < LANES; l++)
        if (all || lanes[l]) {
            values[state->starts[l]] = found->value[l];
            bounds[state->starts[l]] = raised[l];
        }
}

TARGET static inline void NAME(mix_marks)(TYPE(marks) *marks, const TYPE(marks) *found, v4l lanes)
{
    for (int w = 0; w < WORDS; w++)
        marks->words[w] = (marks->words[w] & ~lanes) | (found->words[w] & lanes);
}

/* Lanes with an idle column take over what was found for the subset without it. */
TARGET static void NAME(copy)(const TYPE(state) *state, int radius, const TYPE(family) *family, v4l idle,
                              TYPE(marks) *out)
{
    const lattice_run *run = state->run;
    const size_t count = run->count;
    double *const values = run->values + radius * count;
    float *const bounds = run->bounds + radius * count;
    for (int l = 0; l < LANES; l++) {
        if (!idle[l])
            continue;
        const int j = __builtin_ctzll((uint64_t)idle[l]);
        size_t from;
        if (j < state->low) {
            const size_t place = NAME(child_of)(state, family, j);
            from = state->starts[l] + place;
            for (int w = 0; w < WORDS; w++)
                out->words[w][l] = state->marks[(radius * state->places + place) * WORDS + w][l];
        } else {
            const int i = __builtin_popcountll(state->tops[l] >> j) - 1;
            from = state->child_starts[i][l] + family->above;
            for (int w = 0; w < WORDS; w++)
                out->words[w][l] = (long long)run->marks[(radius * WORDS + w) * count + from];
        }
        const size_t to = state->starts[l] + family->place;
        values[to] = values[from];
        bounds[to] = bounds[from];
    }
}
