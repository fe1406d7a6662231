/* How every block votes: the compiled twin of votes_numpy.py, which says what is computed and why.
 *
 * Four blocks side by side, one in each lane of a vector; no lane sees another one. The same double operations in the
 * same order as in NumPy, so that the votes are the same to the last one: built without contraction (setup.py), and not
 * at all where roundings may be changed. Limited C API of Python 3.11; vectors as GCC and Clang write them. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "doubles that are not rounded as they should be: the NumPy twin serves"
#endif

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

/* L (its unit diagonal left out) and 1/D of G + ridge I. */
INLINE void factor(fit *f)
{
    const Py_ssize_t columns = f->columns;
    for (Py_ssize_t j = 0; j < columns; j++) {
        four pivot = ALL(1.0 + f->ridge);
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

INLINE void give(int8_t *votes, Py_ssize_t step, four_whole passed, four b)
{
    for (int lane = 0; lane < LANES; lane++)
        votes[lane * step] = (int8_t)(passed[lane] ? (b[lane] > 0) - (b[lane] < 0) : 0);
}

/* Votes (LANES, columns), the intercept's first if it has any. */
CLONES static void vote(fit *f, int8_t *votes)
{
    const Py_ssize_t columns = f->columns, last = f->width - 1, step = columns + f->with_intercept;
    scale(f);
    factor(f);
    coefficients(f);
    four first = ALL(0.0), limit = ALL(0.0), freedom = ALL(1.0);
    if (f->with_intercept) {
        for (Py_ssize_t j = 0; j < columns; j++)
            first = first + f->means[j + 1] * f->b[j];
        first = f->means[last] - first;
    }
    const int by_sign = !(f->dead_zone > 0);
    if (!by_sign) {
        invert(f);
        four explained = ALL(0.0), length = ALL(0.0), lost = ALL(0.0);
        for (Py_ssize_t j = 0; j < columns; j++) {
            explained = explained + f->b[j] * GRAM(f, j + 1, last);
            length = length + f->b[j] * f->b[j];
            lost = lost + PICK(f->live[j + 1], 1.0 - (f->ridge * f->ridge) * f->squares[j], ALL(0.0));
        }
        const four rss = (1.0 - explained) - f->ridge * length, left = (f->rows - (f->centred ? 1.0 : 0.0)) - lost;
        limit = (f->dead_zone * f->dead_zone) * AT_LEAST(rss, ALL(0.0));
        freedom = AT_LEAST(left, ALL(LEAST_FREEDOM));
    }
    for (Py_ssize_t j = 0; j < columns; j++) {
        four_whole passed = f->live[j + 1] & f->fits;
        if (!by_sign) {
            const four noise = ENTRY(f, inverse, j, j) - f->ridge * f->squares[j];
            passed &= (f->b[j] * f->b[j]) * freedom > limit * AT_LEAST(noise, ALL(0.0));
        }
        give(votes + j + f->with_intercept, step, passed, f->b[j]);
    }
    if (f->with_intercept) {
        four_whole passed = f->fits;
        if (!by_sign) {
            four more = ALL(0.0), length = ALL(0.0);
            for (Py_ssize_t j = 0; j < columns; j++) {
                four entry = ALL(0.0);
                for (Py_ssize_t k = 0; k < columns; k++)
                    entry += ENTRY(f, inverse, j, k) * f->means[k + 1];
                more = more + f->means[j + 1] * entry;
                length = length + entry * entry;
            }
            more = more - f->ridge * length;
            passed &= (first * first) * freedom > limit * (1.0 / f->rows + AT_LEAST(more, ALL(0.0)));
        }
        give(votes, step, passed, first);
    }
}

/* A lane's sums as doubles and what they leave out; nothing where the block has too few rows, or too many. */
static void load(fit *f, int lane, const int64_t *whole, const double *slices)
{
    const Py_ssize_t numbers = f->numbers;
    double rows = 0;
    if (whole != NULL)
        rows = (double)whole[0];
    else if (slices != NULL)
        rows = slices[0] + slices[numbers];
    const int fits = rows >= (f->centred ? 2.0 : 1.0) && rows <= MOST_ROWS;
    f->rows[lane] = fits ? rows : 2.0;
    f->fits[lane] = fits ? -1 : 0;
    for (Py_ssize_t i = 0; i < numbers; i++) {
        double high = 0, low = 0;
        if (fits && whole != NULL) {
            high = (double)whole[i];
            low = (double)(whole[i] - (high < 0x1p63 ? (int64_t)high : 0));
        } else if (fits) {
            const double a = slices[i], b = slices[numbers + i], c = slices[2 * numbers + i];
            const double sum = a + b, part = sum - a;
            const double rest = ((a - (sum - part)) + (b - part)) + c;
            high = sum + rest;
            low = rest - (high - sum);
        }
        f->high[i][lane] = high;
        f->low[i][lane] = low;
    }
}

/* All blocks, four at a time; 0 if there is no memory. */
static int vote_all(fit *f, Py_ssize_t blocks, const int64_t *whole, const double *slices, int8_t *votes)
{
    const Py_ssize_t w = f->width, c = f->columns, by_inverse = f->dead_zone > 0 ? c : 0, step = c + f->with_intercept;
    const Py_ssize_t vectors = 2 * f->numbers + 4 * w + w * w + (c + 2 * by_inverse) * c + 5 * c;
    void *const memory = calloc((size_t)vectors + 1, sizeof(four));
    int8_t *const some = malloc((size_t)(LANES * step) + 1);
    if (memory == NULL || some == NULL) {
        free(memory), free(some);
        return 0;
    }
    four *at = (four *)(((uintptr_t)memory + sizeof(four) - 1) / sizeof(four) * sizeof(four));
#define ROOM(name, count) f->name = (void *)at, at += (count)
    ROOM(high, f->numbers), ROOM(low, f->numbers), ROOM(means, w), ROOM(rests, w), ROOM(roots, w), ROOM(live, w),
        ROOM(gram, w * w);
    ROOM(lower, c * c), ROOM(factor, c * by_inverse), ROOM(inverse, c * by_inverse);
    ROOM(diagonal, c), ROOM(pivots, c), ROOM(b, c), ROOM(squares, c), ROOM(scaled, c);
    for (Py_ssize_t block = 0; block < blocks; block += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            const Py_ssize_t own = block + lane;
            load(f, lane, own < blocks && whole != NULL ? whole + own * f->numbers : NULL,
                 own < blocks && slices != NULL ? slices + own * SLICES * f->numbers : NULL);
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
    if (!PyArg_ParseTuple(args, "OOnppddd", &table, &into, &f.width, &f.centred, &f.with_intercept, &f.least,
                          &f.dead_zone, &f.ridge))
        return NULL;
    if (PyObject_GetBuffer(table, &sums, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    if (PyObject_GetBuffer(into, &out, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&sums);
        return NULL;
    }
    f.columns = f.width - 2, f.ridge = f.ridge + TINY;
    const char kind = sums.format == NULL ? 'B' : sums.format[0];
    const int whole = sums.itemsize == 8 && (kind == 'q' || kind == 'l');
    int fine = f.width >= 2 && f.width < WIDEST && (whole || kind == 'd') && sums.ndim == (whole ? 2 : 3) &&
               out.ndim == 2 && out.itemsize == 1;
    f.numbers = fine ? f.width * (f.width + 1) / 2 : 0;
    fine = fine && sums.shape[sums.ndim - 1] == f.numbers && (whole || sums.shape[1] == SLICES) &&
           out.shape[0] == sums.shape[0] && out.shape[1] == f.columns + f.with_intercept;
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
     "votes_of(sums, votes, width, centred, with_intercept, least, dead_zone, ridge): votes of every block"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_votes",
    .m_doc = "Votes of blocks; used by dpselect.minimize.votes only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__votes(void) { return PyModule_Create(&definition); }
