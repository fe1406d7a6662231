/* Tableaus: a subset's least squares, and the vector u for its signs, from its parent's by one sweep. */

TARGET static void NAME(pivot)(TYPE(state) *state, const TYPE(slot) *parent, int j)
{
    const int d = state->d;
    TYPE(slot) *slot = &state->slots[j];
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

TARGET static inline const TYPE(slot) *NAME(reach)(TYPE(state) *state, uint64_t mask)
{
    uint64_t known = mask;
    while (known && state->slots[__builtin_ctzll(known)].mask != known)
        known &= known - 1;
    const TYPE(slot) *slot = known ? &state->slots[__builtin_ctzll(known)] : &state->root;
    while (known != mask) {
        int j = 63 - __builtin_clzll(mask ^ known);
        NAME(pivot)(state, slot, j);
        slot = &state->slots[j];
        known |= 1ull << j;
    }
    return slot;
}

INLINE v4l NAME(flip)(v4l negative, int k) { return (negative << (63 - k)) & SIGN_BIT; }

TARGET static void NAME(root_signs)(TYPE(state) *state, TYPE(sign_slot) *slot, v4l negative)
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
TARGET static const v4 *NAME(reach_signs)(TYPE(state) *state, int radius, uint64_t mask, v4l negative, v4l needed)
{
    TYPE(sign_slot) *slots = state->sign_slots + radius * (state->low + 1);
    uint64_t known = mask;
    for (; known; known &= known - 1) {
        const TYPE(sign_slot) *slot = &slots[__builtin_ctzll(known)];
        if (slot->mask == known &&
            !NAME(any)((slot->negative ^ negative) & (all_lanes((long long)known) | state->top) & needed))
            break;
    }
    TYPE(sign_slot) *above = &slots[known ? __builtin_ctzll(known) : state->low];
    if (!known && (!above->known || NAME(any)((above->negative ^ negative) & state->top & needed)))
        NAME(root_signs)(state, above, negative);
    while (known != mask) {
        const int j = 63 - __builtin_clzll(mask ^ known);
        TYPE(sign_slot) *slot = &slots[j];
        const TYPE(slot) *tableau = &state->slots[j];
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
        slot->negative = above->negative | (negative & all_lanes(1ll << j));
        above = slot;
    }
    return above->vector;
}
