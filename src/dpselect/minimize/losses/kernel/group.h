/* A group of four blocks: their tops swept, then every subset of the low columns in its turn. */

TARGET static void NAME(solve_subset)(TYPE(state) *state, uint64_t mask)
{
    const lattice_run *run = state->run;
    const int size = __builtin_popcountll(mask) + state->top_size;
    TYPE(family) family;
    NAME(find_family)(state, mask, &family);
    for (int radius = 0; radius < run->radii_count; radius++) {
        TYPE(marks) mine = {{{0, 0, 0, 0}}};
        v4l negative;
        const v4l idle = NAME(idle)(state, &family, radius, &negative), full = idle == 0;
        if (NAME(any)(idle))
            NAME(copy)(state, radius, &family, idle, &mine);
        if (NAME(any)(full)) {
            const TYPE(slot) *slot = NAME(reach)(state, mask);
            TYPE(sums) sums;
            TYPE(certificate) found;
            const v4 multiplier = NAME(coefficients)(state, slot, radius, negative, full, &sums);
            NAME(certify)(state, slot, &sums, size, multiplier, run->radii[radius], &found);
            const v4l good = full & ~slot->singular & (found.bound >= 0) & (found.bound < INFINITY), bad = full & ~good;
            NAME(store_values)(state, radius, &family, &found, good);
            NAME(mix_marks)(&mine, &found.marks, good);
            if (NAME(any)(bad))
                for (int l = 0; l < LANES; l++)
                    if (bad[l])
                        NAME(rescue)(state, slot, radius, &family, l, &mine);
        }
        for (int w = 0; w < WORDS; w++) {
            state->marks[(radius * state->places + family.place) * WORDS + w] = mine.words[w];
            if (run->marks != NULL)
                for (int l = 0; l < LANES; l++)
                    run->marks[(radius * WORDS + w) * run->count + state->starts[l] + family.place] =
                        (uint64_t)mine.words[w][l];
        }
    }
}

/* Sweep one column of each lane's top out of the others, and out of the response. */
TARGET static void NAME(sweep)(TYPE(state) *state, const int *columns, uint64_t others, v4 *pivot)
{
    const int d = state->d;
    TYPE(slot) *const root = &state->root;
    v4 entry, norm;
    for (int l = 0; l < LANES; l++) {
        entry[l] = root->columns[columns[l] * d + columns[l]][l];
        norm[l] = state->gram[columns[l] * d + columns[l]][l];
    }
    root->singular |= ~(entry > state->run->pivot * norm);
    const v4 inverse = (v4)(~root->singular & (v4l)(1.0 / entry));
    for (int k = 0; k < d; k++)
        pivot[k] = (v4){root->columns[columns[0] * d + k][0], root->columns[columns[1] * d + k][1],
                        root->columns[columns[2] * d + k][2], root->columns[columns[3] * d + k][3]} *
                   -inverse;
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
TARGET static void NAME(sweep_tops)(TYPE(state) *state)
{
    const int d = state->d;
    uint64_t rest[LANES];
    memcpy(rest, state->tops, sizeof rest);
    state->root.singular = all_lanes(0);
    for (int k = 0; k < d; k++) {
        /* what is not in a lane's top never enters there, and its row stays 0 */
        const v4l kept = k < state->low ? all_lanes(-1) : (v4l)((state->top & all_lanes((long long)(1ull << k))) != 0);
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
TARGET static void NAME(take_table)(TYPE(state) *state, int l, const double *products)
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
        if (state->h[k][l] > state->largest_norm[l])
            state->largest_norm[l] = state->h[k][l];
        strange += 0.0 * state->h[k][l];
    }
    state->largest_norm[l] += strange;
    state->yy[l] = products[d * (d + 1) + d];
    state->response_norm[l] = sqrt(state->yy[l]) * state->run->norm_factor;
}

TARGET static void NAME(prepare)(TYPE(state) *state, size_t group)
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

TARGET static void NAME(solve_group)(TYPE(state) *state, size_t group)
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
    const size_t places =
        run->ways == NULL ? (size_t)1 << low : run->ways[(size_t)low * (run->max_size + 2) + run->max_size];
    const size_t marks = run->radii_count * places * WORDS, ahead = (size_t)run->radii_count * AHEAD * WORDS;
    vectors += marks + ahead;
    const size_t head = (sizeof(TYPE(state)) + 63) / 64 * 64;
    char *memory = aligned_memory(head + vectors * sizeof(v4) + signs * sizeof(TYPE(sign_slot)));
    if (memory == NULL)
        return NO_MEMORY;
    TYPE(state) *state = (TYPE(state) *)memory;
    v4 *next = (v4 *)(memory + head);
    state->run = run;
    state->d = d;
    state->low = low;
    state->places = places;
    state->tile = d ? (d - 1) / ((d + WIDEST_TILE - 1) / WIDEST_TILE) + 1 : 0;
    state->gram = take(&next, d * d);
    for (int k = 0; k < d; k++) {
        state->gram_columns[k] = state->gram + k * d;
        state->bits[k] = all_lanes((long long)((WORDS == 1 ? 0x100000001ull : 1ull) << k));
    }
    state->c = take(&next, d);
    state->h = take(&next, d);
    state->b = take(&next, d);
    state->barriers = take(&next, d);
    state->marks = (v4l *)take(&next, marks);
    state->above = (v4l *)take(&next, ahead);
    state->top_pivots = take(&next, (d - low) * d);
    state->root.response = take(&next, d);
    state->root.columns = take(&next, d * d);
    for (int j = 0; j < low; j++) {
        state->slots[j].pivot = take(&next, d);
        state->slots[j].response = take(&next, d);
        state->slots[j].columns = take(&next, j * d);
    }
    state->sign_slots = (TYPE(sign_slot) *)(memory + head + vectors * sizeof(v4));
    for (int i = 0; i < signs; i++)
        state->sign_slots[i].vector = take(&next, d);
    size_t group = 0, finished = 0;
    for (; turn && (group = next_group(run)) < run->groups; turn--) {
        finished = wait_for(run, group, finished);
        NAME(solve_group)(state, group);
        has_finished(run, group);
    }
    free_aligned(memory);
    return group < run->groups ? MORE : NOTHING_LEFT;
}
