/* Sums of whole numbers: exact in doubles for some rows, then in 64 bits. */

#ifndef DPSELECT_BLOCKS_WHOLE_H
#define DPSELECT_BLOCKS_WHOLE_H

#include <stdlib.h>

#include "_blocks_rows.h"

#define EXACT_ROWS 2048 /* rows whose products, each at most 2^40, have sums below 2^51 */
#define SIDE_BY_SIDE 4  /* rows whose products are added at once */
#define WHOLE_CUBES 2   /* numbers of a sum of cubes: multiples of 2^20, and the rest */
#define COARSE 0x1.8p72 /* added to a square and taken away again, it rounds it to a multiple of 2^20 */

/* The products of one row, or of four (one after another in `z`, `stride` apart, zeros behind their last entry), added
 * to `sums`. */
INLINE void add_products(const double *z, Py_ssize_t stride, Py_ssize_t width, const int four_rows, double *sums)
{
    for (Py_ssize_t j = 0; j < width; j++)
        for (Py_ssize_t k = j; k < width; k += LANES, sums += LANES) {
            four sum = products_of(z, j, k);
            if (four_rows)
                sum = (sum + products_of(z + stride, j, k)) +
                      (products_of(z + 2 * stride, j, k) + products_of(z + 3 * stride, j, k));
            *(four *)sums += sum;
        }
}

/* Cubes of whole numbers have 60 bits. A square is cut into a multiple of 2^20 and the rest, and both are multiplied by
 * the entry: numbers of 40 bits, as the products are. */
INLINE void add_cubes(const double *z, Py_ssize_t stride, Py_ssize_t width, const int rows, double *sums)
{
    double *rests = sums + whole_vectors(width - 1);
    for (Py_ssize_t k = 1; k < width; k += LANES, sums += LANES, rests += LANES) {
        four high = {0, 0, 0, 0}, low = {0, 0, 0, 0};
        for (int r = 0; r < rows; r++) {
            const four entry = *(const four *)(z + r * stride + k), square = entry * entry;
            const four coarse = (square + COARSE) - COARSE;
            high += entry * coarse;
            low += entry * (square - coarse);
        }
        *(four *)sums += high;
        *(four *)rests += low;
    }
}

/* One line of sums as int64; what it leaves behind its end is overwritten by the next. */
INLINE void pack_line(const double *sums, Py_ssize_t entries, double unit, int64_t *line)
{
    for (Py_ssize_t k = 0; k < entries; k += LANES) {
        const four shifted = *(const four *)(sums + k) * unit + SHIFT;
        four_whole whole;
        memcpy(&whole, &shifted, sizeof whole);
        *(four_whole *)(line + k) = whole - SHIFT_BITS;
    }
}

/* Whole numbers: the products of the block's rows in doubles, exactly, then packed as int64 into `packed`. */
CLONES static int sum_run(const flush *f, Py_ssize_t from, Py_ssize_t to, double *z, double *const all, int64_t *packed)
{
    const Py_ssize_t width = f->width, stride = width + LANES, cubes = padded_sums(width, 0);
    memset(all, 0, (size_t)f->padded * sizeof(double));
    for (Py_ssize_t i = from; i < to; i += SIDE_BY_SIDE) {
        const Py_ssize_t some = to - i < SIDE_BY_SIDE ? to - i : SIDE_BY_SIDE;
        for (Py_ssize_t r = 0; r < some; r++)
            if (!fetch_row(f, i + r, z + r * stride))
                return 0;
        if (some == 1) {
            add_products(z, stride, width, 0, all);
            add_cubes(z, stride, width, 1, all + cubes);
            continue;
        }
        for (Py_ssize_t r = some; r < SIDE_BY_SIDE; r++)
            memset(z + r * stride, 0, (size_t)width * sizeof(double));
        add_products(z, stride, width, 1, all);
        add_cubes(z, stride, width, SIDE_BY_SIDE, all + cubes);
    }
    const double *sums = all;
    for (Py_ssize_t j = 0; j < width; packed += width - j, sums += whole_vectors(width - j), j++)
        pack_line(sums, width - j, 1, packed);
    pack_line(sums, width - 1, 0x1p-20, packed);
    pack_line(sums + whole_vectors(width - 1), width - 1, 1, packed + width - 1);
    return 1;
}

/* Modulo 2^64: a block of more rows than its sums can hold abstains later, and must not be undefined here. */
CLONES static void add_packed(uint64_t *restrict table, const uint64_t *restrict packed, Py_ssize_t numbers)
{
    for (Py_ssize_t i = 0; i < numbers; i++)
        table[i] += packed[i];
}

static int add_whole_blocks(const flush *f, uint64_t *table)
{
    const Py_ssize_t room = f->numbers + LANES;
    double *const z = calloc((size_t)(SIDE_BY_SIDE * (f->width + LANES)), sizeof(double)), *const all = malloc(
                                                                                               (size_t)f->padded *
                                                                                               sizeof(double));
    int64_t *const packed = malloc((size_t)(2 * room) * sizeof(int64_t));
    int fine = z != NULL && all != NULL && packed != NULL, side = 0;
    uint64_t *waiting = NULL;
    for (Py_ssize_t block = f->first; fine && block < f->last; block++) {
        const Py_ssize_t end = f->starts[block + 1];
        for (Py_ssize_t from = f->starts[block]; fine && from < end; from += EXACT_ROWS) {
            uint64_t *const target = table + block * f->numbers;
            for (Py_ssize_t i = 0; i < f->numbers; i += 8)
                __builtin_prefetch(target + i, 1);
            fine = sum_run(f, from, end - from < EXACT_ROWS ? end : from + EXACT_ROWS, z, all, packed + side * room);
            /* One run later, when the stores have settled: they overlap. */
            if (waiting != NULL)
                add_packed(waiting, (uint64_t *)packed + (1 - side) * room, f->numbers);
            waiting = target;
            side = 1 - side;
        }
    }
    if (fine && waiting != NULL)
        add_packed(waiting, (uint64_t *)packed + (1 - side) * room, f->numbers);
    free(z), free(all), free(packed);
    return fine;
}

#endif
