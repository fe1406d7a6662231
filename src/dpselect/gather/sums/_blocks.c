/* Rows added to the sums of their blocks: the compiled twin of block_numpy.py, which says what is computed and why.
 *
 * A row is (1, x, y); a block keeps the sums of all products of two entries, the upper triangle row by row. Every sum
 * here is exact, so neither the order of the rows nor the processor can change a number. Rows come sorted by block, so
 * that a block's numbers are fetched once a flush. The interpreter lock is let go of; who may write to which blocks is
 * Python's business. Limited C API of Python 3.11; vectors as GCC and Clang write them. */

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

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx2", "default"))) /* without fma */
#else
#define CLONES
#endif

#define INLINE static inline __attribute__((always_inline)) /* so that it is compiled for its caller's processor */

#define LANES 4
typedef double four __attribute__((vector_size(32), aligned(8), may_alias)); /* anywhere in memory */
typedef long long four_bits __attribute__((vector_size(32)));
typedef unsigned long long four_words __attribute__((vector_size(32)));
typedef long long four_whole __attribute__((vector_size(32), aligned(8), may_alias));

#define EXACT_ROWS 2048 /* rows whose products, each at most 2^40, have sums below 2^51 */
#define SHIFT 0x1.8p52  /* added to a whole number below 2^51, it leaves that number in the low bits */
#define SHIFT_BITS 0x4338000000000000ll
#define SHIFT_WORDS ((unsigned long long)SHIFT_BITS)
#define SLICES 3
#define LOWEST (-20)   /* the first bin that is ever a top; products are 0 or above 1e-150 */
#define HIGHEST 15     /* the last one; products are at most 1e150 */
#define TOGETHER 64    /* rows of a block whose products are sliced together */
#define SIDE_BY_SIDE 4 /* rows whose products are added at once */
#define AHEAD 16       /* rows from sending for one to using it */
#define WIDEST 32768
#define SIZE_BITS ((four_bits){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX})

static const double UNITS[HIGHEST - LOWEST + 1] = {
    /* of the bins */
    0x1p-640, 0x1p-608, 0x1p-576, 0x1p-544, 0x1p-512, 0x1p-480, 0x1p-448, 0x1p-416, 0x1p-384,
    0x1p-352, 0x1p-320, 0x1p-288, 0x1p-256, 0x1p-224, 0x1p-192, 0x1p-160, 0x1p-128, 0x1p-96,
    0x1p-64,  0x1p-32,  0x1p0,    0x1p32,   0x1p64,   0x1p96,   0x1p128,  0x1p160,  0x1p192,
    0x1p224,  0x1p256,  0x1p288,  0x1p320,  0x1p352,  0x1p384,  0x1p416,  0x1p448,  0x1p480};

typedef struct {
    Py_ssize_t count, width, numbers; /* rows; entries of (1, x, y); W(W+1)/2 */
    Py_ssize_t padded;                /* entries of the triangle, each line filled up to whole vectors */
    const uint32_t *order, *starts;
    Py_ssize_t sorted;      /* length of `order` */
    Py_ssize_t first, last; /* blocks */
    const void *rows;       /* (count, width - 1): int32 or doubles */
} flush;

static Py_ssize_t padded_triangle(Py_ssize_t width)
{
    Py_ssize_t total = 0;
    for (Py_ssize_t j = 0; j < width; j++)
        total += (width - j + LANES - 1) / LANES * LANES;
    return total;
}

/* Sums of products of some rows (one after another in `z`, `stride` apart, zeros behind their last entry), added to
 * `sums`. */
#define ADD_PRODUCTS(SUM)                                                                                              \
    for (Py_ssize_t j = 0; j < width; j++)                                                                             \
        for (Py_ssize_t k = j; k < width; k += LANES, sums += LANES)                                                   \
            *(four *)sums += (SUM);

#define PRODUCT(i) (z[(i) * stride + j] * *(const four *)(z + (i) * stride + k))

/* A row as doubles, ones first; the one that comes a little later is sent for. */
INLINE int fetch_row(const flush *f, Py_ssize_t i, double *z)
{
    const Py_ssize_t width = f->width, later = i + AHEAD < f->sorted ? i + AHEAD : i;
    const int32_t *const rows = f->rows;
    if ((Py_ssize_t)f->order[i] >= f->count || (Py_ssize_t)f->order[later] >= f->count)
        return 0;
    __builtin_prefetch(rows + (Py_ssize_t)f->order[later] * (width - 1));
    __builtin_prefetch(rows + (Py_ssize_t)f->order[later] * (width - 1) + width - 2);
    const int32_t *const row = rows + (Py_ssize_t)f->order[i] * (width - 1);
    z[0] = 1;
    for (Py_ssize_t k = 1; k < width; k++)
        z[k] = row[k - 1];
    return 1;
}

/* Whole numbers: the products of the block's rows in doubles, exactly, then packed as int64 into `packed`. */
CLONES static int sum_run(const flush *f, Py_ssize_t from, Py_ssize_t to, double *z, double *const all, int64_t *packed)
{
    const Py_ssize_t width = f->width, stride = width + LANES;
    memset(all, 0, (size_t)f->padded * sizeof(double));
    for (Py_ssize_t i = from; i < to; i += SIDE_BY_SIDE) {
        const Py_ssize_t some = to - i < SIDE_BY_SIDE ? to - i : SIDE_BY_SIDE;
        for (Py_ssize_t r = 0; r < some; r++)
            if (!fetch_row(f, i + r, z + r * stride))
                return 0;
        double *sums = all;
        if (some == 1) {
            ADD_PRODUCTS(PRODUCT(0))
            continue;
        }
        for (Py_ssize_t r = some; r < SIDE_BY_SIDE; r++)
            memset(z + r * stride, 0, (size_t)width * sizeof(double));
        ADD_PRODUCTS((PRODUCT(0) + PRODUCT(1)) + (PRODUCT(2) + PRODUCT(3)))
    }
    /* Each line is stored whole; what it leaves behind its end is overwritten by the next. */
    const double *sums = all;
    int64_t *line = packed;
    for (Py_ssize_t j = 0; j < width; line += width - j, j++)
        for (Py_ssize_t k = j; k < width; k += LANES, sums += LANES) {
            const four shifted = *(const four *)sums + (four){SHIFT, SHIFT, SHIFT, SHIFT};
            four_whole whole;
            memcpy(&whole, &shifted, sizeof whole);
            *(four_whole *)(line + k - j) = whole - (four_whole){SHIFT_BITS, SHIFT_BITS, SHIFT_BITS, SHIFT_BITS};
        }
    return 1;
}

/* Modulo 2^64: a block of more rows than its sums can hold abstains later, and must not be undefined here. */
CLONES static void add_packed(uint64_t *restrict table, const uint64_t *restrict packed, Py_ssize_t numbers)
{
    for (Py_ssize_t i = 0; i < numbers; i++)
        table[i] += packed[i];
}

static int add_whole_blocks(const flush *f, uint64_t *table)
{
    const Py_ssize_t room = f->numbers + LANES;
    double *const z = calloc((size_t)(SIDE_BY_SIDE * (f->width + LANES)), sizeof(double)), *const all = malloc(
                                                                                               (size_t)f->padded *
                                                                                               sizeof(double));
    int64_t *const packed = malloc((size_t)(2 * room) * sizeof(int64_t));
    int fine = z != NULL && all != NULL && packed != NULL, side = 0;
    uint64_t *waiting = NULL;
    for (Py_ssize_t block = f->first; fine && block < f->last; block++) {
        const Py_ssize_t end = f->starts[block + 1];
        for (Py_ssize_t from = f->starts[block]; fine && from < end; from += EXACT_ROWS) {
            uint64_t *const target = table + block * f->numbers;
            for (Py_ssize_t i = 0; i < f->numbers; i += 8)
                __builtin_prefetch(target + i, 1);
            fine = sum_run(f, from, end - from < EXACT_ROWS ? end : from + EXACT_ROWS, z, all, packed + side * room);
            /* One run later, when the stores have settled: they overlap. */
            if (waiting != NULL)
                add_packed(waiting, (uint64_t *)packed + (1 - side) * room, f->numbers);
            waiting = target;
            side = 1 - side;
        }
    }
    if (fine && waiting != NULL)
        add_packed(waiting, (uint64_t *)packed + (1 - side) * room, f->numbers);
    free(z), free(all), free(packed);
    return fine;
}

/* Sums in bins. Bin t holds multiples of 2^32t; a product's top bin is the first with |p| <= 2^(32t+31), and a sum's
 * the highest of its products'. A block's numbers are fetched to where each line of the triangle fills whole vectors.
 */
typedef struct {
    Py_ssize_t width, stride; /* entries of a row; doubles from one row to the next */
    double *z;                /* (TOGETHER, stride) rows, zeros behind their last entry */
    const double **used;      /* (TOGETHER + 1) the rows that are not zero in some column */
    double *largest;          /* (stride) of each entry among these rows; zeros behind the last */
    double *slices[SLICES];   /* (padded) each */
    int8_t *tops;             /* (padded) */
} bins;

/* The first bin t with size <= 2^(32t+31). */
INLINE int top_bin(double size)
{
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    const int exponent = (int)(bits >> 52) - 1023 + ((bits & 0xfffffffffffffu) != 0); /* size <= 2^exponent */
    const int top = exponent >= 0 ? exponent / 32 : -((31 - exponent) / 32);
    return size > 0 && top > LOWEST ? top < HIGHEST ? top : HIGHEST : LOWEST;
}

/* So that none of these sizes is above its sum's top bin; what falls out of the lowest slice is dropped. */
INLINE void raise_tops(const bins *b, Py_ssize_t at, four sizes)
{
    for (Py_ssize_t i = 0; i < LANES; i++) {
        const int by = top_bin(sizes[i]) - b->tops[at + i];
        if (by <= 0)
            continue;
        b->tops[at + i] = (int8_t)(b->tops[at + i] + by);
        for (int s = SLICES - 1; s >= 0; s--)
            b->slices[s][at + i] = s >= by ? b->slices[s - by][at + i] : 0;
    }
}

INLINE four units_of(const int8_t *tops)
{
    const double *const units = UNITS - LOWEST;
    return (four){units[tops[0]], units[tops[1]], units[tops[2]], units[tops[3]]};
}

#define SIZE_OF(p) ((four)((four_bits)(p) & SIZE_BITS))
#define ALL_LANES(mask) ((mask)[0] & (mask)[1] & (mask)[2] & (mask)[3])

#define PRODUCTS(r) (b->used[r][j] * *(const four *)(b->used[r] + k))

/* The tops of one vector of sums, raised to what these rows need: the products of their columns' largest entries are
 * the most that there can be, and mostly some row's product is in the same bin as that. If none is, the largest
 * decides. */
INLINE void fit_tops(const bins *b, Py_ssize_t rows, Py_ssize_t j, Py_ssize_t k, Py_ssize_t at)
{
    const four most = b->largest[j] * *(const four *)(b->largest + k);
    const four_bits enough = most <= units_of(b->tops + at) * 0x1p31;
    if (ALL_LANES(enough))
        return;
    const int8_t tops[LANES] = {(int8_t)top_bin(most[0]), (int8_t)top_bin(most[1]), (int8_t)top_bin(most[2]),
                                (int8_t)top_bin(most[3])};
    const four below = units_of(tops) * 0x1p-1;
    four_bits found = enough;
    four largest = {0, 0, 0, 0};
    for (Py_ssize_t r = 0; r < rows && !ALL_LANES(found); r++) {
        const four size = SIZE_OF(PRODUCTS(r));
        const four_bits more = size > largest;
        largest = (four)(((four_bits)size & more) | ((four_bits)largest & ~more));
        found |= largest > below;
    }
    raise_tops(b, at, largest);
}

/* What so many shifted slices come to: a whole number of units is in the low bits of each. */
#define SLICES_SUM(count, words, shift, unit)                                                                          \
    (((four)((words) - (unsigned long long)(count) * (four_words)(shift) + SHIFT_WORDS) - SHIFT) * (unit))

/* The slices of some rows' products, one vector of sums after another. Rows that are zero in a line's own column add
 * nothing to the line: of the dummies of a category that is most of them. */
CLONES static void add_slices(const bins *b, Py_ssize_t rows)
{
    Py_ssize_t at = 0;
    for (Py_ssize_t k = 0; k < b->width; k++) {
        double largest = 0;
        for (Py_ssize_t r = 0; r < rows; r++) {
            const double entry = b->z[r * b->stride + k], size = entry < 0 ? -entry : entry;
            largest = size > largest ? size : largest;
        }
        b->largest[k] = largest;
    }
    for (Py_ssize_t j = 0; j < b->width; j++) {
        Py_ssize_t used = 0;
        for (Py_ssize_t r = 0; r < rows; r++) {
            b->used[used] = b->z + r * b->stride;
            used += b->used[used][j] != 0;
        }
        for (Py_ssize_t k = j; k < b->width; k += LANES, at += LANES) {
            fit_tops(b, used, j, k, at);
            const four unit0 = units_of(b->tops + at), unit1 = unit0 * 0x1p-32, unit2 = unit1 * 0x1p-32;
            const four shift0 = unit0 * SHIFT, shift1 = unit1 * SHIFT, shift2 = unit2 * SHIFT;
            four_words words0 = {0, 0, 0, 0}, words1 = words0, words2 = words0;
            for (Py_ssize_t r = 0; r < used; r++) {
                four rest = PRODUCTS(r);
                const four shifted0 = rest + shift0; /* rounded to a multiple of the bin's unit */
                rest -= shifted0 - shift0;
                const four shifted1 = rest + shift1;
                rest -= shifted1 - shift1;
                const four shifted2 = rest + shift2;
                words0 += (four_words)shifted0, words1 += (four_words)shifted1, words2 += (four_words)shifted2;
            }
            *(four *)(b->slices[0] + at) += SLICES_SUM(used, words0, shift0, unit0);
            *(four *)(b->slices[1] + at) += SLICES_SUM(used, words1, shift1, unit1);
            *(four *)(b->slices[2] + at) += SLICES_SUM(used, words2, shift2, unit2);
        }
    }
}

/* A block's numbers to where the arithmetic is, and back; what fills up a line stays at the lowest top, and zero.
 * Whether the tops are bins that there are. */
static int move_block(const bins *b, Py_ssize_t numbers, int8_t *tops, double *slices, int back)
{
    Py_ssize_t at = 0, from = 0;
    int fine = 1;
    for (Py_ssize_t i = 0; i < numbers; i++)
        fine &= tops[i] >= LOWEST && tops[i] <= HIGHEST;
    for (Py_ssize_t j = 0; j < b->width; j++) {
        const size_t line = (size_t)(b->width - j);
        memcpy(back ? tops + from : b->tops + at, back ? b->tops + at : tops + from, line);
        for (int s = 0; s < SLICES; s++) {
            double *const here = b->slices[s] + at, *const there = slices + s * numbers + from;
            memcpy(back ? there : here, back ? here : there, line * sizeof(double));
        }
        from += b->width - j;
        at += (b->width - j + LANES - 1) / LANES * LANES;
    }
    return fine;
}

static int add_binned_blocks(const flush *f, int8_t *tops, double *slices)
{
    const double *used[TOGETHER + 1];
    bins b = {f->width, f->width + LANES, NULL, used, NULL, {NULL}, NULL};
    double *const room = calloc((size_t)(f->padded * SLICES + (TOGETHER + 1) * b.stride), sizeof(double));
    b.tops = malloc((size_t)f->padded);
    int fine = room != NULL && b.tops != NULL;
    for (int s = 0; fine && s < SLICES; s++)
        b.slices[s] = room + s * f->padded;
    b.z = room + SLICES * f->padded, b.largest = b.z + TOGETHER * b.stride;
    if (fine)
        memset(b.tops, LOWEST, (size_t)f->padded);
    for (Py_ssize_t r = 0; fine && r < TOGETHER; r++)
        b.z[r * b.stride] = 1;
    for (Py_ssize_t block = f->first; fine && block < f->last; block++) {
        const Py_ssize_t end = f->starts[block + 1];
        if (f->starts[block] >= end)
            continue;
        fine = move_block(&b, f->numbers, tops + block * f->numbers, slices + block * SLICES * f->numbers, 0);
        for (Py_ssize_t from = f->starts[block]; fine && from < end; from += TOGETHER) {
            const Py_ssize_t some = end - from < TOGETHER ? end - from : TOGETHER;
            for (Py_ssize_t r = 0; fine && r < some; r++) {
                const Py_ssize_t place = f->order[from + r];
                fine = place < f->count;
                if (fine)
                    memcpy(b.z + r * b.stride + 1, (const double *)f->rows + place * (f->width - 1),
                           (size_t)(f->width - 1) * sizeof(double));
            }
            if (fine)
                add_slices(&b, some);
        }
        if (fine)
            move_block(&b, f->numbers, tops + block * f->numbers, slices + block * SLICES * f->numbers, 1);
    }
    free(room), free(b.tops);
    return fine;
}

/* Arrays from Python: C-contiguous, of one kind of number, so many dimensions. */
static int take(PyObject *array, Py_buffer *view, char kind, int dimensions, int writable)
{
    if (PyObject_GetBuffer(array, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0)
        return 0;
    const char found = view->format == NULL ? 'B' : view->format[0];
    const int same = kind == 'q'   ? (found == 'q' || found == 'l') && view->itemsize == 8
                     : kind == 'I' ? (found == 'I' || found == 'L') && view->itemsize == 4
                     : kind == 'i' ? (found == 'i' || found == 'l') && view->itemsize == 4
                                   : found == kind;
    if (same && view->ndim == dimensions)
        return 1;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    return 0;
}

static PyObject *sort_rows(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *arrays[3];
    Py_buffer views[3];
    static const char kinds[] = "III";
    int held = 0, fine = 1;
    if (!PyArg_ParseTuple(args, "OOO", &arrays[0], &arrays[1], &arrays[2]))
        return NULL;
    for (; held < 3; held++)
        if (!take(arrays[held], &views[held], kinds[held], 1, held > 0))
            goto finish;
    const Py_ssize_t count = views[0].shape[0], blocks = views[1].shape[0] - 1;
    if (blocks < 1 || views[2].shape[0] != count || count > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto finish;
    }
    Py_BEGIN_ALLOW_THREADS const uint32_t *const ids = views[0].buf;
    uint32_t *const starts = views[1].buf, *const order = views[2].buf;
    memset(starts, 0, (size_t)(blocks + 1) * sizeof(uint32_t));
    for (Py_ssize_t i = 0; i < count && fine; i++) {
        fine = (Py_ssize_t)ids[i] < blocks;
        if (fine)
            starts[ids[i]]++;
    }
    if (fine) { /* starts[b] becomes the end of block b, then runs back to its start */
        for (Py_ssize_t b = 1; b <= blocks; b++)
            starts[b] += starts[b - 1];
        for (Py_ssize_t i = count; i-- > 0;)
            order[--starts[ids[i]]] = (uint32_t)i;
    }
    Py_END_ALLOW_THREADS if (!fine) PyErr_SetString(PyExc_ValueError, "a block is out of range");
finish:
    while (held)
        PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* Both kinds of sums: rows, order, starts, one or two tables, first and last block. */
static PyObject *add_rows(PyObject *args, int binned)
{
    PyObject *arrays[5];
    Py_buffer views[5];
    const int count = binned ? 5 : 4;
    const char *const kinds = binned ? "dIIbd" : "iIIq";
    static const int dimensions[2][5] = {{2, 1, 1, 2, 0}, {2, 1, 1, 2, 3}};
    int held = 0, fine = 0;
    flush f;
    if (!(binned ? PyArg_ParseTuple(args, "OOOOOnn", &arrays[0], &arrays[1], &arrays[2], &arrays[3], &arrays[4],
                                    &f.first, &f.last)
                 : PyArg_ParseTuple(args, "OOOOnn", &arrays[0], &arrays[1], &arrays[2], &arrays[3], &f.first, &f.last)))
        return NULL;
    for (; held < count; held++)
        if (!take(arrays[held], &views[held], kinds[held], dimensions[binned][held], held > 2))
            goto finish;
    f.rows = views[0].buf, f.order = views[1].buf, f.starts = views[2].buf;
    f.count = views[0].shape[0], f.width = views[0].shape[1] + 1, f.numbers = f.width * (f.width + 1) / 2;
    f.padded = padded_triangle(f.width < WIDEST ? f.width : 0);
    f.sorted = views[1].shape[0];
    const Py_ssize_t blocks = views[2].shape[0] - 1;
    fine = f.width >= 2 && f.width < WIDEST && 0 <= f.first && f.first <= f.last && f.last <= blocks &&
           views[3].shape[0] == blocks && views[3].shape[1] == f.numbers;
    fine = fine &&
           (!binned || (views[4].shape[0] == blocks && views[4].shape[1] == SLICES && views[4].shape[2] == f.numbers));
    for (Py_ssize_t b = f.first; fine && b < f.last; b++)
        fine = f.starts[b] <= f.starts[b + 1] && (Py_ssize_t)f.starts[b + 1] <= views[1].shape[0];
    if (fine) {
        Py_BEGIN_ALLOW_THREADS fine =
            binned ? add_binned_blocks(&f, views[3].buf, views[4].buf) : add_whole_blocks(&f, views[3].buf);
        Py_END_ALLOW_THREADS
    }
    if (!fine)
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
finish:
    while (held)
        PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *add_whole(PyObject *module, PyObject *args)
{
    (void)module;
    return add_rows(args, 0);
}

static PyObject *add_binned(PyObject *module, PyObject *args)
{
    (void)module;
    return add_rows(args, 1);
}

/* Lines of a design, one a column, to rows: out[i, k] = work[lines[k], i]. */
static PyObject *take_rows(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *from, *chosen, *to;
    Py_buffer work, lines, out;
    if (!PyArg_ParseTuple(args, "OOO", &from, &chosen, &to))
        return NULL;
    if (PyObject_GetBuffer(from, &work, PyBUF_FORMAT | PyBUF_STRIDED_RO) < 0)
        return NULL;
    if (!take(chosen, &lines, 'q', 1, 0)) {
        PyBuffer_Release(&work);
        return NULL;
    }
    const int got = PyObject_GetBuffer(to, &out, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) == 0;
    int fine = got && out.ndim == 2 && work.ndim == 2 && work.format != NULL && work.format[0] == 'd' &&
               out.format != NULL && (work.strides[1] == sizeof(double) || work.shape[1] <= 1) &&
               work.strides[0] % (Py_ssize_t)sizeof(double) == 0 && out.shape[0] == work.shape[1] &&
               out.shape[1] == lines.shape[0];
    const int whole = fine && out.itemsize == 4 && (out.format[0] == 'i' || out.format[0] == 'l');
    fine = fine && (whole || out.format[0] == 'd');
    for (Py_ssize_t k = 0; fine && k < lines.shape[0]; k++)
        fine = ((const int64_t *)lines.buf)[k] >= 0 && ((const int64_t *)lines.buf)[k] < work.shape[0];
    if (fine) {
        Py_BEGIN_ALLOW_THREADS const Py_ssize_t rows = out.shape[0], width = out.shape[1];
        enum { SOME = 64 };
        for (Py_ssize_t start = 0; start < rows; start += SOME) {
            const Py_ssize_t stop = rows - start < SOME ? rows : start + SOME;
            for (Py_ssize_t k = 0; k < width; k++) {
                const double *const line =
                    (const double *)((const char *)work.buf + ((const int64_t *)lines.buf)[k] * work.strides[0]);
                if (whole)
                    for (Py_ssize_t i = start; i < stop; i++)
                        ((int32_t *)out.buf)[i * width + k] = (int32_t)line[i];
                else
                    for (Py_ssize_t i = start; i < stop; i++)
                        ((double *)out.buf)[i * width + k] = line[i];
            }
        }
        Py_END_ALLOW_THREADS
    } else if (got)
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    if (got)
        PyBuffer_Release(&out);
    PyBuffer_Release(&lines);
    PyBuffer_Release(&work);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"sort_rows", sort_rows, METH_VARARGS, "sort_rows(ids, starts, order): rows by block"},
    {"take_rows", take_rows, METH_VARARGS, "take_rows(work, lines, out): columns to rows"},
    {"add_whole", add_whole, METH_VARARGS,
     "add_whole(rows, order, starts, table, first, last): products of whole numbers"},
    {"add_binned", add_binned, METH_VARARGS,
     "add_binned(rows, order, starts, tops, slices, first, last): products of doubles"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_blocks",
    .m_doc = "Rows to the sums of their blocks; used by dpselect.gather.sums.block_kernel only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__blocks(void) { return PyModule_Create(&definition); }
