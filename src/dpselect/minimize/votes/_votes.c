/* How every block votes: the compiled twin of votes_numpy.py, which says what is computed and why.
 * Four blocks side by side, one in each lane of a vector. */

#include "_votes_fit.h"

#define SOFTEST 1.5
#define UNSEEN 1.4
#define HARDEST 0.02
#define LEAST_REST 1e-18
#define LEAST_NOISE 1e-300

INLINE void give(int8_t *votes, Py_ssize_t step, four vote, four_whole counts)
{
    const four whole = whole_vote(vote * WHOLE_VOTE, counts);
    for (int lane = 0; lane < LANES; lane++)
        votes[lane * step] = (int8_t)whole[lane];
}

/* 1 where a number is above 0, -1 where it is below. */
INLINE four sign_of(four x) { return PICK(x > ALL(0.0), ALL(1.0), PICK(x < ALL(0.0), ALL(-1.0), ALL(0.0))); }

/* exp(-x) for 0 <= x <= 1.2: a series for a quarter of x, and the fourth power. */
INLINE four decay(four x)
{
    const four quarter = x * 0.25;
    four sum = ALL(1.0);
    for (double i = 9; i > 0; i--)
        sum = 1.0 - quarter * (1.0 / i) * sum;
    sum = sum * sum;
    return sum * sum;
}

/* c^1.4 for c up to 1.5: the fifth root of c^2 by Newton's rule, times c; right to eight digits where it matters. */
INLINE four power_of(four c)
{
    const four fourth = roots_of(roots_of(c)), square = c * c;
    four root = fourth * roots_of(fourth);
    for (int i = 0; i < 2; i++) {
        const four second = root * root;
        root = (4.0 * root + square / (second * second)) * 0.2;
    }
    return c * root;
}

/* The mean of clip(z/c) for an idle column where the law of z has this skewness. */
INLINE four mean_of_idle(four kappa, four c)
{
    const four square = kappa * kappa;
    const four height = 1.0 + 0.6 * square / (1.0 + square), depth = 1.0 + square * power_of(c) / 8.76;
    return -0.133 * kappa * decay(c * c * 0.5) * height / depth;
}

/* Votes (LANES, columns), the intercept's first if it has any. */
CLONES static void vote(fit *f, int8_t *votes)
{
    const Py_ssize_t columns = f->columns, last = f->width - 1, step = columns + f->with_intercept;
    scale(f);
    own_ridge(f);
    factor(f);
    coefficients(f);
    invert(f);
    four explained = ALL(0.0), length = ALL(0.0), count = ALL(0.0), first = ALL(0.0);
    for (Py_ssize_t j = 0; j < columns; j++) {
        explained = explained + f->b[j] * GRAM(f, j + 1, last);
        length = length + f->b[j] * f->b[j];
        count = count + PICK(f->live[j + 1], ALL(1.0), ALL(0.0));
        first = first + f->means[j + 1] * f->b[j];
    }
    /* What the fit leaves, were it shrunk by as much as chance explains. */
    const four fitted = explained - f->own * length, base = f->rows - (f->centred ? 1.0 : 0.0), spare = base - count;
    const four_whole enough = spare >= ALL(1.0);
    const four shrunk = 1.0 - (1.0 - explained) * base / PICK(enough, spare, ALL(1.0));
    const four theta = PICK(enough, AT_LEAST(shrunk, ALL(0.0)), ALL(0.0));
    const four rest = AT_LEAST(1.0 - 2.0 * theta * explained + theta * theta * fitted, ALL(LEAST_REST));
    const four variance = rest / AT_LEAST(base - theta * count, ALL(LEAST_FREEDOM));
    /* The skewness of the law of an idle column's z, for a column and a response of skewness one. */
    const four spared = AT_LEAST(1.0 - count / f->rows, ALL(0.0)), several = base - 1.0;
    const four_whole skewed = several > ALL(0.0);
    const four product = f->rows * roots_of(base) / PICK(skewed, several, ALL(1.0));
    const four of_response = PICK(skewed, UNSEEN * product, ALL(0.0)) * f->skew[last];
    for (Py_ssize_t j = 0; j < columns; j++) {
        const four diagonal = ENTRY(f, inverse, j, j), kept = 1.0 - f->own * diagonal;
        const four noise = AT_LEAST(diagonal - f->own * f->squares[j], ALL(LEAST_NOISE));
        /* How much of the column itself is in the weights of its coefficient. */
        const four share = AT_LEAST(AT_MOST(AT_LEAST(kept * kept / noise, spared), ALL(1.0)), ALL(-1.0));
        const four kappa = f->skew[j + 1] * (share * roots_of(share)) * of_response, size = AT_LEAST(kappa, -kappa);
        const four c = SOFTEST * AT_MOST(size, ALL(1.0));
        const four_whole soft = c >= ALL(HARDEST);
        const four ratio = f->b[j] / (roots_of(noise * variance) * PICK(soft, c, ALL(1.0)));
        const four clipped = AT_LEAST(AT_MOST(ratio, ALL(1.0)), ALL(-1.0));
        const four idle = PICK(soft, mean_of_idle(kappa, c), ALL(0.0));
        const four lean = (PICK(soft, clipped, sign_of(f->b[j])) - idle) / (1.0 + AT_LEAST(idle, -idle));
        give(votes + j + f->with_intercept, step, lean, f->live[j + 1] & f->fits);
    }
    if (f->with_intercept)
        give(votes, step, sign_of(f->means[last] - first), f->fits);
}

/* Two doubles whose sum is exact but for rounding once, the second far below the first. */
static void settle(double sum, double rest, double *high, double *low)
{
    *high = sum + rest;
    *low = rest - (*high - sum);
}

/* A lane's sums as doubles and what they leave out; nothing where the block has too few rows, or too many. */
static void load(fit *f, int lane, const int64_t *whole, const double *slices)
{
    const Py_ssize_t sums = f->sums, cubes = f->width - 1;
    double rows = 0;
    if (whole != NULL)
        rows = (double)whole[0];
    else if (slices != NULL)
        rows = slices[0] + slices[sums];
    const int fits = rows >= (f->centred ? 2.0 : 1.0) && rows <= MOST_ROWS;
    f->rows[lane] = fits ? rows : 2.0;
    f->fits[lane] = fits ? -1 : 0;
    for (Py_ssize_t i = 0; i < sums; i++) {
        double high = 0, low = 0;
        if (fits && whole != NULL) {
            high = (double)whole[i];
            low = (double)(whole[i] - (high < 0x1p63 ? (int64_t)high : 0));
            if (i >= sums - cubes) { /* so many times 2^20, and the rest, which is below 2^62 */
                const double coarse = high * 0x1p20, fine = (double)whole[i + cubes];
                const double sum = coarse + fine, part = sum - coarse;
                const double lost = (double)(whole[i + cubes] - (fine < 0x1p63 ? (int64_t)fine : 0));
                settle(sum, ((coarse - (sum - part)) + (fine - part)) + (low * 0x1p20 + lost), &high, &low);
            }
        } else if (fits) {
            const double a = slices[i], b = slices[sums + i], c = slices[2 * sums + i];
            const double sum = a + b, part = sum - a;
            settle(sum, ((a - (sum - part)) + (b - part)) + c, &high, &low);
        }
        f->high[i][lane] = high;
        f->low[i][lane] = low;
    }
}

/* All blocks, four at a time; 0 if there is no memory. */
static int vote_all(fit *f, Py_ssize_t blocks, const int64_t *whole, const double *slices, int8_t *votes)
{
    const Py_ssize_t w = f->width, c = f->columns, step = c + f->with_intercept;
    const Py_ssize_t vectors = 2 * f->sums + 5 * w + w * w + 4 * c * c + 5 * c, numbers = f->sums + (whole ? w - 1 : 0);
    void *const memory = calloc((size_t)vectors + 1, sizeof(four));
    int8_t *const some = malloc((size_t)(LANES * step) + 1);
    if (memory == NULL || some == NULL) {
        free(memory), free(some);
        return 0;
    }
    four *at = first_vector(memory);
#define ROOM(name, count) f->name = (void *)at, at += (count)
    ROOM(high, f->sums), ROOM(low, f->sums), ROOM(means, w), ROOM(rests, w), ROOM(roots, w), ROOM(skew, w);
    ROOM(live, w), ROOM(gram, w * w), ROOM(lower, c * c), ROOM(factor, c * c), ROOM(scaled, c * c);
    ROOM(inverse, c * c), ROOM(diagonal, c), ROOM(pivots, c), ROOM(b, c), ROOM(squares, c), ROOM(column, c);
    for (Py_ssize_t block = 0; block < blocks; block += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            const Py_ssize_t own = block + lane;
            load(f, lane, own < blocks && whole != NULL ? whole + own * numbers : NULL,
                 own < blocks && slices != NULL ? slices + own * SLICES * numbers : NULL);
        }
        vote(f, some);
        const Py_ssize_t real = blocks - block < LANES ? blocks - block : LANES;
        memcpy(votes + block * step, some, (size_t)(real * step));
    }
    free(memory), free(some);
    return 1;
}

static PyObject *votes_of(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *table, *into;
    Py_buffer sums, out;
    fit f;
    if (!PyArg_ParseTuple(args, "OOnppdd", &table, &into, &f.width, &f.centred, &f.with_intercept, &f.least, &f.ridge))
        return NULL;
    if (PyObject_GetBuffer(table, &sums, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    if (PyObject_GetBuffer(into, &out, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&sums);
        return NULL;
    }
    f.columns = f.width - 2;
    const char kind = sums.format == NULL ? 'B' : sums.format[0];
    const int whole = sums.itemsize == 8 && (kind == 'q' || kind == 'l');
    int fine = f.width >= 2 && f.width < WIDEST && (whole || kind == 'd') && sums.ndim == (whole ? 2 : 3) &&
               out.ndim == 2 && out.itemsize == 1;
    f.sums = fine ? f.width * (f.width + 1) / 2 + f.width - 1 : 0;
    fine = fine && sums.shape[sums.ndim - 1] == f.sums + (whole ? f.width - 1 : 0) &&
           (whole || sums.shape[1] == SLICES) && out.shape[0] == sums.shape[0] &&
           out.shape[1] == f.columns + f.with_intercept;
    if (!fine)
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    else {
        Py_BEGIN_ALLOW_THREADS fine =
            vote_all(&f, sums.shape[0], whole ? sums.buf : NULL, whole ? NULL : sums.buf, out.buf);
        Py_END_ALLOW_THREADS if (!fine) PyErr_NoMemory();
    }
    PyBuffer_Release(&out);
    PyBuffer_Release(&sums);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"votes_of", votes_of, METH_VARARGS,
     "votes_of(sums, votes, width, centred, with_intercept, least, ridge): votes of every block, in 64ths"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_votes",
    .m_doc = "Votes of blocks; used by dpselect.minimize.votes.votes only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__votes(void) { return PyModule_Create(&definition); }
