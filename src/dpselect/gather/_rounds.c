/* The answers of a round to some rows in one pass: the compiled twin of the arithmetic in round_views.py, which says
 * what is computed and why.
 *
 * Each row goes through the same double operations in the same order as there, by itself; all sums are of whole numbers
 * below 2^53. So the answers are the same integers, on whatever processor. _rounds_ask.h says what is asked,
 * _rounds_rows.h is the kernel, included once for each kind of processor. Built without contraction (setup.py). Limited
 * C API of Python 3.11; vectors as GCC and Clang write them. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "doubles that are not rounded as they should be: the NumPy twin serves"
#endif

#define INLINE static inline __attribute__((always_inline)) /* so that it is compiled for its caller's processor */

#include "_rounds_ask.h"

/* ---- the kernel, for each processor; none fuses a product with a sum ---- */

#if defined(__x86_64__) && defined(__GNUC__)
#define X86 1
#define TARGET __attribute__((target("avx512f")))
#define TARGET_NAME avx512
#define LANES 8
#define TILE 4
#include "_rounds_rows.h"

#define TARGET __attribute__((target("avx2")))
#define TARGET_NAME avx2
#define LANES 4
#define TILE 3
#include "_rounds_rows.h"
#endif

#define TARGET
#define TARGET_NAME plain
#define LANES 2
#define TILE 3
#include "_rounds_rows.h"

/* A processor's kernels: what some rows add to all sums, and how many numbers of a line lie in which bin. */
typedef struct {
    void (*add_some)(const ask *, workspace *, Py_ssize_t, Py_ssize_t);
    void (*count_line)(const bins *, const double *, const double *, Py_ssize_t);
} kernel;

/* Up to so many lanes: of eight, four and two the best that this processor has. */
static kernel choose(int lanes)
{
#ifdef X86
    if (lanes >= 8 && __builtin_cpu_supports("avx512f"))
        return (kernel){add_some_avx512, count_line_avx512};
    if (lanes >= 4 && __builtin_cpu_supports("avx2"))
        return (kernel){add_some_avx2, count_line_avx2};
#endif
    (void)lanes;
    return (kernel){add_some_plain, count_line_plain};
}

/* The first place from here on where a vector does not lie in two lines of the cache. */
static double *aligned(char *memory) { return (double *)(memory + (ALIGNED - (uintptr_t)memory % ALIGNED)); }

static int64_t whole_total(const question *q, Py_ssize_t number)
{
    double total = 0;
    for (int lane = 0; lane < MOST_LANES; lane++)
        total += q->totals[number * MOST_LANES + lane];
    return (int64_t)total;
}

static int answer(const ask *a, kernel with)
{
    workspace w;
    const size_t lines = (size_t)a->cells + 2 * (size_t)a->most + 1;
    char *const memory = malloc(lines * SOME * sizeof(double) + ALIGNED);
    if (memory == NULL)
        return 0;
    w.cells = aligned(memory);
    w.z = w.cells + a->cells * SOME;
    w.vectors = w.z + a->most * SOME;
    for (int i = 0; i < SOME; i++)
        w.cells[i] = ONE_CELL; /* the constant; where there is none the first cells take its place */
    for (Py_ssize_t from = 0; from < a->rows; from += SOME)
        with.add_some(a, &w, from, a->rows - from < SOME ? a->rows - from : SOME);
    free(memory);
    for (question *q = a->questions; q < a->questions + a->count; q++) {
        const int square = q->what == GRAM || q->what == SANDWICH;
        for (Py_ssize_t k = 0; k < q->numbers; k++) {
            const Py_ssize_t row = k / q->width, column = k % q->width; /* the tiles have the upper triangle */
            q->sums[k] += whole_total(q, square && row > column ? column * q->width + row : k);
            if (q->what == NORMS && (k + 1) % q->edge_count) /* those that reach the next edge too */
                q->sums[k] -= whole_total(q, k + 1);
        }
    }
    return 1;
}

/* ---- Python ---- */

/* The buffers of a call, and whether all of them were what they should be. */
typedef struct {
    Py_buffer *views;
    Py_ssize_t held, room;
    int fine;
} buffers;

/* An array of numbers, doubles ('d') or int64 ('q'): side by side, but for the lines of a design, of which each is. */
static Py_buffer *take(buffers *b, PyObject *array, char kind, int dimensions, int flags)
{
    if (!b->fine)
        return NULL;
    Py_buffer *const view = &b->views[b->held];
    b->fine = b->held < b->room && PyObject_GetBuffer(array, view, PyBUF_FORMAT | flags) == 0;
    if (!b->fine)
        return NULL;
    b->held++;
    const char found = view->format == NULL ? 'B' : view->format[0];
    b->fine = view->itemsize == 8 && view->ndim == dimensions && (found == kind || (kind == 'q' && found == 'l')) &&
              (uintptr_t)view->buf % sizeof(double) == 0;
    return b->fine ? view : NULL;
}

/* So many doubles, or NULL for None. */
static const double *take_doubles(buffers *b, PyObject *array, Py_ssize_t length)
{
    const Py_buffer *const view = array == Py_None ? NULL : take(b, array, 'd', 1, PyBUF_C_CONTIGUOUS);
    if (view == NULL)
        return NULL;
    b->fine = view->shape[0] == length;
    return view->buf;
}

/* Some lines of a design, each side by side; how many rows there are. */
static Py_ssize_t take_lines(buffers *b, PyObject *from, PyObject *places, Py_ssize_t count, const double **lines)
{
    const Py_buffer *const chosen = take(b, places, 'q', 1, PyBUF_C_CONTIGUOUS), *const all = take(b, from, 'd', 2,
                                                                                                   PyBUF_STRIDED_RO);
    if (!b->fine)
        return 0;
    b->fine = (all->strides[1] == sizeof(double) || all->shape[1] <= 1) &&
              all->strides[0] % (Py_ssize_t)sizeof(double) == 0 && all->shape[1] <= MAX_ROWS &&
              chosen->shape[0] == count;
    for (Py_ssize_t k = 0; b->fine && k < count; k++) {
        const int64_t place = ((const int64_t *)chosen->buf)[k];
        b->fine = place >= 0 && place < all->shape[0];
        if (b->fine)
            lines[k] = (const double *)((const char *)all->buf + place * all->strides[0]);
    }
    return all->shape[1];
}

/* One query: (kind, matrix, center, radius, steps, balanced, top, scale, edges, halves, sums). */
static void take_question(buffers *b, ask *a, question *q, PyObject *from)
{
    PyObject *matrix, *center, *edges, *sums;
    int what;
    b->fine = b->fine && PyTuple_Check(from) &&
              PyArg_ParseTuple(from, "iOOddpddOpO", &what, &matrix, &center, &q->radius, &q->steps, &q->balanced,
                               &q->top, &q->scale, &edges, &q->halves, &sums);
    if (!b->fine)
        return;
    const Py_buffer *const entries = take(b, matrix, 'd', 2, PyBUF_C_CONTIGUOUS),
                           *const parts = take(b, edges, 'd', 1, PyBUF_C_CONTIGUOUS),
                           *const whole = take(b, sums, 'q', 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
    q->center = take_doubles(b, center, a->cells);
    if (!b->fine)
        return;
    q->what = (kind)what;
    q->matrix = entries->buf, q->columns = entries->shape[1];
    q->edges = parts->buf, q->edge_count = parts->shape[0];
    q->sums = whole->buf, q->numbers = whole->shape[0];
    q->width = q->columns + (q->what == GRAM && q->top >= 0);
    const Py_ssize_t numbers = q->what == NORMS      ? (q->halves ? 2 : 1) * q->edge_count
                               : q->what == GRADIENT ? q->width
                                                     : q->width * q->width;
    b->fine = what >= 0 && what < KINDS && entries->shape[0] == a->cells && q->columns > 0 && numbers > 0 &&
              q->numbers == numbers && (q->what == GRAM || q->center != NULL);
    a->most = a->most < q->columns ? q->columns : a->most;
}

/* What all arrays were, as Python is told: None, or an error if one did not fit. */
static PyObject *done(buffers *b)
{
    while (b->held)
        PyBuffer_Release(&b->views[--b->held]);
    PyMem_Free(b->views);
    if (!b->fine && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    return b->fine ? Py_NewRef(Py_None) : NULL;
}

static PyObject *add_sums(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *lines, *places, *centers, *factors, *response, *shares, *means, *roots, *questions;
    ask a = {0};
    int lanes;
    if (!PyArg_ParseTuple(args, "OOOOpOOOOO!i", &lines, &places, &centers, &factors, &a.constant, &response, &shares,
                          &means, &roots, &PyTuple_Type, &questions, &lanes))
        return NULL;
    a.count = PyTuple_Size(questions);
    buffers b = {.room = 8 + 4 * a.count, .fine = 1};
    b.views = PyMem_Calloc((size_t)b.room, sizeof(Py_buffer));
    a.questions = PyMem_Calloc((size_t)a.count + 1, sizeof(question));
    char *totals = NULL;
    if (b.views == NULL || a.questions == NULL) {
        PyErr_NoMemory();
        b.fine = 0;
    }
    const Py_buffer *const middles = take(&b, centers, 'd', 1, PyBUF_C_CONTIGUOUS);
    const Py_ssize_t count = middles == NULL ? 0 : middles->shape[0]; /* the cells but the constant, and the response */
    b.fine = b.fine && count > 0 && (a.lines = PyMem_Calloc((size_t)count, sizeof(double *))) != NULL;
    a.rows = take_lines(&b, lines, places, count, a.lines);
    a.cells = count - 1 + a.constant;
    a.centers = b.fine ? middles->buf : NULL;
    a.factors = take_doubles(&b, factors, count);
    a.response = take_doubles(&b, response, a.rows);
    a.shares = take_doubles(&b, shares, a.rows);
    a.means = take_doubles(&b, means, TABLE_LENGTH);
    a.roots = take_doubles(&b, roots, TABLE_LENGTH);
    b.fine = b.fine && a.factors != NULL && a.cells > 0;
    size_t numbers = 0;
    for (Py_ssize_t k = 0; k < a.count && b.fine; k++) {
        take_question(&b, &a, &a.questions[k], PyTuple_GetItem(questions, k));
        numbers += (size_t)a.questions[k].numbers;
    }
    if (b.fine) {
        totals = PyMem_Calloc(numbers * MOST_LANES * sizeof(double) + ALIGNED, 1);
        b.fine = totals != NULL || PyErr_NoMemory() != NULL;
        for (Py_ssize_t k = 0, at = 0; k < a.count && b.fine; at += a.questions[k++].numbers)
            a.questions[k].totals = aligned(totals) + at * MOST_LANES;
    }
    if (b.fine) {
        Py_BEGIN_ALLOW_THREADS;
        b.fine = answer(&a, choose(lanes));
        Py_END_ALLOW_THREADS;
        if (!b.fine)
            PyErr_NoMemory();
    }
    PyMem_Free(totals);
    PyMem_Free(a.lines);
    PyMem_Free(a.questions);
    return done(&b);
}

/* How many numbers of each of some lines lie in which bin: (lines, places, edges, starts, firsts, inverses, weights,
 * sums, lanes). The edges of a line, and behind them one that no number reaches, are as many as its bins. */
static PyObject *add_bins(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *from, *places, *edges, *starts, *firsts, *inverses, *weights, *sums;
    int lanes;
    if (!PyArg_ParseTuple(args, "OOOOOOOOi", &from, &places, &edges, &starts, &firsts, &inverses, &weights, &sums,
                          &lanes))
        return NULL;
    buffers b = {.room = 8, .fine = 1};
    b.views = PyMem_Calloc((size_t)b.room, sizeof(Py_buffer));
    if (b.views == NULL)
        return PyErr_NoMemory();
    const Py_buffer *const cuts = take(&b, starts, 'q', 1, PyBUF_C_CONTIGUOUS),
                           *const all = take(&b, edges, 'd', 1, PyBUF_C_CONTIGUOUS),
                           *const whole = take(&b, sums, 'q', 1, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
    const Py_ssize_t count = b.fine ? cuts->shape[0] - 1 : 0;
    const double **const lines = PyMem_Calloc((size_t)(count > 0 ? count : 1), sizeof(double *));
    b.fine = b.fine && lines != NULL && count >= 0 && all->shape[0] == whole->shape[0];
    const Py_ssize_t rows = take_lines(&b, from, places, count, lines);
    const double *const own_firsts = take_doubles(&b, firsts, count),
                        *const own_inverses = take_doubles(&b, inverses, count),
                        *const own_weights = take_doubles(&b, weights, rows);
    b.fine = b.fine && own_firsts != NULL && own_inverses != NULL;
    const int64_t *const at = b.fine ? cuts->buf : NULL;
    for (Py_ssize_t k = 0; b.fine && k < count; k++)
        b.fine = at[k] >= 0 && at[k] < at[k + 1] && at[k + 1] <= whole->shape[0] && at[k + 1] - at[k] < INT32_MAX;
    if (b.fine) {
        Py_BEGIN_ALLOW_THREADS;
        const kernel with = choose(lanes);
        for (Py_ssize_t k = 0; k < count; k++) {
            const int edge_count = (int)(at[k + 1] - at[k] - 1);
            int longest = edge_count > 0;
            while (longest > 0 && longest <= edge_count / 2)
                longest *= 2;
            const bins own = {(const double *)all->buf + at[k], edge_count, longest, own_firsts[k], own_inverses[k],
                              (int64_t *)whole->buf + at[k]};
            with.count_line(&own, lines[k], own_weights, rows);
        }
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(lines);
    return done(&b);
}

static PyMethodDef methods[] = {
    {"add_sums", add_sums, METH_VARARGS,
     "add_sums(lines, places, centers, factors, constant, response, shares, means, roots, questions, lanes)"},
    {"add_bins", add_bins, METH_VARARGS,
     "add_bins(lines, places, edges, starts, firsts, inverses, weights, sums, lanes)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_rounds",
    .m_doc = "Rows to the answers of a round; used by dpselect.gather.rounds only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__rounds(void) { return PyModule_Create(&definition); }
