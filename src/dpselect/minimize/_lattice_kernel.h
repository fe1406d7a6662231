/* The kernel proper, included once for each number of vectors (VECTORS x 4 columns), mask type and processor.
 *
 * Letters: G, c, yy products; b coefficients; q = c - Gb; s signs; u = G^-1 s; V pivot column; h norms; m columns in a subset.
 * A subset's tableau is computed from its parent's (itself without its lowest column) when it is first needed; everything
 * kept in a slot is a function of the subset alone, so results do not depend on where a run starts or on who runs it. */

#define PASTE3(a, b, c, d) a##_##b##_##c##_##d
#define PASTE(a, b, c, d) PASTE3(a, b, c, d)
#define NAME(stem) PASTE(stem, TARGET_NAME, MARK_BITS, VECTORS)
#define WIDTH (4 * VECTORS)
#define EACH for (int i = 0; i < VECTORS; i++)

#if MARK_BITS == 32
#define mark_t uint32_t
#else
#define mark_t uint64_t
#endif

/* What a subset P with lowest column l passes to its descendants: pivot column and response, then columns 0 .. l-1. */
typedef struct {
    uint64_t mask; /* which subset; 0 for none yet */
    int singular;
    v4 pivot[VECTORS];    /* takes a parent's vector w to w + pivot * w_l, except at l, where it is pivot_l * w_l */
    v4 response[VECTORS]; /* least-squares coefficients inside P, residual correlations outside */
} NAME(slot);

/* The same for the right-hand side s: u inside P, -G u outside. */
typedef struct {
    uint64_t mask, negative;
    v4 vector[VECTORS];
} NAME(sign_slot);

typedef struct {
    const lattice_problem *problem;
    v4 gram[WIDTH][VECTORS];
    v4 c[VECTORS], h[VECTORS];
    v4 root[WIDTH][VECTORS]; /* the columns of the empty subset's tableau: the Gram itself */
    NAME(slot) slots[WIDTH];
    NAME(sign_slot) *sign_slots; /* (K, WIDTH) */
    v4 *columns;                 /* slot l's columns start at l (l - 1) / 2 */
    mark_t *violators;           /* of the radius at hand, as are all below */
    mark_t *negative;
    double *values;
    float *bounds;
    double radius;
    int which; /* radius */
} NAME(state);

static inline __attribute__((always_inline)) v4l NAME(bits)(int i, uint64_t mask)
{
    const v4l one = {1, 2, 4, 8};
    v4l all = {(long long)mask, (long long)mask, (long long)mask, (long long)mask};
    return ((all >> (4 * i)) & one) != 0;
}

/* Column j of the tableau of the parent of slot `low`. */
#define COLUMN(state, slot_of_parent, j) \
    ((slot_of_parent) < 0 ? (state)->root[j] : (state)->columns + ((slot_of_parent) * ((slot_of_parent)-1) / 2 + (j)) * VECTORS)

TARGET static void NAME(pivot)(NAME(state) *state, uint64_t parent, int j)
{
    int above = parent ? __builtin_ctzll(parent) : -1;
    NAME(slot) *slot = &state->slots[j];
    slot->mask = parent | (1ull << j);
    const v4 *column = COLUMN(state, above, j);
    double diagonal = ((const double *)state->gram[j])[j], d = ((const double *)column)[j];
    slot->singular = (above >= 0 && state->slots[above].singular) || !(d > state->problem->pivot * diagonal);
    if (slot->singular)
        return;
    double inverse = 1.0 / d;
    v4l at[VECTORS];
    v4 pivot[VECTORS];
    EACH {
        at[i] = NAME(bits)(i, 1ull << j);
        v4 plain = column[i] * -inverse;
        v4 own = {inverse, inverse, inverse, inverse};
        pivot[i] = (v4)(((v4l)plain & ~at[i]) | ((v4l)own & at[i]));
        slot->pivot[i] = pivot[i];
    }
    const v4 *response = above < 0 ? state->c : state->slots[above].response;
    double p = ((const double *)response)[j];
    EACH slot->response[i] = (v4)((v4l)response[i] & ~at[i]) + pivot[i] * p;
    v4 *out = state->columns + j * (j - 1) / 2 * VECTORS;
    for (int k = 0; k < j; k++) {
        const v4 *in = COLUMN(state, above, k);
        p = ((const double *)in)[j];
        EACH out[k * VECTORS + i] = (v4)((v4l)in[i] & ~at[i]) + pivot[i] * p;
    }
}

/* Make the slots along the path to `mask` its own; whether it is singular. */
TARGET static inline int NAME(reach)(NAME(state) *state, uint64_t mask)
{
    uint64_t known = mask;
    while (known && state->slots[__builtin_ctzll(known)].mask != known)
        known &= known - 1;
    while (known != mask) {
        int j = 63 - __builtin_clzll(mask ^ known);
        NAME(pivot)(state, known, j);
        known |= 1ull << j;
    }
    return mask ? state->slots[__builtin_ctzll(mask)].singular : 0;
}

/* u of `mask` for the signs given; its path has been reached. */
TARGET static inline const v4 *NAME(reach_signs)(NAME(state) *state, uint64_t mask, uint64_t negative)
{
    NAME(sign_slot) *slots = state->sign_slots + state->which * WIDTH;
    uint64_t known = mask;
    for (; known; known &= known - 1) {
        const NAME(sign_slot) *slot = &slots[__builtin_ctzll(known)];
        if (slot->mask == known && slot->negative == (negative & known))
            break;
    }
    while (known != mask) {
        int j = 63 - __builtin_clzll(mask ^ known);
        NAME(sign_slot) *slot = &slots[j];
        const v4 *pivot = state->slots[j].pivot;
        double sign = negative >> j & 1 ? -1.0 : 1.0;
        if (known) {
            const v4 *above = slots[__builtin_ctzll(known)].vector;
            double p = sign + ((const double *)above)[j];
            EACH slot->vector[i] = (v4)((v4l)above[i] & ~NAME(bits)(i, 1ull << j)) + pivot[i] * p;
        } else {
            EACH slot->vector[i] = pivot[i] * sign;
        }
        known |= 1ull << j;
        slot->mask = known;
        slot->negative = negative & known;
    }
    return slots[__builtin_ctzll(mask)].vector;
}

static inline size_t NAME(place)(const lattice_problem *problem, uint64_t mask)
{
    if (problem->ways == NULL)
        return mask;
    size_t place = 0;
    int room = problem->max_size;
    while (mask) {
        int j = 63 - __builtin_clzll(mask);
        place += problem->ways[j * (problem->max_size + 2) + room--];
        mask ^= 1ull << j;
    }
    return place;
}

/* -1 if every column of `mask` violates without it, and then its signs are known; else a column that does not, and *source is
 * the place of the child that solves `mask` too. */
TARGET static inline int NAME(idle)(const NAME(state) *state, uint64_t mask, uint64_t *negative, size_t *source)
{
    const lattice_problem *problem = state->problem;
    uint64_t signs = 0;
    if (problem->ways == NULL) {
        for (uint64_t rest = mask; rest; rest &= rest - 1) {
            uint64_t bit = rest & -rest;
            size_t child = mask ^ bit;
            if (!(state->violators[child] & bit)) {
                *source = child;
                return __builtin_ctzll(bit);
            }
            signs |= state->negative[child] & bit;
        }
    } else {
        /* The place of a child: columns above the one left out count as before, those below with room for one more. */
        const int step = problem->max_size + 2;
        int room = problem->max_size - __builtin_popcountll(mask);
        size_t below = 0, above = NAME(place)(problem, mask);
        for (uint64_t rest = mask; rest; rest &= rest - 1) {
            int j = __builtin_ctzll(rest);
            room++;
            above -= problem->ways[j * step + room];
            size_t child = above + below;
            below += problem->ways[j * step + room + 1];
            if (!(state->violators[child] >> j & 1)) {
                *source = child;
                return j;
            }
            signs |= state->negative[child] & (1ull << j);
        }
    }
    *negative = signs;
    return -1;
}

/* Solve with support exactly `support` and the signs given, and certify for the subset `mask` that contains it. */
TARGET static int NAME(solve)(NAME(state) *state, uint64_t mask, size_t place, uint64_t support, uint64_t negative)
{
    const lattice_problem *problem = state->problem;
    const double radius = state->radius;
    if (NAME(reach)(state, support))
        return 0;
    const v4 *response = support ? state->slots[__builtin_ctzll(support)].response : state->c;
    v4 b[VECTORS], q[VECTORS], norm = {0, 0, 0, 0};
    EACH {
        b[i] = (v4)((v4l)response[i] & NAME(bits)(i, support));
        norm += ABS(b[i]);
    }
    double multiplier = radius > 0 ? 0.0 : INFINITY;
    if (!(SUM(norm) <= radius)) {
        const v4 *vector = NAME(reach_signs)(state, support, negative);
        v4 u[VECTORS], su = {0, 0, 0, 0}, sb = {0, 0, 0, 0};
        EACH {
            v4l flip = NAME(bits)(i, negative) & SIGN_BIT;
            u[i] = (v4)((v4l)vector[i] & NAME(bits)(i, support));
            su += (v4)((v4l)u[i] ^ flip);
            sb += (v4)((v4l)b[i] ^ flip);
        }
        multiplier = (SUM(sb) - radius) / SUM(su);
        multiplier = multiplier > 0 ? multiplier : 0.0;
        norm = (v4){0, 0, 0, 0};
        EACH {
            b[i] -= multiplier * u[i];
            norm += ABS(b[i]);
        }
    }
    v4 stored[VECTORS];
    EACH stored[i] = b[i];
    EACH q[i] = (v4){0, 0, 0, 0};
    for (uint64_t rest = support; rest; rest &= rest - 1) {
        int j = __builtin_ctzll(rest);
        double coefficient = ((const double *)stored)[j];
        EACH q[i] += state->gram[j][i] * coefficient;
    }
    v4 inner = {0, 0, 0, 0}, fit = {0, 0, 0, 0}, length = {0, 0, 0, 0};
    EACH {
        q[i] = state->c[i] - q[i];
        inner += q[i] * b[i];
        fit += state->c[i] * b[i];
        length += state->h[i] * ABS(b[i]);
    }
    double inside = SUM(inner), size = problem->response_norm + SUM(length), total = SUM(norm) * problem->norm_up;
    double share = problem->shares[__builtin_popcountll(support)];
    double slack = problem->slack * share * size;
    uint64_t violators = 0, below = 0;
    v4 largest = {0, 0, 0, 0};
    v4l violating = {0, 0, 0, 0}, minus = {0, 0, 0, 0};
    EACH {
        v4 absolute = ABS(q[i]);
        v4l allowed = (absolute <= multiplier + slack * state->h[i]) | NAME(bits)(i, mask);
        v4 held = (v4)((v4l)absolute & allowed);
        largest = (v4)(((v4l)held & (held > largest)) | ((v4l)largest & ~(held > largest)));
        const v4l one = {1, 2, 4, 8};
        violating |= ~allowed & (one << (4 * i));
        minus |= (q[i] < 0) & (one << (4 * i));
    }
    violators = OR(violating) & problem->all;
    below = OR(minus);
    double gap = 2.0 * (radius * MAXIMUM(largest) - inside);
    double over = (total > radius ? 1.0 - radius / total : 0.0) + UNIT;
    double excess = 2.0 * over * size * size;
    double rounding = 2.0 * share * size * (size + radius * problem->largest_norm);
    double bound = ((gap > excess ? gap : excess) + rounding) * ROUND_UP + UNDERFLOW_BOUND;
    if (!(bound >= 0 && bound < INFINITY))
        return 0;
    double value = problem->yy - SUM(fit) - inside;
    state->values[place] = value > 0 ? value : 0.0;
    state->bounds[place] = (float)(bound * FLOAT_UP);
    state->violators[place] = (mark_t)violators;
    state->negative[place] = (mark_t)below;
    return 1;
}

/* No child explains `mask`, and yet it cannot be solved: rounding of a singular design. Its best child's solution, certified
 * anew for `mask`; if even that has no finite bound, the exact solver is asked. */
TARGET static void NAME(rescue)(NAME(state) *state, uint64_t mask, size_t place)
{
    uint64_t support = mask, negative = 0;
    size_t source;
    while (support) {
        uint64_t best = 0;
        double least = INFINITY;
        for (uint64_t rest = support; rest; rest &= rest - 1) {
            uint64_t child = support ^ (rest & -rest);
            double value = state->values[NAME(place)(state->problem, child)];
            if (value < least || rest == support) {
                least = value;
                best = child;
            }
        }
        support = best;
        for (int j; (j = NAME(idle)(state, support, &negative, &source)) >= 0;)
            support ^= 1ull << j;
        if (NAME(solve)(state, mask, place, support, negative))
            return;
    }
    state->values[place] = state->problem->yy;
    state->bounds[place] = INFINITY;
    state->violators[place] = 0;
    state->negative[place] = 0;
}

/* All subsets first <= mask < last with at most max_size columns, for one table of products and every radius. */
TARGET static int NAME(run)(const lattice_problem *problem, uint64_t first, uint64_t last)
{
    const int width = problem->width, radii = problem->radii_count;
    const size_t slots = (size_t)radii * WIDTH * sizeof(NAME(sign_slot));
    const size_t columns = (size_t)WIDTH * (WIDTH - 1) / 2 * VECTORS * sizeof(v4);
    char *memory = aligned_memory(sizeof(NAME(state)) + slots + columns);
    if (memory == NULL)
        return 0;
    NAME(state) *state = (NAME(state) *)memory;
    state->problem = problem;
    state->sign_slots = (NAME(sign_slot) *)(memory + sizeof(NAME(state)));
    state->columns = (v4 *)(memory + sizeof(NAME(state)) + slots);
    for (int j = 0; j < width; j++) {
        for (int i = 0; i < width; i++)
            ((double *)state->gram[j])[i] = problem->products[j * (width + 1) + i];
        ((double *)state->c)[j] = problem->products[j * (width + 1) + width];
        ((double *)state->h)[j] = problem->norms[j];
    }
    memcpy(state->root, state->gram, sizeof state->root);
    size_t place = NAME(place)(problem, first);
    for (uint64_t mask = first; mask < last; place++) {
        for (int k = 0; k < radii; k++) {
            uint64_t negative = 0;
            size_t source;
            state->which = k;
            state->radius = problem->radii[k];
            state->values = problem->values + k * problem->count;
            state->bounds = problem->bounds + k * problem->count;
            state->violators = (mark_t *)problem->marks + 2 * k * problem->count;
            state->negative = state->violators + problem->count;
            if (NAME(idle)(state, mask, &negative, &source) >= 0) {
                state->values[place] = state->values[source];
                state->bounds[place] = state->bounds[source];
                state->violators[place] = state->violators[source];
                state->negative[place] = state->negative[source];
            } else if (!NAME(solve)(state, mask, place, mask, negative)) {
                NAME(rescue)(state, mask, place);
            }
        }
        if (problem->ways != NULL && __builtin_popcountll(mask) == problem->max_size && mask)
            mask += mask & -mask;
        else
            mask++;
    }
    free_aligned(memory);
    return 1;
}

#undef PASTE3
#undef PASTE
#undef NAME
#undef WIDTH
#undef EACH
#undef COLUMN
#undef mark_t
