/* What the children of a subset say: which of its columns are idle, and the signs of the others. */

/* Where a subset and its children are. Without a limit on the columns, a place in a block is the mask itself. */
typedef struct {
    uint64_t mask;
    size_t place, above; /* of the subset in its own block, and in that of a top with one column less */
    size_t children[64]; /* with a limit: the places, inside the block, of the subset without column k */
} TYPE(family);

TARGET static inline void NAME(find_family)(const TYPE(state) *state, uint64_t mask, TYPE(family) *family)
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

static inline size_t NAME(child_of)(const TYPE(state) *state, const TYPE(family) *family, int k)
{
    return state->run->ways == NULL ? family->mask ^ 1ull << k : family->children[k];
}

/* What the blocks above say about four subsets in a row: loaded along the subsets, kept along the lanes. */
TARGET static inline void NAME(ask_for_four)(const TYPE(state) *state, const uint64_t *words, v4l *said)
{
    v4l first = all_lanes(0), second = first, third = first, fourth = first;
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
TARGET static void NAME(ask_above)(TYPE(state) *state, uint64_t mask)
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
TARGET static inline v4l NAME(idle)(const TYPE(state) *state, const TYPE(family) *family, int radius, v4l *negative)
{
    const v4l *const own = state->marks + radius * state->places * WORDS;
    v4l said[WORDS];
    if (state->ahead) {
        for (int w = 0; w < WORDS; w++)
            said[w] = state->above[(radius * AHEAD + family->mask % AHEAD) * WORDS + w];
    } else {
        for (int w = 0; w < WORDS; w++) {
            said[w] = all_lanes(0);
            for (int i = 0; i < state->top_size; i++) {
                const uint64_t *const words =
                    state->run->marks + (radius * WORDS + w) * state->run->count + family->above;
                said[w] |= gather(words, state->child_starts[i]) & state->top_bits[i];
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
    return said[0] & all_lanes(EVERY);
#else
    *negative = said[1];
    return said[0];
#endif
}
