/* A single subset, in plain doubles: for the few where rounding left the four lanes without an answer. */

#ifndef DPSELECT_DENSE_H
#define DPSELECT_DENSE_H

#include <math.h>

#include "run.h"

/* One subset with full support and known signs, by elimination; 0 if it is singular. */
static int solve_dense(const lattice_run *run, const double *products, uint64_t support, uint64_t negative,
                       double limit, double *coefficients, double *multiplier)
{
    const int side = run->width + 1;
    int columns[64], n = 0;
    double table[64][66], norm = 0.0, su = 0.0, sb = 0.0;
    for (int k = 0; k < run->width; k++) {
        coefficients[k] = 0.0;
        if (support >> k & 1)
            columns[n++] = k;
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++)
            table[i][k] = products[columns[i] * side + columns[k]];
        table[i][n] = products[columns[i] * side + run->width];
        table[i][n + 1] = negative >> columns[i] & 1 ? -1.0 : 1.0;
    }
    for (int i = 0; i < n; i++) {
        if (!(table[i][i] > run->pivot * products[columns[i] * side + columns[i]]))
            return 0;
        const double inverse = 1.0 / table[i][i];
        for (int k = i + 1; k < n + 2; k++)
            table[i][k] *= inverse;
        for (int row = 0; row < n; row++)
            if (row != i)
                for (int k = i + 1; k < n + 2; k++)
                    table[row][k] -= table[row][i] * table[i][k];
    }
    for (int i = 0; i < n; i++) {
        const double sign = negative >> columns[i] & 1 ? -1.0 : 1.0;
        norm += fabs(table[i][n]);
        sb += sign * table[i][n];
        su += sign * table[i][n + 1];
    }
    *multiplier = limit > 0 ? 0.0 : INFINITY;
    if (norm > limit && su > 0 && sb > limit)
        *multiplier = (sb - limit) / su;
    for (int i = 0; i < n; i++)
        coefficients[columns[i]] = table[i][n] - (*multiplier > 0 ? *multiplier * table[i][n + 1] : 0.0);
    return 1;
}

#endif
