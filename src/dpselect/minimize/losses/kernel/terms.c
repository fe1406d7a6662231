/* The losses of every set of terms, a term being columns that enter together: the compiled twin of terms_numpy.py,
 * which says what is computed and why.
 *
 * One function, `run`, solves some sets in a row, in memory that Python owns, with the interpreter lock released.
 * Limited C API of Python 3.11.
 *
 * The way down: tableau.h has the products and least squares of a support; active.h finds the support of one candidate;
 * this file asks the children, certifies and stores. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "certificates need each rounding in its place: the NumPy twin serves"
#endif

#include "active.h"

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define CLONES
#endif

typedef struct {
    int count, max_size;     /* terms, and columns of a candidate at most, those always in not counted */
    const uint64_t *columns; /* (count + 1) of each term, lower terms having lower columns; last those always in */
    double *values;          /* (2^count), as all below */
    float *bounds;
    uint64_t *supports, *negatives, *violators;
} term_run;

/* The columns of a set of terms. */
INLINE uint64_t columns_of(const term_run *run, uint64_t set)
{
    uint64_t columns = run->columns[run->count];
    for (; set; set &= set - 1)
        columns |= run->columns[__builtin_ctzll(set)];
    return columns;
}

/* A term that the set without it does not want, or -1; and what the children of a set say about all others. */
INLINE int ask_children(const term_run *run, uint64_t set, face *guess)
{
    guess->support = guess->negative = 0;
    for (uint64_t rest = set; rest; rest &= rest - 1) {
        const int term = __builtin_ctzll(rest);
        const uint64_t child = set ^ (rest & -rest), wanted = run->violators[child] & run->columns[term];
        if (!wanted)
            return term;
        guess->support |= wanted;
        guess->negative |= run->negatives[child] & wanted;
    }
    /* about the columns that are always in, no child says more than its own solution */
    if (set) {
        const uint64_t child = set & (set - 1), kept = run->supports[child] & run->columns[run->count];
        guess->support |= kept;
        guess->negative |= run->negatives[child] & kept;
    }
    return -1;
}

/* See lattice_certificate.py for what is computed here and the proof. */
INLINE void certify(const workspace *work, const term_run *run, uint64_t set, uint64_t inside, const face *found)
{
    const table *const t = &work->table;
    const double *const q = (const double *)work->q, *const h = (const double *)t->h;
    double inner = 0.0, largest = 0.0, fit = 0.0, norm = 0.0, length = 0.0;
    for (uint64_t rest = found->support; rest; rest &= rest - 1) {
        const int k = __builtin_ctzll(rest);
        norm += fabs(work->b[k]);
        length += h[k] * fabs(work->b[k]);
        fit += ((const double *)t->c)[k] * work->b[k];
        inner += q[k] * work->b[k];
    }
    const double share = t->shares[__builtin_popcountll(found->support)], extent = t->response_norm + length;
    double strange = 0.0; /* no number if a correlation is none: then the bound is none either */
    uint64_t violators = 0, negative = found->negative & found->support;
    for (int k = 0; k < t->d; k++) {
        const double size = fabs(q[k]);
        const uint64_t bit = 1ull << k;
        strange += 0.0 * size;
        if (!(inside & bit) && size > found->multiplier + t->slack * share * extent * h[k])
            violators |= bit;
        else if (size > largest)
            largest = size;
        if (!(found->support & bit) && q[k] < 0)
            negative |= bit;
    }
    const double total = norm * t->norm_up, over = (total > t->radius ? 1.0 - t->radius / total : 0.0) + UNIT;
    const double excess = 2.0 * over * extent * extent, gap = 2.0 * (t->radius * largest - inner);
    const double rounding = 2.0 * share * extent * (extent + t->radius * t->largest_norm);
    const double bound = ((gap > excess ? gap : excess) + rounding + strange) * ROUND_UP + UNDERFLOW_BOUND;
    const double value = t->yy - fit - inner;
    const int sound = bound >= 0 && bound < INFINITY;
    run->values[set] = sound && value > 0 ? value : 0.0;
    run->bounds[set] = sound ? (float)(bound * FLOAT_UP + FLOAT_LEAST) : INFINITY;
    run->supports[set] = found->support;
    run->negatives[set] = negative;
    run->violators[set] = sound ? violators : ~inside;
}

/* The sets from `set` to `end`, in the order of the numbers, so that each comes after its children. */
CLONES static void solve_range(workspace *work, const term_run *run, uint64_t set, uint64_t end)
{
    for (; set < end; set++) {
        const uint64_t inside = columns_of(run, set);
        run->values[set] = 0.0;
        run->bounds[set] = INFINITY;
        if (__builtin_popcountll(inside & ~run->columns[run->count]) > run->max_size)
            continue;
        face found;
        const int idle = ask_children(run, set, &found);
        if (idle >= 0) {
            const uint64_t child = set ^ 1ull << idle;
            run->values[set] = run->values[child];
            run->bounds[set] = run->bounds[child];
            run->supports[set] = run->supports[child];
            run->negatives[set] = run->negatives[child];
            run->violators[set] = run->violators[child];
            continue;
        }
        const uint64_t child = set & (set - 1); /* the empty set's is itself, and has no support yet */
        face start = {set ? run->supports[child] : 0, set ? run->negatives[child] : 0, 0.0};
        find_support(work, inside, &found, &start);
        certify(work, run, set, inside, &found);
    }
}

/* ---- Python ---- */

enum { PRODUCTS, SHARES, COLUMNS, VALUES, BOUNDS, SUPPORTS, NEGATIVES, VIOLATORS, ARRAYS };

static size_t length_of(const Py_buffer *views, int array)
{
    return (size_t)views[array].len / (array == BOUNDS ? sizeof(float) : sizeof(double));
}

/* Whether the arrays are as long as the solver will believe. */
static int fits(const Py_buffer *views, int width, uint64_t start, uint64_t end)
{
    const size_t terms = length_of(views, COLUMNS);
    if (width < 0 || width > 63 || terms < 1 || terms > 41 || start > end || end > (uint64_t)1 << (terms - 1))
        return 0;
    int good =
        length_of(views, PRODUCTS) == (size_t)(width + 1) * (width + 1) && length_of(views, SHARES) > (size_t)width;
    for (int array = VALUES; array < ARRAYS; array++)
        good &= length_of(views, array) == (size_t)1 << (terms - 1);
    for (size_t term = 0; term < terms; term++)
        good &= ((const uint64_t *)views[COLUMNS].buf)[term] >> width == 0;
    return good;
}

static PyObject *run(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[ARRAYS];
    Py_buffer views[ARRAYS];
    int held = 0, width, max_size;
    double radius, slack, pivot, norm_factor;
    unsigned long long start, end;
    if (!PyArg_ParseTuple(args, "(OOOOOOOO)iiddddKK", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[5], &objects[6], &objects[7], &width, &max_size, &radius, &slack, &pivot,
                          &norm_factor, &start, &end))
        return NULL;
    for (; held < ARRAYS; held++)
        if (PyObject_GetBuffer(objects[held], &views[held],
                               PyBUF_C_CONTIGUOUS | (held >= VALUES ? PyBUF_WRITABLE : 0)) < 0)
            goto finish;
    if (!fits(views, width, start, end)) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto finish;
    }
    const term_run asked = {
        .count = (int)length_of(views, COLUMNS) - 1,
        .max_size = max_size,
        .columns = views[COLUMNS].buf,
        .values = views[VALUES].buf,
        .bounds = views[BOUNDS].buf,
        .supports = views[SUPPORTS].buf,
        .negatives = views[NEGATIVES].buf,
        .violators = views[VIOLATORS].buf,
    };
    workspace *work = make_workspace(width, radius, slack, pivot, norm_factor, views[PRODUCTS].buf, views[SHARES].buf);
    if (work == NULL) {
        PyErr_NoMemory();
        goto finish;
    }
    Py_BEGIN_ALLOW_THREADS solve_range(work, &asked, start, end);
    Py_END_ALLOW_THREADS free_aligned(work);
finish:
    while (held)
        PyBuffer_Release(&views[--held]);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS,
     "run((products, shares, columns, values, bounds, supports, negatives, violators), "
     "width, max_size, radius, slack, pivot, norm_factor, start, end)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_terms",
    .m_doc = "The compiled solver for sets of terms; used by dpselect.minimize.losses.terms only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__terms(void) { return PyModule_Create(&definition); }
