/* The fit of four blocks side by side, one in each lane of a vector: what votes_numpy.py computes, in the same order.
 */

#ifndef DPSELECT_VOTES_FIT_H
#define DPSELECT_VOTES_FIT_H

#include <Python.h>
#include <math.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx2", "default"))) /* without fma */
#else
#define CLONES
#endif

#define INLINE static inline __attribute__((always_inline)) /* so that it is compiled for its caller's processor */

#define LANES 4
typedef double four __attribute__((vector_size(32)));
typedef long long four_whole __attribute__((vector_size(32)));

#define ALL(x) ((four){(x), (x), (x), (x)})
#define PICK(mask, a, b) ((four)(((four_whole)(a) & (mask)) | ((four_whole)(b) & ~(mask))))
#define AT_LEAST(a, b) PICK((a) >= (b), a, b) /* b where a is no number, which no block that fits has */
#define MOST_ROWS 0x1p22
#define TINY 1e-9
#define LEAST_PIVOT 1e-12
#define LEAST_FREEDOM 0.3
#define SPLIT 0x1.0000002p27
#define SLICES 3
#define WIDEST 32768

typedef struct {
    Py_ssize_t width, columns, numbers; /* of (1, x, y); of x; W(W+1)/2 */
    int centred, with_intercept;
    double least, dead_zone, ridge;
    four *high, *low;                               /* (numbers) */
    four *means, *rests, *roots;                    /* (width) */
    four *gram;                                     /* (width, width), only the upper triangle, ones left out */
    four *lower, *factor, *inverse;                 /* (columns, columns) */
    four *diagonal, *pivots, *b, *squares, *scaled; /* (columns) */
    four_whole *live;                               /* (width) */
    four rows;
    four own; /* the block's own ridge */
    four_whole fits;
} fit;

/* Where the product of entries j <= k of (1, x, y) is. */
#define PLACE(f, j, k) ((j) * (f)->width - (j) * ((j) - 1) / 2 + (k) - (j))
#define GRAM(f, j, k) ((f)->gram[(j) * (f)->width + (k)])
#define ENTRY(f, name, j, k) ((f)->name[(j) * (f)->columns + (k)])

#define HALVES(a, high_part, low_part)                                                                                 \
    const four high_part##_scaled = SPLIT * (a), high_part = high_part##_scaled - (high_part##_scaled - (a)),          \
               low_part = (a) - high_part

#define EXACT_PRODUCT(a, b, product, error)                                                                            \
    HALVES(a, product##_a1, product##_a2);                                                                             \
    HALVES(b, product##_b1, product##_b2);                                                                             \
    const four product = (a) * (b);                                                                                    \
    four error =                                                                                                       \
        ((product##_a1 * product##_b1 - product) + product##_a1 * product##_b2 + product##_a2 * product##_b1) +        \
        product##_a2 * product##_b2

INLINE four roots_of(four x) { return (four){sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3])}; }

/* Sums of products about the block's own means, or as they are; scaled to one. */
INLINE void scale(fit *f)
{
    const Py_ssize_t width = f->width;
    for (Py_ssize_t j = 1; f->centred && j < width; j++) {
        const four sum = f->high[j];
        f->means[j] = sum / f->rows;
        const four mean = f->means[j];
        EXACT_PRODUCT(mean, f->rows, product, error);
        f->rests[j] = (((sum - product) - error) + f->low[j]) / f->rows;
    }
    for (Py_ssize_t j = 1; j < width; j++) {
        for (Py_ssize_t k = j; k < width; k++) {
            const four inner = f->high[PLACE(f, j, k)], inner_rest = f->low[PLACE(f, j, k)];
            if (!f->centred) {
                GRAM(f, j, k) = inner + inner_rest;
                continue;
            }
            const four mean = f->means[j], sum = f->high[k];
            EXACT_PRODUCT(mean, sum, product, error);
            error = error + (mean * f->low[k] + f->rests[j] * sum);
            const four difference = inner - product, back = difference - inner;
            const four lost = (inner - (difference - back)) - (product + back);
            GRAM(f, j, k) = difference + (lost + (inner_rest - error));
        }
        const four square = GRAM(f, j, j);
        f->live[j] = square > f->least * f->high[PLACE(f, j, j)];
        f->roots[j] = PICK(f->live[j], 1.0 / roots_of(PICK(f->live[j], square, ALL(1.0))), ALL(0.0));
        if (!f->centred)
            f->means[j] = f->high[j];
    }
    for (Py_ssize_t j = 1; j < width; j++)
        for (Py_ssize_t k = j; k < width; k++)
            GRAM(f, j, k) = GRAM(f, j, k) * f->roots[j] * f->roots[k];
    for (Py_ssize_t j = 1; j < width; j++)
        f->means[j] = f->means[j] * f->roots[j];
    f->fits &= f->live[width - 1];
}

/* The ridge of the block itself: the stated one, the less of it the more the columns go along with the response. */
INLINE void own_ridge(fit *f)
{
    const Py_ssize_t columns = f->columns, last = f->width - 1;
    four squares = ALL(0.0), count = ALL(0.0);
    for (Py_ssize_t j = 1; j <= columns; j++) {
        squares = squares + GRAM(f, j, last) * GRAM(f, j, last);
        count = count + PICK(f->live[j], ALL(1.0), ALL(0.0));
    }
    const four left = 1.0 - squares / AT_LEAST(count, ALL(1.0)), square = left * left;
    f->own = f->ridge * (square * square) + TINY;
}

/* L (its unit diagonal left out) and 1/D of G + ridge I. */
INLINE void factor(fit *f)
{
    const Py_ssize_t columns = f->columns;
    for (Py_ssize_t j = 0; j < columns; j++) {
        four pivot = 1.0 + f->own;
        for (Py_ssize_t k = 0; k < j; k++) {
            f->scaled[k] = ENTRY(f, lower, j, k) * f->diagonal[k];
            pivot -= ENTRY(f, lower, j, k) * f->scaled[k];
        }
        const four_whole enough = pivot > ALL(LEAST_PIVOT);
        f->fits &= enough;
        f->diagonal[j] = PICK(enough, pivot, ALL(1.0));
        f->pivots[j] = 1.0 / f->diagonal[j];
        for (Py_ssize_t i = j + 1; i < columns; i++) {
            four entry = GRAM(f, j + 1, i + 1);
            for (Py_ssize_t k = 0; k < j; k++)
                entry -= ENTRY(f, lower, i, k) * f->scaled[k];
            ENTRY(f, lower, i, j) = entry * f->pivots[j];
        }
    }
}

/* L D L' b = c, forward and back. */
INLINE void coefficients(fit *f)
{
    const Py_ssize_t columns = f->columns, last = f->width - 1;
    for (Py_ssize_t i = 0; i < columns; i++) {
        four entry = GRAM(f, i + 1, last);
        for (Py_ssize_t k = 0; k < i; k++)
            entry -= ENTRY(f, lower, i, k) * f->b[k];
        f->b[i] = entry;
    }
    for (Py_ssize_t i = 0; i < columns; i++)
        f->b[i] *= f->pivots[i];
    for (Py_ssize_t i = columns - 1; i > 0; i--)
        for (Py_ssize_t j = 0; j < i; j++)
            f->b[j] -= ENTRY(f, lower, i, j) * f->b[i];
}

/* V = U' D^-1 U with U = L^-1, and the sums of squares of its lines. */
INLINE void invert(fit *f)
{
    const Py_ssize_t columns = f->columns;
    for (Py_ssize_t i = 0; i < columns; i++) {
        for (Py_ssize_t j = 0; j < i; j++) {
            four entry = ENTRY(f, lower, i, j);
            for (Py_ssize_t k = j + 1; k < i; k++)
                entry += ENTRY(f, lower, i, k) * ENTRY(f, factor, k, j);
            ENTRY(f, factor, i, j) = -entry;
        }
        ENTRY(f, factor, i, i) = ALL(1.0);
    }
    for (Py_ssize_t j = 0; j < columns; j++)
        for (Py_ssize_t k = j; k < columns; k++) {
            four entry = ALL(0.0);
            for (Py_ssize_t i = k; i < columns; i++)
                entry += ENTRY(f, factor, i, j) * (ENTRY(f, factor, i, k) * f->pivots[i]);
            ENTRY(f, inverse, j, k) = ENTRY(f, inverse, k, j) = entry;
        }
    for (Py_ssize_t j = 0; j < columns; j++) {
        four entry = ALL(0.0);
        for (Py_ssize_t k = 0; k < columns; k++)
            entry += ENTRY(f, inverse, j, k) * ENTRY(f, inverse, j, k);
        f->squares[j] = entry;
    }
}

#endif
