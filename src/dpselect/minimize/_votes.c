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

#include "_votes_fit.h"

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
    own_ridge(f);
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
            lost = lost + PICK(f->live[j + 1], 1.0 - (f->own * f->own) * f->squares[j], ALL(0.0));
        }
        const four rss = (1.0 - explained) - f->own * length, left = (f->rows - (f->centred ? 1.0 : 0.0)) - lost;
        limit = (f->dead_zone * f->dead_zone) * AT_LEAST(rss, ALL(0.0));
        freedom = AT_LEAST(left, ALL(LEAST_FREEDOM));
    }
    for (Py_ssize_t j = 0; j < columns; j++) {
        four_whole passed = f->live[j + 1] & f->fits;
        if (!by_sign) {
            const four noise = ENTRY(f, inverse, j, j) - f->own * f->squares[j];
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
            more = more - f->own * length;
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
    f.columns = f.width - 2;
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
