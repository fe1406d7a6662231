/* What a round asks of some rows: how they become numbers near one, and what is added up of them. */

#ifndef DPSELECT_ROUNDS_ASK_H
#define DPSELECT_ROUNDS_ASK_H

#include <Python.h>
#include <stdint.h>

#define ONE_CELL 0x1p12    /* the constant of a row; cells are whole numbers of 2^-12 */
#define MAX_CELL 0x1p20    /* of a standardized cell, in those */
#define COUNT_STEPS 0x1p10 /* a share in counts is a whole number of 2^-10 */
#define MAX_ETA 16.0       /* the ends of the tables of means and roots of weights */
#define ETA_STEPS 256      /* of those tables, in one unit of eta */
#define TABLE_LENGTH (2 * (Py_ssize_t)MAX_ETA * ETA_STEPS + 1)
#define MAX_ROWS 8192 /* of a call: so many products of two numbers of 2^20 stay within 2^53 */
#define SOME 128      /* rows that go through all steps together, so that they stay near the processor */

#define MOST_LANES 8
#define ALIGNED 64
#define WITHIN(number, low, high)                                                                                      \
    ((number) > (low) ? (number) < (high) ? (number) : (high) : (low)) /* what is no number is low */

/* Sums of products of v = (z, response), shortened; sums of gradients; sums of their products; counts of their lengths.
 */
typedef enum { GRAM, GRADIENT, SANDWICH, NORMS, KINDS } kind;

typedef struct {
    kind what;
    const double *matrix; /* (cells, columns), times 2^-12 */
    const double *center; /* (cells), times 2^-12; NULL if there is none */
    Py_ssize_t columns;   /* of the matrix */
    Py_ssize_t width;     /* of a vector: the columns, and the response if it is there */
    double radius, steps; /* how long a vector may be, and the steps of a whole number in one unit */
    double top, scale;    /* of the response in a vector: where it is cut, and how much it counts */
    int balanced, halves;
    const double *edges;
    Py_ssize_t edge_count;
    Py_ssize_t numbers; /* of the answer */
    double *totals;     /* of this call, in MOST_LANES parts each */
    int64_t *sums;      /* of all calls */
} question;

typedef struct {
    Py_ssize_t rows, cells; /* cells of a standardized row, its constant included */
    int constant;           /* whether there is one: the first cell */
    const double **lines;   /* of each cell but the constant, then of the response */
    const double *centers, *factors;
    const double *response;      /* as it is meant; NULL: the last line, to be standardized */
    const double *shares;        /* NULL: each row counts as one */
    const double *means, *roots; /* tables of the family; NULL: the mean is eta itself, and the weight one */
    Py_ssize_t most;             /* columns of the widest matrix */
    question *questions;
    Py_ssize_t count;
} ask;

/* Memory for some rows on their way: a line of SOME numbers for each cell, coordinate, and so on. */
typedef struct {
    double *cells, *z, *vectors;
    double lengths[SOME] __attribute__((aligned(ALIGNED))), eta[SOME], response[SOME], residual[SOME], factor[SOME];
} workspace;

/* The bins between the edges of a line, and how many numbers lie in each. */
typedef struct {
    const double *edges;   /* in rising order; behind the last stands one that is no number, so that none reaches it */
    int count, longest;    /* how many edges, and the largest power of two up to that */
    double first, inverse; /* of even edges the first one, and one over their distance; 0 if they are not even */
    int64_t *sums;
} bins;

#endif
