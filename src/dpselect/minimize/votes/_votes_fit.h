/* The fit of four blocks side by side, one in each lane of a vector: what votes_numpy.py computes, in the same order.
 */

#ifndef DPSELECT_VOTES_FIT_H
#define DPSELECT_VOTES_FIT_H

#include "_votes_lanes.h"

#define MOST_ROWS 0x1p22
#define TINY 1e-6
#define LEAST_PIVOT 1e-12
#define LEAST_FREEDOM 0.5
#define SPLIT 0x1.0000002p27
#define SLICES 3
#define WIDEST 32768

typedef struct {
    Py_ssize_t width, columns, sums; /* of (1, x, y); of x; W(W+1)/2, and the cubes of x and y */
    int centred, with_intercept;
    double least, ridge;
    four *high, *low;                               /* (sums) */
    four *means, *rests, *roots, *skew;             /* (width) */
    four *gram;                                     /* (width, width), only the upper triangle, ones left out */
    four *lower, *factor, *scaled, *inverse;        /* (columns, columns) */
    four *diagonal, *pivots, *b, *squares, *column; /* (columns) */
    four_whole *live;                               /* (width) */
    four rows;
    four own; /* the block's own ridge */
    four_whole fits;
} fit;

/* Where the product of entries j <= k of (1, x, y) is, and where the cube of entry j. */
#define PLACE(f, j, k) ((j) * (f)->width - (j) * ((j) - 1) / 2 + (k) - (j))
#define CUBE(f, j) ((f)->width * ((f)->width + 1) / 2 + (j) - 1)
#define GRAM(f, j, k) ((f)->gram[(j) * (f)->width + (k)])
#define ENTRY(f, name, j, k) ((f)->name[(j) * (f)->columns + (k)])

typedef struct {
    four high, low;
} twofold; /* a number in twice the digits */

INLINE twofold halves(four a)
{
    const four scaled = SPLIT * a, high = scaled - (scaled - a);
    return (twofold){high, a - high};
}

INLINE twofold exact_product(four a, four b)
{
    const twofold x = halves(a), y = halves(b);
    const four product = a * b;
    return (twofold){product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

/* inner - mean * sum, in twice the digits until the end. */
INLINE four less_product(twofold inner, twofold mean, twofold sum)
{
    const twofold product = exact_product(mean.high, sum.high);
    const four error = product.low + (mean.high * sum.low + mean.low * sum.high);
    const four difference = inner.high - product.high, back = difference - inner.high;
    const four lost = (inner.high - (difference - back)) - (product.high + back);
    return difference + (lost + (inner.low - error));
}

INLINE twofold sum_at(const fit *f, Py_ssize_t place) { return (twofold){f->high[place], f->low[place]}; }

/* The block's own means, in twice the digits. */
INLINE void find_means(fit *f)
{
    for (Py_ssize_t j = 1; j < f->width; j++) {
        const four sum = f->high[j], mean = sum / f->rows;
        const twofold product = exact_product(mean, f->rows);
        f->means[j] = mean;
        f->rests[j] = (((sum - product.high) - product.low) + f->low[j]) / f->rows;
    }
}

/* Sums of products and cubes about the block's own means, or as they are; scaled to one. */
INLINE void scale(fit *f)
{
    const Py_ssize_t width = f->width;
    if (f->centred)
        find_means(f);
    for (Py_ssize_t j = 1; j < width; j++) {
        const twofold mean = {f->means[j], f->rests[j]};
        for (Py_ssize_t k = j; k < width; k++) {
            const twofold inner = sum_at(f, PLACE(f, j, k));
            GRAM(f, j, k) = f->centred ? less_product(inner, mean, sum_at(f, k)) : inner.high + inner.low;
        }
        const four square = GRAM(f, j, j);
        f->live[j] = square > f->least * f->high[PLACE(f, j, j)];
        f->roots[j] = PICK(f->live[j], 1.0 / roots_of(PICK(f->live[j], square, ALL(1.0))), ALL(0.0));
        const twofold cube = sum_at(f, CUBE(f, j));
        const four third = f->centred ? less_product(cube, mean, sum_at(f, PLACE(f, j, j))) - (2.0 * mean.high) * square
                                      : cube.high + cube.low;
        f->skew[j] = AT_LEAST(AT_MOST(third * f->roots[j] * f->roots[j] * f->roots[j], ALL(1.0)), ALL(-1.0));
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
            f->column[k] = ENTRY(f, lower, j, k) * f->diagonal[k];
            pivot -= ENTRY(f, lower, j, k) * f->column[k];
        }
        const four_whole enough = pivot > ALL(LEAST_PIVOT);
        f->fits &= enough;
        f->diagonal[j] = PICK(enough, pivot, ALL(1.0));
        f->pivots[j] = 1.0 / f->diagonal[j];
        for (Py_ssize_t i = j + 1; i < columns; i++) {
            four entry = GRAM(f, j + 1, i + 1);
            for (Py_ssize_t k = 0; k < j; k++)
                entry -= ENTRY(f, lower, i, k) * f->column[k];
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
        for (Py_ssize_t j = 0; j <= i; j++)
            ENTRY(f, scaled, i, j) = ENTRY(f, factor, i, j) * f->pivots[i];
    }
    for (Py_ssize_t j = 0; j < columns; j++)
        for (Py_ssize_t k = j; k < columns; k++) {
            four entry = ALL(0.0);
            for (Py_ssize_t i = k; i < columns; i++)
                entry += ENTRY(f, factor, i, j) * ENTRY(f, scaled, i, k);
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
