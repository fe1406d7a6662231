/* The kernel proper, included once for each processor and width of marks.
 *
 * Four blocks of subsets are solved side by side, one in each lane of a vector. A block is all subsets that share their high
 * columns, its top; the four tops of a group have the same size, so no block needs another one of its group. Or the lanes are
 * four tables of products, with empty tops. Inside a block the low columns run through the same subsets L in every lane.
 *
 * Letters: d columns, the b lowest of them free inside a block; G, c, yy products; h norms; q = c - G times coefficients;
 * s signs; u = G^-1 s; k, j columns; r a radius. A subset's tableau comes from its parent's (itself without its lowest column)
 * when first needed. All that is kept in a slot is a function of the subset alone and each lane is computed as if alone, so
 * results depend neither on where a run starts nor on who runs it. */

#define JOIN3(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN3(a, b, c)
#define NAME(stem) JOIN(stem, TARGET_NAME, MARK_BITS)

/* A subset's marks: which columns do not violate it, and which have a negative residual correlation. */
#if MARK_BITS == 32
#define WORDS 1 /* a lane's marks are one word: its lower half and its upper */
#define EVERY 0xffffffffll
#else
#define WORDS 2
#define EVERY -1ll
#endif

typedef struct {
    uint64_t mask;      /* the low columns of the subset whose tableau this is; 0 for none yet */
    v4l singular;       /* in which lanes */
    uint64_t rows;      /* the subset's columns in any lane; besides those below its lowest column all that is kept */
    v4 *pivot;          /* (d) takes a parent's vector w to w + pivot * w_j, but at j to pivot_j * w_j */
    v4 *response;       /* (d) coefficients inside the subset, residual correlations outside */
    v4 *columns;        /* (j, d) the columns that may still enter */
} NAME(slot);

/* The same for the right-hand side s, one for each radius: u inside the subset, -Gu outside. */
typedef struct {
    uint64_t mask;
    int known;
    v4l negative;
    v4 *vector; /* (d) */
} NAME(sign_slot);

typedef struct {
    const lattice_run *run;
    int d, low, top_size, room, tile, ahead;
    size_t places; /* of a block, at most */
    uint64_t tops[LANES];
    const double *products[LANES];
    size_t tables[LANES]; /* where the values of a lane's table start */
    int top_columns[64][LANES]; /* in falling order */
    v4l bits[64], top_bits[64];         /* column k in the marks, and a top's columns there */
    size_t starts[LANES];               /* where each block's values and marks are */
    size_t child_starts[64][LANES];     /* the same for the blocks without one column of the top */
    v4l *marks;                         /* (radii, places, WORDS) of this group's subsets, where the next ones find them at once */
    v4l *above;                         /* (radii, AHEAD, WORDS) what the blocks above say about the next few subsets */
    v4 *gram, *c, *h, *b, *top_pivots;  /* (d, d), (d), (d), (d), (top_size, d) */
    const v4 *gram_columns[64];
    v4 *barriers;                       /* (d) h of the columns that may violate, infinity for those in the subset */
    v4 yy, response_norm, largest_norm;
    v4l top; /* the tops, in place */
    NAME(slot) root, slots[64];
    NAME(sign_slot) *sign_slots; /* (radii, low + 1); the last is the root's */
} NAME(state);

/* ---- tableaus ---- */

TARGET static void NAME(pivot)(NAME(state) *state, const NAME(slot) *parent, int j)
{
    const int d = state->d;
    NAME(slot) *slot = &state->slots[j];
    const v4 *column = parent->columns + j * d;
    const v4 entry = column[j];
    slot->mask = parent->mask | 1ull << j;
    slot->rows = parent->rows | 1ull << j;
    slot->singular = parent->singular | ~(entry > state->run->pivot * state->gram[j * d + j]);
    const v4 inverse = (v4)(~slot->singular & (v4l)(1.0 / entry)), minus = -inverse, amount = parent->response[j];
    const v4 *const before = parent->response;
    v4 *const restrict pivot = slot->pivot, *const restrict response = slot->response;
    const uint64_t rows = parent->rows | ((1ull << j) - 1);
    for (uint64_t rest = rows; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        const v4 factor = column[k] * minus;
        pivot[k] = factor;
        response[k] = before[k] + factor * amount;
    }
    pivot[j] = inverse;
    response[j] = inverse * amount;
    for (int other = 0; other < j; other++) {
        const v4 *const in = parent->columns + other * d;
        v4 *const restrict to = slot->columns + other * d;
        const v4 by = in[j];
        for (uint64_t rest = rows; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            to[k] = in[k] + pivot[k] * by;
        }
        to[j] = inverse * by;
    }
}

TARGET static inline const NAME(slot) *NAME(reach)(NAME(state) *state, uint64_t mask)
{
    uint64_t known = mask;
    while (known && state->slots[__builtin_ctzll(known)].mask != known)
        known &= known - 1;
    const NAME(slot) *slot = known ? &state->slots[__builtin_ctzll(known)] : &state->root;
    while (known != mask) {
        int j = 63 - __builtin_clzll(mask ^ known);
        NAME(pivot)(state, slot, j);
        slot = &state->slots[j];
        known |= 1ull << j;
    }
    return slot;
}

static inline __attribute__((always_inline)) v4l NAME(flip)(v4l negative, int k) { return (negative << (63 - k)) & SIGN_BIT; }

TARGET static void NAME(root_signs)(NAME(state) *state, NAME(sign_slot) *slot, v4l negative)
{
    const int d = state->d;
    memset(slot->vector, 0, d * sizeof(v4));
    for (int i = 0; i < state->top_size; i++) {
        const v4 *pivot = state->top_pivots + i * d;
        v4 amount;
        for (int l = 0; l < LANES; l++) {
            int j = state->top_columns[i][l];
            amount[l] = (negative[l] >> j & 1 ? -1.0 : 1.0) + slot->vector[j][l];
        }
        for (int k = 0; k < d; k++)
            slot->vector[k] += pivot[k] * amount;
        for (int l = 0; l < LANES; l++) {
            int j = state->top_columns[i][l];
            slot->vector[j][l] = pivot[j][l] * amount[l];
        }
    }
    slot->known = 1;
    slot->negative = negative & state->top;
}

/* u of the subset in every lane that is `needed`, for the signs given; its path has been reached. */
TARGET static const v4 *NAME(reach_signs)(NAME(state) *state, int radius, uint64_t mask, v4l negative, v4l needed)
{
    NAME(sign_slot) *slots = state->sign_slots + radius * (state->low + 1);
    uint64_t known = mask;
    for (; known; known &= known - 1) {
        const NAME(sign_slot) *slot = &slots[__builtin_ctzll(known)];
        if (slot->mask == known &&
            !ANY((slot->negative ^ negative) & (ALL_LANES((long long)known) | state->top) & needed))
            break;
    }
    NAME(sign_slot) *above = &slots[known ? __builtin_ctzll(known) : state->low];
    if (!known && (!above->known || ANY((above->negative ^ negative) & state->top & needed)))
        NAME(root_signs)(state, above, negative);
    while (known != mask) {
        const int j = 63 - __builtin_clzll(mask ^ known);
        NAME(sign_slot) *slot = &slots[j];
        const NAME(slot) *tableau = &state->slots[j];
        const v4 *pivot = tableau->pivot;
        const v4 one = {1.0, 1.0, 1.0, 1.0};
        const v4 amount = (v4)((v4l)one ^ NAME(flip)(negative, j)) + above->vector[j];
        const v4 *const from = above->vector;
        v4 *const restrict to = slot->vector;
        for (uint64_t rest = tableau->rows | ((1ull << j) - 1); rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            to[k] = from[k] + pivot[k] * amount;
        }
        to[j] = pivot[j] * amount;
        known |= 1ull << j;
        slot->mask = known;
        /* what the ancestors were computed with, and j's own */
        slot->negative = above->negative | (negative & ALL_LANES(1ll << j));
        above = slot;
    }
    return above->vector;
}

/* ---- what the children say ---- */

/* Where a subset and its children are. Without a limit on the columns, a place in a block is the mask itself. */
typedef struct {
    uint64_t mask;
    size_t place, above;  /* of the subset in its own block, and in that of a top with one column less */
    size_t children[64];  /* with a limit: the places, inside the block, of the subset without column k */
} NAME(family);

TARGET static inline void NAME(find_family)(const NAME(state) *state, uint64_t mask, NAME(family) *family)
{
    const lattice_run *run = state->run;
    family->mask = family->place = family->above = mask;
    if (run->ways == NULL)
        return;
    /* Columns above the one left out count as before, those below with room for one more. */
    const int step = run->max_size + 2;
    const uint64_t *ways = run->ways + state->room - __builtin_popcountll(mask);
    size_t with_more = 0, same = 0;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        ways++;
        family->children[k] = with_more - same - ways[k * step];
        same += ways[k * step];
        with_more += ways[k * step + 1];
    }
    family->place = same;
    family->above = with_more;
    for (uint64_t rest = mask; rest; rest &= rest - 1)
        family->children[__builtin_ctzll(rest)] += same;
}

static inline size_t NAME(child_of)(const NAME(state) *state, const NAME(family) *family, int k)
{
    return state->run->ways == NULL ? family->mask ^ 1ull << k : family->children[k];
}

/* What the blocks above say about four subsets in a row: loaded along the subsets, kept along the lanes. */
TARGET static inline void NAME(ask_for_four)(const NAME(state) *state, const uint64_t *words, v4l *said)
{
    v4l first = ALL_LANES(0), second = first, third = first, fourth = first;
    for (int i = 0; i < state->top_size; i++) {
        const size_t *const at = state->child_starts[i];
        const v4l a = *(const v4l_anywhere *)(words + at[0]), b = *(const v4l_anywhere *)(words + at[1]);
        const v4l c = *(const v4l_anywhere *)(words + at[2]), d = *(const v4l_anywhere *)(words + at[3]);
        const v4l ab = SHUFFLE(a, b, 0, 4, 2, 6), cd = SHUFFLE(c, d, 0, 4, 2, 6);
        const v4l ba = SHUFFLE(a, b, 1, 5, 3, 7), dc = SHUFFLE(c, d, 1, 5, 3, 7), bits = state->top_bits[i];
        first |= SHUFFLE(ab, cd, 0, 1, 4, 5) & bits;
        second |= SHUFFLE(ba, dc, 0, 1, 4, 5) & bits;
        third |= SHUFFLE(ab, cd, 2, 3, 6, 7) & bits;
        fourth |= SHUFFLE(ba, dc, 2, 3, 6, 7) & bits;
    }
    said[0] = first;
    said[WORDS] = second;
    said[2 * WORDS] = third;
    said[3 * WORDS] = fourth;
}

/* Ask the blocks above about the next subsets, AHEAD of them or all of a block. */
TARGET static void NAME(ask_above)(NAME(state) *state, uint64_t mask)
{
    const lattice_run *run = state->run;
    const size_t next = state->places < AHEAD ? state->places : AHEAD;
    for (int row = 0; row < run->radii_count * WORDS; row++) {
        v4l *const said = state->above + row / WORDS * AHEAD * WORDS + row % WORDS;
        for (size_t t = 0; t < next; t += 4)
            NAME(ask_for_four)(state, run->marks + row * run->count + mask + t, said + t * WORDS);
    }
}

/* The columns that do not violate the subset without them; and the signs of the others. */
TARGET static inline v4l NAME(idle)(const NAME(state) *state, const NAME(family) *family, int radius, v4l *negative)
{
    const v4l *const own = state->marks + radius * state->places * WORDS;
    v4l said[WORDS];
    if (state->ahead) {
        for (int w = 0; w < WORDS; w++)
            said[w] = state->above[(radius * AHEAD + family->mask % AHEAD) * WORDS + w];
    } else {
        for (int w = 0; w < WORDS; w++) {
            said[w] = ALL_LANES(0);
            for (int i = 0; i < state->top_size; i++) {
                const uint64_t *const words = state->run->marks + (radius * WORDS + w) * state->run->count + family->above;
                said[w] |= GATHER(words, state->child_starts[i]) & state->top_bits[i];
            }
        }
    }
    for (uint64_t rest = family->mask; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        const v4l *mark = own + NAME(child_of)(state, family, k) * WORDS;
        for (int w = 0; w < WORDS; w++)
            said[w] |= mark[w] & state->bits[k];
    }
#if MARK_BITS == 32
    *negative = (v4l)((v4u)said[0] >> 32);
    return said[0] & ALL_LANES(EVERY);
#else
    *negative = said[1];
    return said[0];
#endif
}

/* ---- one subset in four lanes ---- */

typedef struct {
    v4 norm, length, fit; /* sums of |b|, h |b| and c b */
} NAME(sums);

#define ADD_TO(sums, k, value)            \
    do {                                  \
        const v4 size_ = ABS(value);      \
        (sums).norm += size_;             \
        (sums).length += h[k] * size_;    \
        (sums).fit += c[k] * (value);     \
    } while (0)

/* Coefficients into state->b, and the multiplier: the subset's columns are all in the support, with the signs given. */
TARGET static inline v4 NAME(coefficients)(NAME(state) *state, const NAME(slot) *slot, int radius, v4l negative, v4l needed,
                                           NAME(sums) *out)
{
    const double limit = state->run->radii[radius];
    const v4 *const c = state->c, *const h = state->h, *const response = slot->response;
    v4 *const b = state->b;
    const uint64_t rows = slot->rows;
    NAME(sums) sums = {ZERO, ZERO, ZERO};
    for (uint64_t rest = rows; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        const v4 value = response[k];
        b[k] = value;
        ADD_TO(sums, k, value);
    }
    v4 multiplier = ZERO + (limit > 0 ? 0.0 : INFINITY);
    const v4l bound = ~(sums.norm <= limit);
    if (ANY(bound & needed)) {
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
        sums = (NAME(sums)){ZERO, ZERO, ZERO};
        for (uint64_t rest = rows; rest; rest &= rest - 1) {
            const int k = __builtin_ctzll(rest);
            const v4 value = b[k] - multiplier * vector[k];
            b[k] = value;
            ADD_TO(sums, k, value);
        }
    }
    *out = sums;
    return multiplier;
}

/* The marks of a subset's four lanes: one vector, or two. */
typedef struct {
    v4l words[WORDS];
} NAME(marks);

typedef struct {
    v4 value, bound;
    NAME(marks) marks;
} NAME(certificate);

/* The next lower column's marks; first violators are pushed, to be turned round when all are there. */
TARGET static inline __attribute__((always_inline)) void NAME(push)(NAME(marks) *marks, v4l violating, v4 value)
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

/* See lattice_certificate.py for what is computed here and the proof. */
TARGET static inline __attribute__((always_inline)) void NAME(certify)(const NAME(state) *state, const NAME(slot) *slot, const NAME(sums) *sums, int size, v4 multiplier,
                                 double limit, NAME(certificate) *out)
{
    const lattice_run *run = state->run;
    const int d = state->d;
    const v4 *const b = state->b, *const c = state->c;
    const v4 *const barriers = state->barriers;
    const uint64_t rows = slot->rows;
    v4 inner = ZERO, other = ZERO, largest = ZERO, q[64];
    NAME(marks) marks = {{ALL_LANES(0)}};
    const double share = run->shares[size];
    const v4 extent = state->response_norm + sums->length, slack = (run->slack * share) * extent;
    /* what needs no q first, while the processor waits for the sums below */
    const v4 total = sums->norm * run->norm_up;
    const v4 over = (v4)((v4l)(1.0 - limit / total) & (total > limit)) + UNIT;
    const v4 excess = 2.0 * over * extent * extent, rounding = 2.0 * share * extent * (extent + limit * state->largest_norm);
    const v4 without = state->yy - sums->fit;
/* q for so many columns at once, all in registers; the last tile may overlap the one before */
#define TILE(count)                                                                \
    case count:                                                                    \
        for (int from = 0; from < d; from += count) {                              \
            const size_t shift = (size_t)(from + count <= d ? from : d - count);   \
            const v4 *start = c + shift;                                           \
            v4 sums[count], *to = q + shift;                                       \
            ONE_REGISTER(start);                                                   \
            ONE_REGISTER(to);                                                      \
            _Pragma("GCC unroll 14") for (int t = 0; t < count; t++)               \
                sums[t] = start[t];                                                \
            for (uint64_t rest = rows; rest; rest &= rest - 1) {                   \
                const int k = __builtin_ctzll(rest);                               \
                const v4 *column = state->gram_columns[k] + shift;                 \
                ONE_REGISTER(column);                                              \
                const v4 factor = b[k];                                            \
                _Pragma("GCC unroll 14") for (int t = 0; t < count; t++)           \
                    sums[t] -= column[t] * factor;                                 \
            }                                                                      \
            _Pragma("GCC unroll 14") for (int t = 0; t < count; t++)               \
                to[t] = sums[t];                                                   \
        }                                                                          \
        break;
    switch (state->tile) {
        TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
    }
#undef TILE
/* a q that is no number makes `inner` none, and so the bound */
#define ROW(k, inner)                                                                \
    do {                                                                             \
        const v4 value_ = q[k], size_ = ABS(value_);                                 \
        const v4l violating_ = size_ > multiplier + slack * barriers[k];             \
        largest = MAXIMUM(largest, (v4)((v4l)size_ & ~violating_));                  \
        NAME(push)(&marks, violating_, value_);                                      \
        inner += value_ * b[k];                                                      \
    } while (0)
    long k = d - 1;
    for (; k > 0; k -= 2) {
        ROW(k, inner);
        ROW(k - 1, other);
    }
    if (k == 0)
        ROW(0, inner);
#undef ROW
    inner += other;
    const v4 gap = 2.0 * (limit * largest - inner);
    /* MAXIMUM gives its second argument if one is no number, and then the bound must be none either */
    out->bound = (MAXIMUM(excess, gap) + rounding) * ROUND_UP + UNDERFLOW_BOUND;
    const v4 value = without - inner;
    out->value = (v4)((v4l)value & (value > 0));
    marks.words[0] ^= ALL_LANES(EVERY);
    out->marks = marks;
}

TARGET static inline void NAME(store_values)(const NAME(state) *state, int radius, const NAME(family) *family,
                                             const NAME(certificate) *found, v4l lanes)
{
    double *const values = state->run->values + radius * state->run->count + family->place;
    float *const bounds = state->run->bounds + radius * state->run->count + family->place;
    const v4f raised = __builtin_convertvector(found->bound * FLOAT_UP + FLOAT_LEAST, v4f);
    const int all = !ANY(~lanes); /* asked first, because it is the rule */
#pragma GCC unroll 4
    for (int l = 0; l < LANES; l++)
        if (all || lanes[l]) {
            values[state->starts[l]] = found->value[l];
            bounds[state->starts[l]] = raised[l];
        }
}

TARGET static inline void NAME(mix_marks)(NAME(marks) *marks, const NAME(marks) *found, v4l lanes)
{
    for (int w = 0; w < WORDS; w++)
        marks->words[w] = (marks->words[w] & ~lanes) | (found->words[w] & lanes);
}

/* Lanes with an idle column take over what was found for the subset without it. */
TARGET static void NAME(copy)(const NAME(state) *state, int radius, const NAME(family) *family, v4l idle,
                              NAME(marks) *out)
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

/* ---- rounding trouble ---- */

/* A subset's marks in lane l, wherever it is. */
TARGET static uint64_t NAME(mark_of)(const NAME(state) *state, int l, int radius, int w, uint64_t mask)
{
    const lattice_run *run = state->run;
    if (mask >> state->low == state->tops[l] >> state->low)
        return (uint64_t)state->marks[(radius * state->places + place_of(run, mask)) * WORDS + w][l];
    return run->marks[(radius * WORDS + w) * run->count + start_of(run, mask) + place_of(run, mask)];
}

/* What the solution of a subset, in any block, uses: follow the copies down. Its signs too. */
TARGET static uint64_t NAME(support_of)(const NAME(state) *state, int l, int radius, uint64_t mask, uint64_t *signs)
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

/* No child explains the subset, and yet it cannot be solved: rounding of a singular design. Then its best child's coefficients
 * are taken, and certified for the subset; if the bound is large, the exact solver is asked. In exact arithmetic some child of a
 * singular subset has its loss, because a solution of least l1 norm can be chosen with independent columns. */
TARGET static void NAME(rescue)(NAME(state) *state, const NAME(slot) *slot, int radius, const NAME(family) *family, int l,
                                NAME(marks) *out)
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
    const v4 *const c = state->c, *const h = state->h;
    NAME(sums) sums = {ZERO, ZERO, ZERO};
    for (int k = 0; k < state->d; k++)
        ADD_TO(sums, k, state->b[k]);
    const int size = __builtin_popcountll(family->mask) + state->top_size;
    NAME(certificate) found;
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

/* ---- a group ---- */

TARGET static void NAME(solve_subset)(NAME(state) *state, uint64_t mask)
{
    const lattice_run *run = state->run;
    const int size = __builtin_popcountll(mask) + state->top_size;
    NAME(family) family;
    NAME(find_family)(state, mask, &family);
    for (int radius = 0; radius < run->radii_count; radius++) {
        NAME(marks) mine = {{{0, 0, 0, 0}}};
        v4l negative;
        const v4l idle = NAME(idle)(state, &family, radius, &negative), full = idle == 0;
        if (ANY(idle))
            NAME(copy)(state, radius, &family, idle, &mine);
        if (ANY(full)) {
            const NAME(slot) *slot = NAME(reach)(state, mask);
            NAME(sums) sums;
            NAME(certificate) found;
            const v4 multiplier = NAME(coefficients)(state, slot, radius, negative, full, &sums);
            NAME(certify)(state, slot, &sums, size, multiplier, run->radii[radius], &found);
            const v4l good = full & ~slot->singular & (found.bound >= 0) & (found.bound < INFINITY), bad = full & ~good;
            NAME(store_values)(state, radius, &family, &found, good);
            NAME(mix_marks)(&mine, &found.marks, good);
            if (ANY(bad))
                for (int l = 0; l < LANES; l++)
                    if (bad[l])
                        NAME(rescue)(state, slot, radius, &family, l, &mine);
        }
        for (int w = 0; w < WORDS; w++) {
            state->marks[(radius * state->places + family.place) * WORDS + w] = mine.words[w];
            if (run->marks != NULL)
                for (int l = 0; l < LANES; l++)
                    run->marks[(radius * WORDS + w) * run->count + state->starts[l] + family.place] = (uint64_t)mine.words[w][l];
        }
    }
}

/* Sweep one column of each lane's top out of the others, and out of the response. */
TARGET static void NAME(sweep)(NAME(state) *state, const int *columns, uint64_t others, v4 *pivot)
{
    const int d = state->d;
    NAME(slot) *const root = &state->root;
    v4 entry, norm;
    for (int l = 0; l < LANES; l++) {
        entry[l] = root->columns[columns[l] * d + columns[l]][l];
        norm[l] = state->gram[columns[l] * d + columns[l]][l];
    }
    root->singular |= ~(entry > state->run->pivot * norm);
    const v4 inverse = (v4)(~root->singular & (v4l)(1.0 / entry));
    for (int k = 0; k < d; k++)
        pivot[k] = (v4){root->columns[columns[0] * d + k][0], root->columns[columns[1] * d + k][1],
                        root->columns[columns[2] * d + k][2], root->columns[columns[3] * d + k][3]} * -inverse;
    v4l kept[64];
    memset(kept, -1, d * sizeof(v4l));
    for (int l = 0; l < LANES; l++) {
        pivot[columns[l]][l] = inverse[l];
        kept[columns[l]][l] = 0;
    }
    v4 *column = root->response;
    for (;; others &= others - 1) {
        const v4 by = {column[columns[0]][0], column[columns[1]][1], column[columns[2]][2], column[columns[3]][3]};
        for (int k = 0; k < d; k++)
            column[k] = (v4)((v4l)column[k] & kept[k]) + pivot[k] * by;
        if (!others)
            break;
        column = root->columns + __builtin_ctzll(others) * d;
    }
}

/* Sweep the columns of the tops, the highest of each lane first. */
TARGET static void NAME(sweep_tops)(NAME(state) *state)
{
    const int d = state->d;
    uint64_t rest[LANES];
    memcpy(rest, state->tops, sizeof rest);
    state->root.singular = ALL_LANES(0);
    for (int k = 0; k < d; k++) {
        /* what is not in a lane's top never enters there, and its row stays 0 */
        const v4l kept = k < state->low ? ALL_LANES(-1) : (v4l)((state->top & ALL_LANES((long long)(1ull << k))) != 0);
        state->root.response[k] = (v4)((v4l)state->c[k] & kept);
        for (int j = 0; j < d; j++)
            state->root.columns[j * d + k] = (v4)((v4l)state->gram[j * d + k] & kept);
    }
    for (int i = 0; i < state->top_size; i++) {
        uint64_t others = (1ull << state->low) - 1;
        for (int l = 0; l < LANES; l++) {
            const int j = state->top_columns[i][l] = 63 - __builtin_clzll(rest[l]);
            rest[l] ^= 1ull << j;
            others |= rest[l];
            state->top_bits[i][l] = state->bits[j][l];
            state->child_starts[i][l] = state->tables[l] + start_of(state->run, state->tops[l] ^ 1ull << j);
        }
        NAME(sweep)(state, state->top_columns[i], others, state->top_pivots + i * d);
    }
}

/* Spread a lane's products over the lanes. */
TARGET static void NAME(take_table)(NAME(state) *state, int l, const double *products)
{
    const int d = state->d;
    state->products[l] = products;
    double strange = 0.0; /* no number if a norm is none: then no bound is any either */
    state->largest_norm[l] = 0.0;
    for (int k = 0; k < d; k++) {
        for (int j = 0; j < d; j++)
            state->gram[j * d + k][l] = products[j * (d + 1) + k];
        state->c[k][l] = products[k * (d + 1) + d];
        state->h[k][l] = sqrt(products[k * (d + 1) + k]) * state->run->norm_factor;
        state->largest_norm[l] = LARGER(state->largest_norm[l], state->h[k][l]);
        strange += 0.0 * state->h[k][l];
    }
    state->largest_norm[l] += strange;
    state->yy[l] = products[d * (d + 1) + d];
    state->response_norm[l] = sqrt(state->yy[l]) * state->run->norm_factor;
}

TARGET static void NAME(prepare)(NAME(state) *state, size_t group)
{
    const lattice_run *run = state->run;
    const int side = state->d + 1;
    uint64_t any = 0;
    memset(state->b, 0, state->d * sizeof(v4));
    for (int l = 0; l < LANES; l++) {
        const uint64_t table = run->tables[group * LANES + l];
        state->tops[l] = run->tops[group * LANES + l];
        state->top[l] = (long long)state->tops[l];
        if (state->products[l] != run->products + table * side * side)
            NAME(take_table)(state, l, run->products + table * side * side);
        state->tables[l] = table * run->radii_count * run->count;
        state->starts[l] = state->tables[l] + start_of(run, state->tops[l]);
        any |= state->tops[l];
        for (int k = 0; k < state->d; k++)
            state->barriers[k][l] = state->tops[l] >> k & 1 ? INFINITY : state->h[k][l];
    }
    state->top_size = __builtin_popcountll(state->tops[0]);
    state->room = run->max_size - state->top_size;
    state->ahead = run->ways == NULL && state->low >= 2 && state->top_size;
    NAME(sweep_tops)(state);
    state->root.rows = any;
    for (int j = 0; j < state->low; j++)
        state->slots[j].mask = 0;
    for (int i = 0; i < run->radii_count * (state->low + 1); i++) {
        state->sign_slots[i].mask = 0;
        state->sign_slots[i].known = 0;
    }
}

TARGET static void NAME(solve_group)(NAME(state) *state, size_t group)
{
    NAME(prepare)(state, group);
    const uint64_t end = 1ull << state->low;
    for (uint64_t mask = 0, last = 0; mask < end;) {
        for (uint64_t changed = mask ^ last; changed; changed &= changed - 1) {
            const int k = __builtin_ctzll(changed);
            state->barriers[k] = mask >> k & 1 ? ZERO + INFINITY : state->h[k];
            state->b[k] = ZERO;
        }
        last = mask;
        if (state->ahead && mask % AHEAD == 0)
            NAME(ask_above)(state, mask);
        NAME(solve_subset)(state, mask);
        if (__builtin_popcountll(mask) < state->room)
            mask++;
        else
            mask = mask ? mask + (mask & -mask) : end;
    }
}

/* Solve some groups, at most `turn`; other threads may take others meanwhile. */
TARGET static outcome NAME(run)(const lattice_run *run, size_t turn)
{
    const int d = run->width, low = run->low, signs = run->radii_count * (low + 1);
    size_t vectors = (size_t)d * d + 4 * d + (size_t)(d - low) * d + (size_t)(d + 1) * d + signs * (size_t)d;
    for (int j = 0; j < low; j++)
        vectors += (size_t)(j + 2) * d;
    const size_t places = run->ways == NULL ? (size_t)1 << low : run->ways[(size_t)low * (run->max_size + 2) + run->max_size];
    const size_t marks = run->radii_count * places * WORDS, ahead = (size_t)run->radii_count * AHEAD * WORDS;
    vectors += marks + ahead;
    const size_t head = (sizeof(NAME(state)) + 63) / 64 * 64;
    char *memory = aligned_memory(head + vectors * sizeof(v4) + signs * sizeof(NAME(sign_slot)));
    if (memory == NULL)
        return NO_MEMORY;
    NAME(state) *state = (NAME(state) *)memory;
    v4 *next = (v4 *)(memory + head);
#define TAKE(count) (next += (count), next - (count))
    state->run = run;
    state->d = d;
    state->low = low;
    state->places = places;
    state->tile = d ? (d - 1) / ((d + 13) / 14) + 1 : 0; /* of 14 at most, for 16 registers */
    state->gram = TAKE(d * d);
    for (int k = 0; k < d; k++) {
        state->gram_columns[k] = state->gram + k * d;
        state->bits[k] = ALL_LANES((long long)((WORDS == 1 ? 0x100000001ull : 1ull) << k));
    }
    state->c = TAKE(d);
    state->h = TAKE(d);
    state->b = TAKE(d);
    state->barriers = TAKE(d);
    state->marks = (v4l *)TAKE(marks);
    state->above = (v4l *)TAKE(ahead);
    state->top_pivots = TAKE((d - low) * d);
    state->root.response = TAKE(d);
    state->root.columns = TAKE(d * d);
    for (int j = 0; j < low; j++) {
        state->slots[j].pivot = TAKE(d);
        state->slots[j].response = TAKE(d);
        state->slots[j].columns = TAKE(j * d);
    }
    state->sign_slots = (NAME(sign_slot) *)(memory + head + vectors * sizeof(v4));
    for (int i = 0; i < signs; i++)
        state->sign_slots[i].vector = TAKE(d);
    size_t group = 0, finished = 0;
    for (; turn && (group = next_group(run)) < run->groups; turn--) {
        finished = wait_for(run, group, finished);
        NAME(solve_group)(state, group);
        has_finished(run, group);
    }
    free_aligned(memory);
    return group < run->groups ? MORE : NOTHING_LEFT;
}

#undef JOIN3
#undef JOIN
#undef NAME
#undef WORDS
#undef EVERY
#undef ADD_TO
#undef TAKE
