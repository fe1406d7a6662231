/* Rows added to the sums of their blocks: the compiled twin of block_numpy.py, which says what is computed and why.
 *
 * A row is (1, x, y); a block keeps the sums of all products of two entries, the upper triangle row by row, and those
 * of the cubes of x and y. Every sum here is exact, so neither the order of the rows nor the processor can change a
 * number. Rows come sorted by block, so that a block's numbers are fetched once a flush. The interpreter lock is let go
 * of; who may write to which blocks is Python's business. _blocks_rows.h has what both kinds of sums need,
 * _blocks_whole.h the sums of whole numbers, _blocks_binned.h those in bins. Limited C API of Python 3.11; vectors as
 * GCC and Clang write them. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "doubles that are not rounded as they should be: the NumPy twin serves"
#endif

#include "_blocks_binned.h"
#include "_blocks_rows.h"
#include "_blocks_whole.h"

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
    const Py_ssize_t cubes = binned ? BINNED_CUBES : WHOLE_CUBES;
    f.count = views[0].shape[0], f.width = views[0].shape[1] + 1;
    f.numbers = f.width * (f.width + 1) / 2 + cubes * (f.width - 1);
    f.padded = padded_sums(f.width < WIDEST ? f.width : 1, cubes);
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
    .m_doc = "Rows to the sums of their blocks; used by dpselect.gather.blocks only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__blocks(void) { return PyModule_Create(&definition); }
