/* The losses of every subset of the columns: the compiled twin of lattice_numpy.py, which says what is computed and why.
 *
 * One function, `run`, solves some groups of subsets for some tables of products and some radii, in memory that Python owns,
 * with the interpreter lock released. Groups, threads, progress and interruption are Python's business (lattice_compiled.py).
 * Limited C API of Python 3.11; vectors as GCC and Clang write them. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
#error "the certificates need every rounding in its place, and the marks a sign in the upper half: the NumPy twin serves"
#endif

#define LANES 4
typedef double v4 __attribute__((vector_size(32)));
typedef float v4f __attribute__((vector_size(16)));
typedef long long v4l __attribute__((vector_size(32)));
typedef unsigned long long v4u __attribute__((vector_size(32)));
typedef int v8i __attribute__((vector_size(32)));
typedef unsigned v8u __attribute__((vector_size(32)));
typedef long long v4l_anywhere __attribute__((vector_size(32), may_alias, aligned(8)));

#define AHEAD 64 /* subsets about which the blocks above are asked at once; a power of 2 */
#define UNIT 0x1p-53
#define ROUND_UP (1 + 0x1p-40)
#define FLOAT_UP (1 + 0x1p-22) /* more than a conversion to float can take away, of what is no smaller than FLOAT_LEAST */
#define FLOAT_LEAST 0x1p-126
#define UNDERFLOW_BOUND 0x1p-900
#define ZERO ((v4){0, 0, 0, 0})
#define ALL_LANES(x) ((v4l){(x), (x), (x), (x)})
#define SIGN_BIT ALL_LANES(INT64_MIN)
#define ABS(v) ((v4)((v4l)(v) & ~SIGN_BIT))
#define GATHER(words, at) ((v4l){(long long)(words)[(at)[0]], (long long)(words)[(at)[1]], (long long)(words)[(at)[2]], (long long)(words)[(at)[3]]})
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define UPPER_FROM(a, b) __builtin_shufflevector(a, b, 0, 9, 2, 11, 4, 13, 6, 15)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (v4l){__VA_ARGS__})
#define UPPER_FROM(a, b) __builtin_shuffle(a, b, (v8i){0, 9, 2, 11, 4, 13, 6, 15})
#endif
/* Keeps the compiler from spreading a pointer and its offsets over many registers. */
#define ONE_REGISTER(pointer) __asm__("" : "+r"(pointer))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

typedef struct {
    int width, low, max_size, radii_count;
    const double *products; /* (tables, width+1, width+1), the response last */
    const double *radii;
    const double *shares;   /* (width+1) rounding of a subset of m columns */
    double norm_up, slack, pivot, norm_factor;
    size_t groups;
    const uint64_t *needs;  /* (groups) how many groups, from the first, must be finished before this one starts */
    uint64_t *next, *done;  /* (1), (groups) the next group to be taken, and which are finished; shared by all threads */
    const uint64_t *tops, *tables; /* (groups, LANES) the top columns of each lane's block, and its table */
    const uint64_t *starts; /* (2^tops) where a block's values and marks start; NULL: at 0 */
    const uint64_t *ways;   /* (width, max_size+2) how many sets of the columns below have at most so many; NULL: no limit */
    size_t count;           /* subsets of a table */
    double *values;         /* (tables, radii, count) */
    float *bounds;          /* the same */
    uint64_t *marks;        /* (radii, words, count); NULL: there is one block, which keeps its own */
} lattice_run;

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

/* ---- who solves which group ---- */

typedef enum { NO_MEMORY = -1, NOTHING_LEFT, MORE } outcome;

static size_t next_group(const lattice_run *run) { return __atomic_fetch_add(run->next, 1, __ATOMIC_RELAXED); }

static void has_finished(const lattice_run *run, size_t group) { __atomic_store_n(run->done + group, 1, __ATOMIC_RELEASE); }

/* Groups are taken in order, need earlier ones only, and are finished once they are taken: so nobody waits for ever. */
static size_t wait_for(const lattice_run *run, size_t group, size_t finished)
{
    while (finished < run->needs[group])
        if (__atomic_load_n(run->done + finished, __ATOMIC_ACQUIRE))
            finished++;
        else
            sched_yield();
    return finished;
}

/* ---- where a subset's numbers are ---- */

static inline size_t start_of(const lattice_run *run, uint64_t mask)
{
    return run->starts == NULL ? 0 : run->starts[mask >> run->low];
}

/* The place of a subset in its block: the order is that of the masks as numbers, those with too many columns left out. */
static size_t place_of(const lattice_run *run, uint64_t mask)
{
    uint64_t rest = mask & ((1ull << run->low) - 1);
    if (run->ways == NULL)
        return rest;
    size_t place = 0;
    int room = run->max_size - __builtin_popcountll(mask ^ rest);
    while (rest) {
        int j = 63 - __builtin_clzll(rest);
        place += run->ways[j * (run->max_size + 2) + room--];
        rest ^= 1ull << j;
    }
    return place;
}

/* One subset with full support and known signs, by elimination; 0 if it is singular. */
static int solve_dense(const lattice_run *run, const double *products, uint64_t support, uint64_t negative, double limit,
                       double *coefficients, double *multiplier)
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

/* ---- the kernel, for each processor ---- */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define X86 1
#define TARGET __attribute__((target("avx2,fma,bmi")))
#define TARGET_NAME avx2
#define ANY(v) (!_mm256_testz_si256((__m256i)(v), (__m256i)(v)))
#define MAXIMUM(a, b) ((v4)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define MARK_BITS 32
#include "_lattice_kernel.h"
#undef MARK_BITS
#define MARK_BITS 64
#include "_lattice_kernel.h"
#undef MARK_BITS
#undef TARGET
#undef TARGET_NAME
#undef ANY
#undef MAXIMUM
#endif

#define TARGET
#define TARGET_NAME plain
#define ANY(v) (((v)[0] | (v)[1] | (v)[2] | (v)[3]) != 0)
#define MAXIMUM(a, b) ((v4)(((v4l)(a) & ((a) > (b))) | ((v4l)(b) & ~((a) > (b)))))
#define MARK_BITS 32
#include "_lattice_kernel.h"
#undef MARK_BITS
#define MARK_BITS 64
#include "_lattice_kernel.h"
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

#define LENGTH(i, type) ((size_t)views[i].len / sizeof(type))

/* Whether the arrays are as long as the kernel will believe. */
static int fits(const Py_buffer *views, const lattice_run *run, int mark_bits)
{
    for (size_t group = 0; group < run->groups; group++)
        if (run->needs[group] > group)
            return 0;
    const size_t side = (size_t)run->width + 1, tops = (size_t)1 << (run->width - run->low);
    const size_t tables = LENGTH(PRODUCTS, double) / (side * side), cells = tables * run->radii_count * run->count;
    return run->width <= mark_bits - (mark_bits == 64) && LENGTH(TOPS, uint64_t) == run->groups * LANES &&
           LENGTH(TABLES, uint64_t) == LENGTH(TOPS, uint64_t) && LENGTH(SHARED, uint64_t) == run->groups + 1 &&
           LENGTH(VALUES, double) == cells &&
           LENGTH(BOUNDS, float) == cells && LENGTH(SHARES, double) >= side && (run->starts == NULL) == (run->marks == NULL) &&
           (run->marks == NULL || (tables == 1 && LENGTH(MARKS, uint64_t) == cells * (mark_bits / 32))) &&
           (run->starts == NULL ? run->low == run->width : LENGTH(STARTS, uint64_t) >= tops) &&
           (run->ways == NULL || LENGTH(WAYS, uint64_t) >= side * ((size_t)run->max_size + 2)) &&
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
    if (!PyArg_ParseTuple(args, "(OOOOOOOOOOOO)iiiidddKi", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[5], &objects[6], &objects[7], &objects[8], &objects[9], &objects[10], &objects[11], &r.width,
                          &r.low, &r.max_size, &mark_bits, &r.slack, &r.pivot, &r.norm_factor, &turn, &plain))
        return NULL;
    for (; held < ARRAYS; held++) {
        const int writable = held == VALUES || held == BOUNDS || held == MARKS || held == SHARED;
        if (PyObject_GetBuffer(objects[held], &views[held], PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0)
            goto finish;
    }
    if (r.width < 0 || r.width > 63 || r.low < 0 || r.low > r.width || r.max_size < 0 || (mark_bits != 32 && mark_bits != 64) ||
        !LENGTH(RADII, double)) {
        PyErr_SetString(PyExc_ValueError, "no such lattice");
        goto finish;
    }
    const size_t side = (size_t)r.width + 1;
    r.radii_count = (int)LENGTH(RADII, double);
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
    r.groups = LENGTH(NEEDS, uint64_t);
    r.needs = views[NEEDS].buf;
    r.next = views[SHARED].buf;
    r.done = r.next + 1;
    r.norm_up = 1 + 2 * r.width * UNIT;
    r.count = LENGTH(VALUES, double) * side * side / LARGER(LENGTH(PRODUCTS, double) * r.radii_count, 1);
    if (!fits(views, &r, mark_bits)) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto finish;
    }
    kernel solve = choose(mark_bits, plain);
    Py_BEGIN_ALLOW_THREADS
    found = solve(&r, turn);
    Py_END_ALLOW_THREADS
    if (found == NO_MEMORY)
        PyErr_NoMemory();
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
    .m_doc = "The compiled lattice kernel; used by dpselect.minimize.lattice_compiled only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__lattice(void) { return PyModule_Create(&definition); }
