/* The losses of every subset of the columns: the compiled twin of lattice_numpy.py, which says what
 * is computed and why.
 *
 * One function, `run`, solves some groups of subsets for some tables of products and some radii, in memory that Python
 * owns, with the interpreter lock released. Groups, threads, progress and interruption are Python's business
 * (lattice_compiled.py). Limited C API of Python 3.11.
 *
 * The way down: run.h says what is asked and who solves which group; lanes.h is the kernel, included once for each
 * processor and width of marks, with a file for each idea; dense.h solves a single subset where rounding was in the
 * way. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
#error "certificates need each rounding in its place, and marks a sign in the upper half: the NumPy twin serves"
#endif

#include "dense.h"
#include "memory.h"
#include "run.h"
#include "vectors.h"

/* ---- the kernel, for each processor ---- */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define X86 1
#define AVX2 1
#define MARK_BITS 32
#include "lanes.h"
#undef MARK_BITS
#define MARK_BITS 64
#include "lanes.h"
#undef MARK_BITS
#undef AVX2
#endif

#define AVX2 0
#define MARK_BITS 32
#include "lanes.h"
#undef MARK_BITS
#define MARK_BITS 64
#include "lanes.h"
#undef MARK_BITS

typedef outcome (*kernel)(const lattice_run *, size_t);

static kernel choose(int mark_bits, int plain)
{
#ifdef X86
    if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi"))
        return mark_bits == 32 ? run_avx2_32 : run_avx2_64;
#endif
    (void)plain;
    return mark_bits == 32 ? run_plain_32 : run_plain_64;
}

/* ---- Python ---- */

enum { PRODUCTS, RADII, VALUES, BOUNDS, MARKS, SHARES, WAYS, TOPS, TABLES, STARTS, NEEDS, SHARED, ARRAYS };

/* How many numbers an array holds: all are of 8 bytes but the bounds, which are floats. */
static size_t length_of(const Py_buffer *views, int array)
{
    return (size_t)views[array].len / (array == BOUNDS ? sizeof(float) : sizeof(double));
}

/* Whether the arrays are as long as the kernel will believe. */
static int fits(const Py_buffer *views, const lattice_run *run, int mark_bits)
{
    for (size_t group = 0; group < run->groups; group++)
        if (run->needs[group] > group)
            return 0;
    const size_t side = (size_t)run->width + 1, tops = (size_t)1 << (run->width - run->low);
    const size_t tables = length_of(views, PRODUCTS) / (side * side), cells = tables * run->radii_count * run->count;
    return run->width <= mark_bits - (mark_bits == 64) && length_of(views, TOPS) == run->groups * LANES &&
           length_of(views, TABLES) == length_of(views, TOPS) && length_of(views, SHARED) == run->groups + 1 &&
           length_of(views, VALUES) == cells && length_of(views, BOUNDS) == cells && length_of(views, SHARES) >= side &&
           (run->starts == NULL) == (run->marks == NULL) &&
           (run->marks == NULL || (tables == 1 && length_of(views, MARKS) == cells * (mark_bits / 32))) &&
           (run->starts == NULL ? run->low == run->width : length_of(views, STARTS) >= tops) &&
           (run->ways == NULL || length_of(views, WAYS) >= side * ((size_t)run->max_size + 2)) &&
           (run->ways != NULL || run->count == (size_t)1 << run->width);
}

static PyObject *run(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[ARRAYS];
    Py_buffer views[ARRAYS];
    int held = 0, mark_bits, plain;
    outcome found = NOTHING_LEFT;
    lattice_run r = {0};
    unsigned long long turn;
    if (!PyArg_ParseTuple(args, "(OOOOOOOOOOOO)iiiidddKi", &objects[0], &objects[1], &objects[2], &objects[3],
                          &objects[4], &objects[5], &objects[6], &objects[7], &objects[8], &objects[9], &objects[10],
                          &objects[11], &r.width, &r.low, &r.max_size, &mark_bits, &r.slack, &r.pivot, &r.norm_factor,
                          &turn, &plain))
        return NULL;
    for (; held < ARRAYS; held++) {
        const int writable = held == VALUES || held == BOUNDS || held == MARKS || held == SHARED;
        if (PyObject_GetBuffer(objects[held], &views[held], PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0)
            goto finish;
    }
    if (r.width < 0 || r.width > 63 || r.low < 0 || r.low > r.width || r.max_size < 0 ||
        (mark_bits != 32 && mark_bits != 64) || !length_of(views, RADII)) {
        PyErr_SetString(PyExc_ValueError, "no such lattice");
        goto finish;
    }
    const size_t side = (size_t)r.width + 1;
    r.radii_count = (int)length_of(views, RADII);
    r.products = views[PRODUCTS].buf;
    r.radii = views[RADII].buf;
    r.values = views[VALUES].buf;
    r.bounds = views[BOUNDS].buf;
    r.marks = views[MARKS].len ? views[MARKS].buf : NULL;
    r.shares = views[SHARES].buf;
    r.ways = views[WAYS].len ? views[WAYS].buf : NULL;
    r.tops = views[TOPS].buf;
    r.tables = views[TABLES].buf;
    r.starts = views[STARTS].len ? views[STARTS].buf : NULL;
    r.groups = length_of(views, NEEDS);
    r.needs = views[NEEDS].buf;
    r.next = views[SHARED].buf;
    r.done = r.next + 1;
    r.norm_up = 1 + 2 * r.width * UNIT;
    const size_t problems = length_of(views, PRODUCTS) * r.radii_count;
    r.count = length_of(views, VALUES) * side * side / (problems ? problems : 1);
    if (!fits(views, &r, mark_bits)) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto finish;
    }
    kernel solve = choose(mark_bits, plain);
    Py_BEGIN_ALLOW_THREADS found = solve(&r, turn);
    Py_END_ALLOW_THREADS if (found == NO_MEMORY) PyErr_NoMemory();
finish:
    while (held)
        PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(found == MORE);
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS,
     "run((products, radii, values, bounds, marks, shares, ways, tops, tables, starts, needs, shared), "
     "width, low, max_size, mark_bits, slack, pivot, norm_factor, turn, plain): whether groups are left"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_lattice",
    .m_doc = "The compiled lattice kernel; used by dpselect.minimize.losses.lattice_compiled only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__lattice(void) { return PyModule_Create(&definition); }
