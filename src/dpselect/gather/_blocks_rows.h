/* Rows sorted by block, as vectors of four: what both kinds of sums need. */

#ifndef DPSELECT_BLOCKS_ROWS_H
#define DPSELECT_BLOCKS_ROWS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx2", "default"))) /* without fma */
#else
#define CLONES
#endif

#define INLINE static inline __attribute__((always_inline)) /* so that it is compiled for its caller's processor */

#define LANES 4
typedef double four __attribute__((vector_size(32), aligned(8), may_alias)); /* anywhere in memory */
typedef long long four_bits __attribute__((vector_size(32)));
typedef unsigned long long four_words __attribute__((vector_size(32)));
typedef long long four_whole __attribute__((vector_size(32), aligned(8), may_alias));

#define SHIFT 0x1.8p52 /* added to a whole number below 2^51, it leaves that number in the low bits */
#define SHIFT_BITS 0x4338000000000000ll
#define AHEAD 16 /* rows from sending for one to using it */
#define WIDEST 32768

typedef struct {
    Py_ssize_t count, width, numbers; /* rows; entries of (1, x, y); sums of a block, with the cubes */
    Py_ssize_t padded;                /* room for all sums, each line of them filled up to whole vectors */
    const uint32_t *order, *starts;
    Py_ssize_t sorted;      /* length of `order` */
    Py_ssize_t first, last; /* blocks */
    const void *rows;       /* (count, width - 1): int32 or doubles */
} flush;

static Py_ssize_t whole_vectors(Py_ssize_t entries) { return (entries + LANES - 1) / LANES * LANES; }

/* The triangle line by line, then so many lines of cubes, which have no entry for the ones. */
static Py_ssize_t padded_sums(Py_ssize_t width, Py_ssize_t cubes)
{
    Py_ssize_t total = cubes * whole_vectors(width - 1);
    for (Py_ssize_t j = 0; j < width; j++)
        total += whole_vectors(width - j);
    return total;
}

/* The products of entry j of a row with its entries k .. k+3. */
INLINE four products_of(const double *row, Py_ssize_t j, Py_ssize_t k) { return row[j] * *(const four *)(row + k); }

/* A row as doubles, ones first; the one that comes a little later is sent for. */
INLINE int fetch_row(const flush *f, Py_ssize_t i, double *z)
{
    const Py_ssize_t width = f->width, later = i + AHEAD < f->sorted ? i + AHEAD : i;
    const int32_t *const rows = f->rows;
    if ((Py_ssize_t)f->order[i] >= f->count || (Py_ssize_t)f->order[later] >= f->count)
        return 0;
    __builtin_prefetch(rows + (Py_ssize_t)f->order[later] * (width - 1));
    __builtin_prefetch(rows + (Py_ssize_t)f->order[later] * (width - 1) + width - 2);
    const int32_t *const row = rows + (Py_ssize_t)f->order[i] * (width - 1);
    z[0] = 1;
    for (Py_ssize_t k = 1; k < width; k++)
        z[k] = row[k - 1];
    return 1;
}

#endif
