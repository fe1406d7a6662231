/* The losses of every subset of the columns: the compiled twin of lattice_numpy.py, which says what is computed and why.
 *
 * One function, `run`, solves a range of subsets for some tables of products and some radii, in memory that Python owns, with
 * the interpreter lock released. Blocks, threads, progress and interruption are Python's business. Limited C API of 3.11. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef double v4 __attribute__((vector_size(32), may_alias));
typedef long long v4l __attribute__((vector_size(32), may_alias));

#define UNIT 0x1p-53
#define ROUND_UP (1 + 0x1p-40)
#define FLOAT_UP (1 + 0x1p-22) /* more than a conversion to float can take away */
#define UNDERFLOW_BOUND 0x1p-900
#define SIGN_BIT ((v4l){INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN})
#define ABS(v) ((v4)((v4l)(v) & ~SIGN_BIT))
#define SUM(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#define OR(v) ((uint64_t)((v)[0] | (v)[1] | (v)[2] | (v)[3]))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define MAXIMUM(v) LARGER(LARGER((v)[0], (v)[1]), LARGER((v)[2], (v)[3]))

typedef struct {
    int width, radii_count, max_size;
    const double *products; /* (width+1, width+1), the response last */
    const double *radii;
    const double *norms;    /* of the columns, rounded up */
    const double *shares;   /* rounding of a subset of m columns */
    double yy, response_norm, largest_norm, norm_up, slack, pivot;
    uint64_t all;         /* every column */
    size_t count;         /* subsets */
    const uint64_t *ways; /* (width, max_size+2): how many sets of the columns below have at most so many; NULL: no limit */
    double *values;       /* (radii, count), as are the bounds */
    float *bounds;
    void *marks; /* (radii, 2, count): violators, and the columns with negative correlation */
} lattice_problem;

static void *aligned_memory(size_t size)
{
    char *raw = calloc(size + 64, 1);
    if (raw == NULL)
        return NULL;
    char *aligned = (char *)(((uintptr_t)raw + 64) & ~(uintptr_t)63);
    ((void **)aligned)[-1] = raw;
    return aligned;
}

static void free_aligned(void *aligned) { free(((void **)aligned)[-1]); }

#include "_lattice_variants.h"

typedef int (*runner)(const lattice_problem *, uint64_t, uint64_t);

static runner choose(int width, int mark_bits)
{
#ifdef LATTICE_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return mark_bits == 32 ? runners_avx2_32[(width + 3) / 4] : runners_avx2_64[(width + 15) / 16];
#endif
    return mark_bits == 32 ? runners_plain_32[(width + 3) / 4] : runners_plain_64[(width + 15) / 16];
}

/* ---- Python ---- */

typedef struct {
    Py_buffer view;
    int held;
} array;

static int take(PyObject *object, array *into, int writable)
{
    if (PyObject_GetBuffer(object, &into->view, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0)
        return 0;
    into->held = 1;
    return 1;
}

static int solve_tables(lattice_problem *problem, const array *arrays, Py_ssize_t tables, uint64_t first, uint64_t last,
                        int mark_bits)
{
    const Py_ssize_t side = problem->width + 1;
    const size_t cells = (size_t)problem->radii_count * problem->count;
    const int keep = (size_t)arrays[3].view.len == tables * cells * sizeof(float);
    runner solve = choose(problem->width, mark_bits);
    double norms[64];
    problem->norms = norms;
    for (Py_ssize_t t = 0; t < tables; t++) {
        problem->products = (const double *)arrays[0].view.buf + t * side * side;
        problem->values = (double *)arrays[2].view.buf + t * cells;
        problem->bounds = (float *)arrays[3].view.buf + (keep ? t * cells : 0);
        problem->yy = problem->products[side * side - 1];
        problem->response_norm = sqrt(problem->yy) * ROUND_UP;
        problem->largest_norm = 0.0;
        for (int j = 0; j < problem->width; j++) {
            norms[j] = sqrt(problem->products[j * side + j]) * ROUND_UP;
            problem->largest_norm = LARGER(problem->largest_norm, norms[j]);
        }
        if (!solve(problem, first, last))
            return 0;
    }
    return 1;
}

static PyObject *run(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[7];
    array arrays[7] = {{{0}}};
    int width, max_size, mark_bits, done = -1;
    unsigned long long first, last;
    double slack, pivot;
    if (!PyArg_ParseTuple(args, "OOOOOOOiiiKKdd", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4], &objects[5],
                          &objects[6], &width, &max_size, &mark_bits, &first, &last, &slack, &pivot))
        return NULL;
    for (int i = 0; i < 7; i++)
        if (!take(objects[i], &arrays[i], 2 <= i && i <= 4))
            goto finish;
    const size_t side = (size_t)width + 1;
    const Py_ssize_t tables = arrays[0].view.len / (Py_ssize_t)(side * side * sizeof(double));
    const size_t radii = arrays[1].view.len / sizeof(double);
    if (width < 0 || width > mark_bits || max_size < 0 || tables < 1 || radii < 1)
        goto wrong;
    lattice_problem problem = {
        .width = width,
        .radii_count = (int)radii,
        .max_size = max_size,
        .radii = arrays[1].view.buf,
        .shares = arrays[5].view.buf,
        .ways = arrays[6].view.len ? arrays[6].view.buf : NULL,
        .marks = arrays[4].view.buf,
        .norm_up = 1 + 2 * width * UNIT,
        .slack = slack,
        .pivot = pivot,
        .all = width == 64 ? ~0ull : (1ull << width) - 1,
        .count = arrays[2].view.len / (tables * radii * sizeof(double)),
    };
    const size_t cells = radii * problem.count;
    if ((size_t)arrays[5].view.len < side * sizeof(double) || (size_t)arrays[3].view.len < cells * sizeof(float) ||
        (size_t)arrays[4].view.len < 2 * cells * (mark_bits / 8) || problem.count < 1 ||
        (problem.ways ? (size_t)arrays[6].view.len < width * ((size_t)max_size + 2) * sizeof(uint64_t) : last > problem.count))
        goto wrong;
    Py_BEGIN_ALLOW_THREADS
    done = solve_tables(&problem, arrays, tables, first, last, mark_bits);
    Py_END_ALLOW_THREADS
    if (!done)
        PyErr_NoMemory();
    goto finish;
wrong:
    PyErr_SetString(PyExc_ValueError, "arrays do not fit together");
finish:
    for (int i = 0; i < 7; i++)
        if (arrays[i].held)
            PyBuffer_Release(&arrays[i].view);
    if (done != 1)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS,
     "run(products, radii, values, bounds, marks, shares, ways, width, max_size, mark_bits, first, last, slack, pivot)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_lattice",
    .m_doc = "The compiled lattice kernel; used by dpselect.minimize.lattice only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__lattice(void) { return PyModule_Create(&definition); }
