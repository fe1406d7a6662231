/* Sums of any doubles, in bins of 32 bits: exact but for what is far below the largest product. */

#ifndef DPSELECT_BLOCKS_BINNED_H
#define DPSELECT_BLOCKS_BINNED_H

#include <stdlib.h>

#include "_blocks_rows.h"

#define SHIFT_WORDS ((unsigned long long)SHIFT_BITS)
#define SLICES 3
#define BINNED_CUBES 1 /* numbers of a sum of cubes */
#define LOWEST (-24)   /* the first bin that is ever a top; products are 0 or above 1e-150, cubes above 1e-225 */
#define HIGHEST 23     /* the last one; cubes are at most 1e225 */
#define TOGETHER 64    /* rows of a block whose products are sliced together */
#define SOON 64        /* rows from sending for one to using it */
#define LINE 8         /* doubles of a cache line */
#define SIZE_BITS ((four_bits){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX})

static const double UNITS[HIGHEST - LOWEST + 1] = {
    /* of the bins */
    0x1p-768, 0x1p-736, 0x1p-704, 0x1p-672, 0x1p-640, 0x1p-608, 0x1p-576, 0x1p-544, 0x1p-512, 0x1p-480,
    0x1p-448, 0x1p-416, 0x1p-384, 0x1p-352, 0x1p-320, 0x1p-288, 0x1p-256, 0x1p-224, 0x1p-192, 0x1p-160,
    0x1p-128, 0x1p-96,  0x1p-64,  0x1p-32,  0x1p0,    0x1p32,   0x1p64,   0x1p96,   0x1p128,  0x1p160,
    0x1p192,  0x1p224,  0x1p256,  0x1p288,  0x1p320,  0x1p352,  0x1p384,  0x1p416,  0x1p448,  0x1p480,
    0x1p512,  0x1p544,  0x1p576,  0x1p608,  0x1p640,  0x1p672,  0x1p704,  0x1p736};

/* Sums in bins. Bin t holds multiples of 2^32t; a product's top bin is the first with |p| <= 2^(32t+31), and a sum's
 * the highest of its products'. A block's numbers are fetched to where each line of the triangle fills whole vectors.
 */
typedef struct {
    Py_ssize_t width, stride; /* entries of a row; doubles from one row to the next */
    double *z;                /* (TOGETHER, stride) rows, zeros behind their last entry */
    const double **used;      /* (TOGETHER + 1) the rows that are not zero in some column */
    double *largest;          /* (stride) of each entry among these rows; zeros behind the last */
    double *slices[SLICES];   /* (padded) each */
    int8_t *tops;             /* (padded) */
} bins;

/* The first bin t with size <= 2^(32t+31). */
INLINE int top_bin(double size)
{
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    const int exponent = (int)(bits >> 52) - 1023 + ((bits & 0xfffffffffffffu) != 0); /* size <= 2^exponent */
    const int top = exponent >= 0 ? exponent / 32 : -((31 - exponent) / 32);
    return size > 0 && top > LOWEST ? top < HIGHEST ? top : HIGHEST : LOWEST;
}

/* So that none of these sizes is above its sum's top bin; what falls out of the lowest slice is dropped. */
INLINE void raise_tops(const bins *b, Py_ssize_t at, four sizes)
{
    for (Py_ssize_t i = 0; i < LANES; i++) {
        const int by = top_bin(sizes[i]) - b->tops[at + i];
        if (by <= 0)
            continue;
        b->tops[at + i] = (int8_t)(b->tops[at + i] + by);
        for (int s = SLICES - 1; s >= 0; s--)
            b->slices[s][at + i] = s >= by ? b->slices[s - by][at + i] : 0;
    }
}

INLINE four units_of(const int8_t *tops)
{
    const double *const units = UNITS - LOWEST;
    return (four){units[tops[0]], units[tops[1]], units[tops[2]], units[tops[3]]};
}

#define OF_CUBES (-1) /* in place of a line of the triangle */

/* Products of entry j of a row with its entries k .. k+3, or the cubes of these. */
INLINE four terms_of(const double *row, Py_ssize_t j, Py_ssize_t k)
{
    if (j != OF_CUBES)
        return products_of(row, j, k);
    const four entry = *(const four *)(row + k);
    return entry * entry * entry;
}

INLINE four size_of(four p) { return (four)((four_bits)p & SIZE_BITS); }

INLINE long long all_lanes(four_bits mask) { return mask[0] & mask[1] & mask[2] & mask[3]; }

/* The tops of one vector of sums, raised to what these rows need: the products of their columns' largest entries are
 * the most that there can be, and mostly some row's product is in the same bin as that. If none is, the largest
 * decides. */
INLINE void fit_tops(const bins *b, Py_ssize_t rows, Py_ssize_t j, Py_ssize_t k, Py_ssize_t at)
{
    const four most = terms_of(b->largest, j, k);
    const four_bits enough = most <= units_of(b->tops + at) * 0x1p31;
    if (all_lanes(enough))
        return;
    const int8_t tops[LANES] = {(int8_t)top_bin(most[0]), (int8_t)top_bin(most[1]), (int8_t)top_bin(most[2]),
                                (int8_t)top_bin(most[3])};
    const four below = units_of(tops) * 0x1p-1;
    four_bits found = enough;
    four largest = {0, 0, 0, 0};
    for (Py_ssize_t r = 0; r < rows && !all_lanes(found); r++) {
        const four size = size_of(terms_of(b->used[r], j, k));
        const four_bits more = size > largest;
        largest = (four)(((four_bits)size & more) | ((four_bits)largest & ~more));
        found |= largest > below;
    }
    raise_tops(b, at, largest);
}

/* What so many shifted slices come to: a whole number of units is in the low bits of each. */
INLINE four sum_of_slices(Py_ssize_t count, four_words words, four shift, four unit)
{
    return ((four)(words - (unsigned long long)count * (four_words)shift + SHIFT_WORDS) - SHIFT) * unit;
}

/* The slices of some rows' terms, added to one vector of sums. */
INLINE void add_terms(const bins *b, Py_ssize_t used, Py_ssize_t j, Py_ssize_t k, Py_ssize_t at)
{
    fit_tops(b, used, j, k, at);
    const four unit0 = units_of(b->tops + at), unit1 = unit0 * 0x1p-32, unit2 = unit1 * 0x1p-32;
    const four shift0 = unit0 * SHIFT, shift1 = unit1 * SHIFT, shift2 = unit2 * SHIFT;
    four_words words0 = {0, 0, 0, 0}, words1 = words0, words2 = words0;
    for (Py_ssize_t r = 0; r < used; r++) {
        four rest = terms_of(b->used[r], j, k);
        const four shifted0 = rest + shift0; /* rounded to a multiple of the bin's unit */
        rest -= shifted0 - shift0;
        const four shifted1 = rest + shift1;
        rest -= shifted1 - shift1;
        const four shifted2 = rest + shift2;
        words0 += (four_words)shifted0, words1 += (four_words)shifted1, words2 += (four_words)shifted2;
    }
    *(four *)(b->slices[0] + at) += sum_of_slices(used, words0, shift0, unit0);
    *(four *)(b->slices[1] + at) += sum_of_slices(used, words1, shift1, unit1);
    *(four *)(b->slices[2] + at) += sum_of_slices(used, words2, shift2, unit2);
}

/* The slices of some rows, one vector of sums after another. Rows that are zero in a line's own column add nothing to
 * the line: of the dummies of a category that is most of them. */
CLONES static void add_slices(const bins *b, Py_ssize_t rows)
{
    Py_ssize_t at = 0;
    for (Py_ssize_t k = 0; k < b->width; k++) {
        double largest = 0;
        for (Py_ssize_t r = 0; r < rows; r++) {
            const double entry = b->z[r * b->stride + k], size = entry < 0 ? -entry : entry;
            largest = size > largest ? size : largest;
        }
        b->largest[k] = largest;
    }
    for (Py_ssize_t j = 0; j < b->width; j++) {
        Py_ssize_t used = 0;
        for (Py_ssize_t r = 0; r < rows; r++) {
            b->used[used] = b->z + r * b->stride;
            used += b->used[used][j] != 0;
        }
        for (Py_ssize_t k = j; k < b->width; k += LANES, at += LANES)
            add_terms(b, used, j, k, at);
    }
    for (Py_ssize_t r = 0; r < rows; r++)
        b->used[r] = b->z + r * b->stride;
    for (Py_ssize_t k = 1; k < b->width; k += LANES, at += LANES)
        add_terms(b, rows, OF_CUBES, k, at);
}

/* A block's numbers to where the arithmetic is, and back; what fills up a line stays at the lowest top, and zero.
 * Whether the tops are bins that there are. */
static int move_block(const bins *b, Py_ssize_t numbers, int8_t *tops, double *slices, int back)
{
    Py_ssize_t at = 0, from = 0;
    int fine = 1;
    for (Py_ssize_t i = 0; i < numbers; i++)
        fine &= tops[i] >= LOWEST && tops[i] <= HIGHEST;
    for (Py_ssize_t j = 0; j <= b->width; j++) { /* the cubes last */
        const Py_ssize_t line = j < b->width ? b->width - j : b->width - 1;
        memcpy(back ? tops + from : b->tops + at, back ? b->tops + at : tops + from, (size_t)line);
        for (int s = 0; s < SLICES; s++) {
            double *const here = b->slices[s] + at, *const there = slices + s * numbers + from;
            memcpy(back ? there : here, back ? here : there, (size_t)line * sizeof(double));
        }
        from += line;
        at += whole_vectors(line);
    }
    return fine;
}

/* A row that is needed soon. */
INLINE void send_for(const flush *f, Py_ssize_t place)
{
    const double *const row = (const double *)f->rows + place * (f->width - 1);
    for (Py_ssize_t k = 0; k < f->width - 1; k += LINE)
        __builtin_prefetch(row + k);
    __builtin_prefetch(row + f->width - 2);
}

static int add_binned_blocks(const flush *f, int8_t *tops, double *slices)
{
    const double *used[TOGETHER + 1];
    bins b = {f->width, f->width + LANES, NULL, used, NULL, {NULL}, NULL};
    double *const room = calloc((size_t)(f->padded * SLICES + (TOGETHER + 1) * b.stride), sizeof(double));
    b.tops = malloc((size_t)f->padded);
    int fine = room != NULL && b.tops != NULL;
    for (int s = 0; fine && s < SLICES; s++)
        b.slices[s] = room + s * f->padded;
    b.z = room + SLICES * f->padded, b.largest = b.z + TOGETHER * b.stride;
    if (fine)
        memset(b.tops, LOWEST, (size_t)f->padded);
    for (Py_ssize_t r = 0; fine && r < TOGETHER; r++)
        b.z[r * b.stride] = 1;
    for (Py_ssize_t block = f->first; fine && block < f->last; block++) {
        const Py_ssize_t end = f->starts[block + 1];
        if (f->starts[block] >= end)
            continue;
        fine = move_block(&b, f->numbers, tops + block * f->numbers, slices + block * SLICES * f->numbers, 0);
        for (Py_ssize_t from = f->starts[block]; fine && from < end; from += TOGETHER) {
            const Py_ssize_t some = end - from < TOGETHER ? end - from : TOGETHER;
            for (Py_ssize_t r = 0; fine && r < some; r++) {
                const Py_ssize_t place = f->order[from + r];
                const Py_ssize_t later = from + r + SOON < f->sorted ? f->order[from + r + SOON] : place;
                fine = place < f->count && later < f->count;
                if (fine) {
                    send_for(f, later);
                    memcpy(b.z + r * b.stride + 1, (const double *)f->rows + place * (f->width - 1),
                           (size_t)(f->width - 1) * sizeof(double));
                }
            }
            if (fine)
                add_slices(&b, some);
        }
        if (fine)
            move_block(&b, f->numbers, tops + block * f->numbers, slices + block * SLICES * f->numbers, 1);
    }
    free(room), free(b.tops);
    return fine;
}

#endif
