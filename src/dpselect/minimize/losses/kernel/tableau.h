/* One table of products, and the least squares of a support in it: the scalar sister of lanes.h and tableaus.h, with
 * the columns along the vectors instead of the blocks. */

#ifndef DPSELECT_TABLEAU_H
#define DPSELECT_TABLEAU_H

#include <math.h>
#include <string.h>

#include "memory.h"
#include "vectors.h"

typedef struct {
    int d, vectors; /* columns, and vectors of four that hold them; what is beyond d is 0 */
    double radius, slack, pivot, norm_up, yy, response_norm, largest_norm;
    const double *shares; /* (d+1) rounding of a sum over m columns */
    v4 *gram, *c, *h;     /* (d, vectors), (vectors), (vectors) */
} table;

/* The least squares of a support, from that of the support without its lowest column by one sweep. */
typedef struct {
    uint64_t mask; /* the support; 0 for none yet */
    v4 *pivot; /* takes a vector w of the support without its lowest column j to w + pivot * w_j, but at j to pivot_j *
                  w_j */
    v4 *response; /* coefficients inside the support, residual correlations outside */
    v4 *columns;  /* (j, vectors) the columns that may still enter */
} slot;

typedef struct {
    table table;
    slot root, slots[64]; /* a support's slot is that of its lowest column */
    v4 *q;                /* residual correlations of b */
    v4 *u;                /* G^-1 times the signs, or times a column, on the support */
    double b[64], next[64];
} workspace;

/* Add column j, which is below all columns of the parent; whether it does not depend on them. */
INLINE int sweep_in(workspace *work, const slot *parent, int j)
{
    const int vectors = work->table.vectors;
    slot *const made = &work->slots[j];
    const v4 *const column = parent->columns + j * vectors;
    const double entry = ((const double *)column)[j], amount = ((const double *)parent->response)[j];
    if (!(entry > work->table.pivot * ((const double *)(work->table.gram + j * vectors))[j]))
        return 0;
    const double inverse = 1.0 / entry;
    v4 *const restrict pivot = made->pivot, *const restrict response = made->response;
    for (int i = 0; i < vectors; i++)
        pivot[i] = column[i] * -inverse;
    ((double *)pivot)[j] = inverse;
    for (int i = 0; i < vectors; i++)
        response[i] = parent->response[i] + pivot[i] * amount;
    ((double *)response)[j] = inverse * amount;
    for (int other = 0; other < j; other++) {
        const v4 *const from = parent->columns + other * vectors;
        v4 *const restrict to = made->columns + other * vectors;
        const double by = ((const double *)from)[j];
        for (int i = 0; i < vectors; i++)
            to[i] = from[i] + pivot[i] * by;
        ((double *)to)[j] = inverse * by;
    }
    made->mask = parent->mask | 1ull << j;
    return 1;
}

/* The tableau of a support; columns that depend on higher ones leave it. What is there already is kept, but only down
 * to the first column whose slot is another support's: `solve_right` needs all sweeps on the way. */
INLINE const slot *reach_support(workspace *work, uint64_t *support)
{
    const slot *at = &work->root;
    for (uint64_t rest = *support; rest;) {
        const int j = 63 - __builtin_clzll(rest);
        rest ^= 1ull << j;
        if (work->slots[j].mask == (at->mask | 1ull << j) || sweep_in(work, at, j))
            at = &work->slots[j];
        else
            *support ^= 1ull << j;
    }
    return at;
}

/* u = G^-1 right on the support, by the sweeps that led to it. */
INLINE void solve_right(workspace *work, uint64_t support, const double *right)
{
    const int vectors = work->table.vectors;
    v4 *const restrict u = work->u;
    memset(u, 0, vectors * sizeof(v4));
    while (support) {
        const int j = 63 - __builtin_clzll(support);
        const v4 *const pivot = work->slots[j].pivot;
        const double amount = right[j] + ((double *)u)[j];
        for (int i = 0; i < vectors; i++)
            u[i] += pivot[i] * amount;
        ((double *)u)[j] = ((const double *)pivot)[j] * amount;
        support ^= 1ull << j;
    }
}

/* q = c - G b. */
INLINE void correlate(workspace *work, uint64_t support)
{
    const int vectors = work->table.vectors;
    v4 *const restrict q = work->q;
    memcpy(q, work->table.c, vectors * sizeof(v4));
    for (; support; support &= support - 1) {
        const int k = __builtin_ctzll(support);
        const v4 *const column = work->table.gram + k * vectors;
        const double by = work->b[k];
        for (int i = 0; i < vectors; i++)
            q[i] -= column[i] * by;
    }
}

static void take_products(table *table, const double *products, double norm_factor)
{
    const int d = table->d;
    double strange = 0.0; /* no number if a norm is none: then no bound is any either */
    for (int k = 0; k < d; k++) {
        for (int j = 0; j < d; j++)
            ((double *)(table->gram + k * table->vectors))[j] = products[k * (d + 1) + j];
        const double norm = sqrt(products[k * (d + 1) + k]) * norm_factor;
        ((double *)table->c)[k] = products[k * (d + 1) + d];
        ((double *)table->h)[k] = norm;
        if (norm > table->largest_norm)
            table->largest_norm = norm;
        strange += 0.0 * norm;
    }
    table->largest_norm += strange;
    table->yy = products[d * (d + 1) + d];
    table->response_norm = sqrt(table->yy) * norm_factor;
}

static workspace *make_workspace(int d, double radius, double slack, double pivot, double norm_factor,
                                 const double *products, const double *shares)
{
    const int vectors = (d + 3) / 4;
    size_t needed = (size_t)(2 * d + 8) * vectors; /* gram, root columns; c, h, q, u, root response and some to spare */
    for (int j = 0; j < d; j++)
        needed += (size_t)(j + 2) * vectors;
    const size_t head = (sizeof(workspace) + 63) / 64 * 64;
    char *const memory = aligned_memory(head + needed * sizeof(v4));
    if (memory == NULL)
        return NULL;
    workspace *const work = (workspace *)memory;
    v4 *next = (v4 *)(memory + head);
    work->table = (table){d, vectors, radius, slack, pivot, 1 + 2 * d * UNIT, 0, 0, 0, shares, NULL, NULL, NULL};
    work->table.gram = take(&next, (size_t)d * vectors);
    work->table.c = take(&next, vectors);
    work->table.h = take(&next, vectors);
    work->q = take(&next, vectors);
    work->u = take(&next, vectors);
    for (int j = 0; j < d; j++) {
        work->slots[j].pivot = take(&next, vectors);
        work->slots[j].response = take(&next, vectors);
        work->slots[j].columns = take(&next, (size_t)j * vectors);
    }
    take_products(&work->table, products, norm_factor);
    work->root.response = work->table.c;
    work->root.columns = work->table.gram;
    return work;
}

#endif
