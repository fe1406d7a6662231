/* Some rows from cells to what they add to the answers; included once for each kind of processor.
 *
 * Rows lie side by side in the lanes of vectors and none sees another. Cells, products with a matrix, and sums of whole
 * numbers are exact, so their order is nothing; whatever is rounded is rounded once, by one operation after the other
 * as in round_views.py. */

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(stem) JOIN(stem, TARGET_NAME)
#define vec NAME(vec)
#define bits NAME(bits)

typedef double vec __attribute__((vector_size(LANES * 8), aligned(8), may_alias)); /* anywhere in memory */
typedef long long bits __attribute__((vector_size(LANES * 8)));

/* floor((line - center) * factor + 1/2), clamped; what is no number goes to the lower end. */
TARGET static void NAME(standardize)(const double *restrict line, double center, double factor, double *restrict out,
                                     Py_ssize_t some)
{
    for (Py_ssize_t i = 0; i < some; i++) {
        const double whole = __builtin_floor((line[i] - center) * factor + 0.5);
        out[i] = WITHIN(whole, -MAX_CELL, MAX_CELL);
    }
}

/* Whether a row of a matrix has nothing but zeros in some columns. */
INLINE int NAME(is_zero)(const double *entries, const int columns)
{
    for (int k = 0; k < columns; k++)
        if (entries[k] != 0)
            return 0;
    return 1;
}

/* Some columns of the products of cells with a matrix, two vectors of rows at a time. The first whitening is diagonal,
 * so zeros above and below are left out. */
INLINE void NAME(multiply_columns)(const double *cells, const double *matrix, Py_ssize_t count, Py_ssize_t stride,
                                   const int columns, double *out)
{
    Py_ssize_t first = 0;
    while (count > 0 && NAME(is_zero)(matrix + (count - 1) * stride, columns))
        count--;
    while (first < count && NAME(is_zero)(matrix + first * stride, columns))
        first++;
    for (Py_ssize_t i = 0; i < SOME; i += 2 * LANES) {
        vec sums[4][2];
        memset(sums, 0, sizeof sums);
        for (Py_ssize_t j = first; j < count; j++) {
            const vec one = *(const vec *)(cells + j * SOME + i), two = *(const vec *)(cells + j * SOME + i + LANES);
            for (int k = 0; k < columns; k++) {
                sums[k][0] += one * matrix[j * stride + k];
                sums[k][1] += two * matrix[j * stride + k];
            }
        }
        for (int k = 0; k < columns; k++) {
            *(vec *)(out + k * SOME + i) = sums[k][0];
            *(vec *)(out + k * SOME + i + LANES) = sums[k][1];
        }
    }
}

TARGET static void NAME(multiply)(const double *cells, const double *matrix, Py_ssize_t count, Py_ssize_t columns,
                                  double *out)
{
    Py_ssize_t k = 0;
    for (; k + 4 <= columns; k += 4)
        NAME(multiply_columns)(cells, matrix + k, count, columns, 4, out + k * SOME);
    for (; k < columns; k++)
        NAME(multiply_columns)(cells, matrix + k, count, columns, 1, out + k * SOME);
}

/* The lengths of rows: squares added up coordinate by coordinate. */
TARGET static void NAME(measure)(const double *z, Py_ssize_t columns, double *lengths)
{
    for (Py_ssize_t i = 0; i < SOME; i += LANES) {
        vec squares = {0};
        for (Py_ssize_t k = 0; k < columns; k++) {
            const vec own = *(const vec *)(z + k * SOME + i);
            squares += own * own;
        }
        *(vec *)(lengths + i) = squares;
    }
    for (int i = 0; i < SOME; i++)
        lengths[i] = __builtin_sqrt(lengths[i]);
}

/* The value of a table at eta, on a straight line between two of its steps. */
INLINE double NAME(look_up)(const double *table, double eta)
{
    const double place = (WITHIN(eta, -MAX_ETA, MAX_ETA) + MAX_ETA) * ETA_STEPS;
    const int at = (int)place, step = at < TABLE_LENGTH - 2 ? at : (int)TABLE_LENGTH - 2;
    const double low = table[step];
    return low + (table[step + 1] - low) * (place - step);
}

TARGET static void NAME(subtract_mean)(const ask *a, workspace *w)
{
    for (int i = 0; i < SOME; i++)
        w->residual[i] = w->response[i] - (a->means == NULL ? w->eta[i] : NAME(look_up)(a->means, w->eta[i]));
}

/* What each gradient is multiplied by, so that it is no longer than the radius and in whole steps. */
TARGET static void NAME(shorten_gradients)(const question *q, workspace *w, const double *shares, Py_ssize_t some)
{
    for (Py_ssize_t i = 0; i < some; i++) {
        const double size = __builtin_fabs(w->residual[i]), other = 1.0 - size;
        const double longest = q->balanced && other > size ? other : size;
        const double part = q->radius / (w->lengths[i] * longest);
        const double factor = (part < 1.0 ? part : 1.0) * w->residual[i];
        w->factor[i] = (shares == NULL ? factor : factor * shares[i]) * q->steps;
    }
    memset(w->factor + some, 0, (size_t)(SOME - some) * sizeof(double)); /* rows that are not there */
}

/* The same for z times the root of the weight, and the response beside it as the last coordinate. */
TARGET static void NAME(shorten_rows)(const ask *a, const question *q, workspace *w, const double *shares,
                                      Py_ssize_t some)
{
    double roots[SOME];
    for (int i = 0; i < SOME; i++)
        roots[i] = q->center == NULL || a->roots == NULL ? 1.0 : NAME(look_up)(a->roots, w->eta[i]);
    for (Py_ssize_t i = 0; i < some; i++) {
        const double part = q->radius / (w->lengths[i] * roots[i]), factor = (part < 1.0 ? part : 1.0) * q->steps;
        w->factor[i] = shares == NULL ? factor : factor * __builtin_sqrt(shares[i]);
    }
    memset(w->factor + some, 0, (size_t)(SOME - some) * sizeof(double));
    if (q->width > q->columns)
        for (int i = 0; i < SOME; i++)
            w->vectors[q->columns * SOME + i] =
                __builtin_trunc(WITHIN(w->response[i], -q->top, q->top) * q->scale * w->factor[i]);
    for (int i = 0; i < SOME; i++)
        w->factor[i] *= roots[i];
}

/* Whole vectors. */
TARGET static void NAME(cut)(const question *q, workspace *w)
{
    for (Py_ssize_t k = 0; k < q->columns; k++) {
        const double *const z = w->z + k * SOME;
        double *restrict const out = w->vectors + k * SOME;
        for (int i = 0; i < SOME; i++)
            out[i] = __builtin_trunc(z[i] * w->factor[i]);
    }
}

TARGET static void NAME(add_vectors)(const question *q, const double *vectors)
{
    for (Py_ssize_t k = 0; k < q->width; k++) {
        vec sums = {0};
        for (Py_ssize_t i = 0; i < SOME; i += LANES)
            sums += *(const vec *)(vectors + k * SOME + i);
        *(vec *)(q->totals + k * MOST_LANES) += sums;
    }
}

/* The products of some coordinates, `one`, with others, `two`. */
INLINE void NAME(add_tile)(const double *one, const double *two, const int rows, const int columns, double *totals,
                           Py_ssize_t stride)
{
    vec sums[TILE][TILE];
    memset(sums, 0, sizeof sums);
    for (Py_ssize_t i = 0; i < SOME; i += LANES)
        for (int j = 0; j < rows; j++)
            for (int k = 0; k < columns; k++)
                sums[j][k] += *(const vec *)(one + j * SOME + i) * *(const vec *)(two + k * SOME + i);
    for (int j = 0; j < rows; j++)
        for (int k = 0; k < columns; k++)
            *(vec *)(totals + (j * stride + k) * MOST_LANES) += sums[j][k];
}

/* The upper triangle, and of tiles on the diagonal what is below it too. */
TARGET static void NAME(add_products)(const question *q, const double *vectors)
{
    const Py_ssize_t width = q->width;
    for (Py_ssize_t j = 0; j < width; j += TILE)
        for (Py_ssize_t k = j; k < width; k += TILE) {
            if (k + TILE <= width) {
                NAME(add_tile)(vectors + j * SOME, vectors + k * SOME, TILE, TILE,
                               q->totals + (j * width + k) * MOST_LANES, width);
                continue;
            }
            for (Py_ssize_t c = k; c < width; c++)
                if (j + TILE <= width)
                    NAME(add_tile)(vectors + j * SOME, vectors + c * SOME, TILE, 1,
                                   q->totals + (j * width + c) * MOST_LANES, width);
                else
                    for (Py_ssize_t r = j; r <= c; r++)
                        NAME(add_tile)(vectors + r * SOME, vectors + c * SOME, 1, 1,
                                       q->totals + (r * width + c) * MOST_LANES, width);
        }
}

/* How many gradients are as long as each edge or longer; all of them reach the first. Those with yes come behind the
 * others, if they are told apart. */
TARGET static void NAME(count_lengths)(const question *q, workspace *w, const double *shares, const double *line,
                                       Py_ssize_t some)
{
    double *const lengths = w->factor, counts[2][SOME] = {{0}};
    for (int i = 0; i < SOME; i++)
        lengths[i] = w->lengths[i] * __builtin_fabs(w->residual[i]);
    for (Py_ssize_t i = 0; i < some; i++) {
        const double count = shares == NULL ? 1.0 : __builtin_floor(shares[i] * COUNT_STEPS + 0.5);
        counts[q->halves && line[i] > 0][i] = count;
    }
    for (Py_ssize_t k = 0; k < q->numbers; k++) {
        const Py_ssize_t half = k / q->edge_count, edge = k % q->edge_count;
        const vec least = q->edges[edge] - (vec){0};
        vec sums = {0};
        for (Py_ssize_t i = 0; i < SOME; i += LANES) {
            const vec count = *(const vec *)(counts[half] + i);
            sums += edge ? (vec)((bits)count & (bits)(*(const vec *)(lengths + i) >= least)) : count;
        }
        *(vec *)(q->totals + k * MOST_LANES) += sums;
    }
}

/* How many edges each number reaches. Even edges stand within an eighth of their distance of where they should be: so
 * three quarters of a step further on is the right place, or the one before it, and one comparison tells, whatever was
 * rounded. */
TARGET static void NAME(count_line)(const bins *b, const double *line, const double *weights, Py_ssize_t rows)
{
    const double *const edges = b->edges, first = b->first, inverse = b->inverse, last = b->count;
    int places[SOME];
    for (Py_ssize_t from = 0; from < rows; from += SOME, line += SOME) {
        const int some = rows - from < SOME ? (int)(rows - from) : SOME;
        if (inverse > 0)
            for (int i = 0; i < some; i++)
                places[i] = (int)WITHIN((line[i] - first) * inverse + 0.75, 0, last);
        else {
            memset(places, 0, sizeof places);
            for (int step = b->longest; step > 0; step /= 2)
                for (int i = 0; i < some; i++) {
                    const int next = places[i] + step - 1, at = next < b->count ? next : b->count;
                    places[i] += (line[i] >= edges[at]) * step;
                }
        }
        if (weights == NULL)
            for (int i = 0; i < some; i++)
                b->sums[places[i] + (line[i] >= edges[places[i]])]++;
        else
            for (int i = 0; i < some; i++)
                b->sums[places[i] + (line[i] >= edges[places[i]])] += (int64_t)weights[from + i];
    }
}

static void NAME(add_some)(const ask *a, workspace *w, Py_ssize_t from, Py_ssize_t some)
{
    const double *const *const lines = a->lines, *const shares = a->shares == NULL ? NULL : a->shares + from;
    const Py_ssize_t count = a->cells - a->constant;
    const double *const raw = lines[count] + from;
    const size_t rest = (size_t)(SOME - some) * sizeof(double);
    for (Py_ssize_t j = 0; j < count; j++) {
        double *const cells = w->cells + (a->constant + j) * SOME;
        NAME(standardize)(lines[j] + from, a->centers[j], a->factors[j], cells, some);
        memset(cells + some, 0, rest);
    }
    memset(w->response, 0, sizeof w->response);
    if (a->response != NULL)
        memcpy(w->response, a->response + from, (size_t)some * sizeof(double));
    else {
        NAME(standardize)(raw, a->centers[count], a->factors[count], w->response, some);
        for (int i = 0; i < SOME; i++)
            w->response[i] *= 1 / ONE_CELL;
    }
    const question *before = NULL; /* the one whose vectors are there */
    const double *matrix = NULL, *center = NULL;
    for (const question *q = a->questions; q < a->questions + a->count; q++) {
        if (q->matrix != matrix) {
            NAME(multiply)(w->cells, q->matrix, a->cells, q->columns, w->z);
            NAME(measure)(w->z, q->columns, w->lengths);
            matrix = q->matrix;
            before = NULL;
        }
        if (q->center != NULL && q->center != center) {
            NAME(multiply)(w->cells, q->center, a->cells, 1, w->eta);
            NAME(subtract_mean)(a, w);
            center = q->center;
            before = NULL;
        }
        if (q->what == NORMS) {
            NAME(count_lengths)(q, w, shares, raw, some);
            continue;
        }
        if (q->what == GRAM) {
            NAME(shorten_rows)(a, q, w, shares, some);
            NAME(cut)(q, w);
            before = NULL;
        } else if (before == NULL || before->radius != q->radius || before->balanced != q->balanced) {
            NAME(shorten_gradients)(q, w, shares, some);
            NAME(cut)(q, w);
            before = q;
        }
        if (q->what == GRADIENT)
            NAME(add_vectors)(q, w->vectors);
        else
            NAME(add_products)(q, w->vectors);
    }
}

#undef vec
#undef bits
#undef JOIN2
#undef JOIN
#undef NAME
#undef TARGET
#undef TARGET_NAME
#undef LANES
#undef TILE
