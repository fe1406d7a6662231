/* Some rows from cells to what they add to the answers; included once for each kind of processor.
 *
 * Rows lie side by side in the lanes of vectors and none sees another. Cells, products with a matrix, and sums of whole
 * numbers are exact, so their order is nothing; whatever is rounded is rounded once, by one operation after the other
 * as in rounds.py. */

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(stem) JOIN(stem, TARGET_NAME)
#define vec NAME(vec)

typedef double vec __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

/* floor((line - center) * factor + 1/2), clamped; what is no number goes to the lower end. */
TARGET static void NAME(standardize)(const double *restrict line, double center, double factor, double *restrict out,
                                     Py_ssize_t some)
{
    for (Py_ssize_t i = 0; i < some; i++) {
        const double whole = __builtin_floor((line[i] - center) * factor + 0.5);
        const double high = whole >= -MAX_CELL ? whole : -MAX_CELL;
        out[i] = high <= MAX_CELL ? high : MAX_CELL;
    }
}

/* Some columns of the products of cells with a matrix, two vectors of rows at a time. */
INLINE void NAME(multiply_columns)(const double *cells, const double *matrix, Py_ssize_t count, Py_ssize_t stride,
                                   const int columns, double *out)
{
    for (Py_ssize_t i = 0; i < SOME; i += 2 * LANES) {
        vec sums[4][2];
        memset(sums, 0, sizeof sums);
        for (Py_ssize_t j = 0; j < count; j++) {
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
    const double high = eta >= -MAX_ETA ? eta : -MAX_ETA, within = high <= MAX_ETA ? high : MAX_ETA;
    const double place = (within + MAX_ETA) * ETA_STEPS;
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
}

/* The same for z times the root of the weight, and the response beside it as the last coordinate. */
TARGET static void NAME(shorten_rows)(const ask *a, const question *q, workspace *w, const double *shares,
                                      Py_ssize_t some)
{
    double *const last = w->vectors + q->columns * SOME;
    for (Py_ssize_t i = 0; i < some; i++) {
        const double root = q->center == NULL || a->roots == NULL ? 1.0 : NAME(look_up)(a->roots, w->eta[i]);
        const double part = q->radius / (w->lengths[i] * root);
        double factor = (part < 1.0 ? part : 1.0) * q->steps;
        if (shares != NULL)
            factor *= __builtin_sqrt(shares[i]);
        w->factor[i] = factor * root;
        if (q->width > q->columns) {
            const double high = w->response[i] >= -q->top ? w->response[i] : -q->top;
            last[i] = __builtin_trunc((high <= q->top ? high : q->top) * q->scale * factor);
        }
    }
    if (q->width > q->columns)
        memset(last + some, 0, (size_t)(SOME - some) * sizeof(double));
}

/* Whole vectors; rows that are not there have the factor 0. */
TARGET static void NAME(cut)(const question *q, workspace *w, Py_ssize_t some)
{
    memset(w->factor + some, 0, (size_t)(SOME - some) * sizeof(double));
    for (Py_ssize_t k = 0; k < q->columns; k++)
        for (int i = 0; i < SOME; i++)
            w->vectors[k * SOME + i] = __builtin_trunc(w->z[k * SOME + i] * w->factor[i]);
}

INLINE double NAME(total)(vec sums)
{
    double sum = 0;
    for (int lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

TARGET static void NAME(add_vectors)(const question *q, const double *vectors)
{
    for (Py_ssize_t k = 0; k < q->width; k++) {
        vec sums = {0};
        for (Py_ssize_t i = 0; i < SOME; i += LANES)
            sums += *(const vec *)(vectors + k * SOME + i);
        q->totals[k] += NAME(total)(sums);
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
            totals[j * stride + k] += NAME(total)(sums[j][k]);
}

/* The upper triangle, and of tiles on the diagonal what is below it too. */
TARGET static void NAME(add_products)(const question *q, const double *vectors)
{
    const Py_ssize_t width = q->width;
    for (Py_ssize_t j = 0; j < width; j += TILE)
        for (Py_ssize_t k = j; k < width; k += TILE) {
            if (k + TILE <= width) {
                NAME(add_tile)(vectors + j * SOME, vectors + k * SOME, TILE, TILE, q->totals + j * width + k, width);
                continue;
            }
            for (Py_ssize_t c = k; c < width; c++)
                if (j + TILE <= width)
                    NAME(add_tile)(vectors + j * SOME, vectors + c * SOME, TILE, 1, q->totals + j * width + c, width);
                else
                    for (Py_ssize_t r = j; r <= c; r++)
                        NAME(add_tile)(vectors + r * SOME, vectors + c * SOME, 1, 1, q->totals + r * width + c, width);
        }
}

/* In which bin the length of each gradient lies: the last edge that it reaches, or the first. */
TARGET static void NAME(count_lengths)(const question *q, workspace *w, const double *shares, const double *line,
                                       Py_ssize_t some)
{
    double *const places = w->factor;
    for (Py_ssize_t i = 0; i < some; i++)
        places[i] = 0;
    for (Py_ssize_t edge = 1; edge < q->edge_count; edge++)
        for (Py_ssize_t i = 0; i < some; i++)
            places[i] += w->lengths[i] * __builtin_fabs(w->residual[i]) >= q->edges[edge] ? 1.0 : 0.0;
    for (Py_ssize_t i = 0; i < some; i++)
        q->totals[(Py_ssize_t)places[i] + (q->halves && line[i] > 0 ? q->edge_count : 0)] +=
            shares == NULL ? 1.0 : __builtin_floor(shares[i] * COUNT_STEPS + 0.5);
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
            for (int i = 0; i < some; i++) {
                const double guess = (line[i] - first) * inverse + 0.75, low = guess >= 0 ? guess : 0;
                const int place = (int)(low <= last ? low : last);
                places[i] = place + (line[i] >= edges[place]);
            }
        else
            for (int i = 0; i < some; i++) {
                int place = 0;
                for (int left = b->count; left > 0;) {
                    const int half = left / 2, above = line[i] >= edges[place + half];
                    place += above ? half + 1 : 0;
                    left = above ? left - half - 1 : half;
                }
                places[i] = place;
            }
        if (weights == NULL)
            for (int i = 0; i < some; i++)
                b->sums[places[i]]++;
        else
            for (int i = 0; i < some; i++)
                b->sums[places[i]] += (int64_t)weights[from + i];
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
            NAME(cut)(q, w, some);
            before = NULL;
        } else if (before == NULL || before->radius != q->radius || before->balanced != q->balanced) {
            NAME(shorten_gradients)(q, w, shares, some);
            NAME(cut)(q, w, some);
            before = q;
        }
        if (q->what == GRADIENT)
            NAME(add_vectors)(q, w->vectors);
        else
            NAME(add_products)(q, w->vectors);
    }
}

#undef vec
#undef JOIN2
#undef JOIN
#undef NAME
#undef TARGET
#undef TARGET_NAME
#undef LANES
#undef TILE
