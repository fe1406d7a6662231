/* Doubles to grid integers in one pass: the compiled twin of the arithmetic in grid.py, which says
 * what is computed and why.
 *
 * The difference, the product and the sum are rounded one by one, as everywhere: built without contraction (setup.py),
 * and not at all where doubles are computed with more digits than they have. Limited C API of Python 3.11. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <stdint.h>
#include <string.h>

#define EXPONENT 0x7ff0000000000000u /* all ones where a double is infinite or no number */

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "doubles that are not rounded as they should be: the NumPy twin serves"
#endif

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx2", "default"))) /* without fma */
#else
#define CLONES
#endif

/* floor((v - middle) * scale + 1/2), clamped to [-grid, grid]. Whether all values were finite; one that is no number
 * gives -grid. The clamp comes first, so that the number fits an int: both ends are whole, and the floor of a clamped
 * number is the clamped floor. */
CLONES static int put(const double *values, double middle, double scale, double grid, double *restrict out,
                      Py_ssize_t count)
{
    uint64_t strange = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        strange |= (uint64_t)((bits & EXPONENT) == EXPONENT);
        double x = (values[i] - middle) * scale + 0.5;
        x = x >= -grid ? x : -grid;
        x = x <= grid ? x : grid;
        const double whole = (double)(int)x;
        out[i] = whole - (whole > x ? 1.0 : 0.0);
    }
    return !strange;
}

/* The same for values that are not side by side, a handful at a time. */
static int put_apart(const char *values, Py_ssize_t step, double middle, double scale, double grid, double *out,
                     Py_ssize_t count)
{
    enum { SOME = 512 };
    double together[SOME];
    int finite = 1;
    for (Py_ssize_t start = 0; start < count; start += SOME) {
        const Py_ssize_t some = count - start < SOME ? count - start : SOME;
        for (Py_ssize_t i = 0; i < some; i++)
            memcpy(&together[i], values + (start + i) * step, sizeof(double));
        finite &= put(together, middle, scale, grid, out + start, some);
    }
    return finite;
}

/* Of this machine's kind; NumPy puts "=" before what is not aligned. */
static int is_double(const Py_buffer *view)
{
    return view->itemsize == 8 && view->format != NULL &&
           (strcmp(view->format, "d") == 0 || strcmp(view->format, "=d") == 0);
}

/* Rows of values start .. stop of every column into the rows of `out`: one call, so that the lock is let go of once. */
static int put_all(const Py_buffer *columns, const Py_buffer *out, const double *middles, const double *scales,
                   double grid, Py_ssize_t start, Py_ssize_t stop)
{
    int finite = 1;
    for (Py_ssize_t row = 0; row < out->shape[0]; row++) {
        const Py_ssize_t step = columns[row].strides[0];
        const char *first = (const char *)columns[row].buf + start * step;
        double *to = (double *)((char *)out->buf + row * out->strides[0]);
        finite &= step == sizeof(double) && (uintptr_t)first % sizeof(double) == 0
                      ? put((const double *)first, middles[row], scales[row], grid, to, stop - start)
                      : put_apart(first, step, middles[row], scales[row], grid, to, stop - start);
    }
    return finite;
}

static PyObject *put_rows(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *from, *to, *middles, *scales;
    double grid;
    Py_ssize_t start, stop, held = 0, count;
    int finite = 0;
    if (!PyArg_ParseTuple(args, "O!nnOOdO", &PyTuple_Type, &from, &start, &stop, &middles, &scales, &grid, &to))
        return NULL;
    count = PyTuple_Size(from);
    /* the columns, then where they go, their middles and their scales */
    Py_buffer *const views = PyMem_Calloc((size_t)count + 3, sizeof(Py_buffer));
    if (views == NULL)
        return PyErr_NoMemory();
    Py_buffer *const out = views + count;
    for (; held < count + 3; held++) {
        PyObject *const each = held < count        ? PyTuple_GetItem(from, held)
                               : held == count     ? to
                               : held == count + 1 ? middles
                                                   : scales;
        if (PyObject_GetBuffer(each, &views[held], PyBUF_FORMAT | (held == count ? PyBUF_STRIDED : PyBUF_STRIDED_RO)) <
            0)
            goto finish;
    }
    int fits = start >= 0 && start <= stop && grid >= 0 && grid <= 0x1p30 && out->ndim == 2 && is_double(out) &&
               out->shape[0] == count && out->shape[1] == stop - start && (uintptr_t)out->buf % sizeof(double) == 0 &&
               out->strides[0] % (Py_ssize_t)sizeof(double) == 0 &&
               (out->strides[1] == sizeof(double) || stop - start <= 1);
    for (Py_ssize_t i = 0; fits && i < count; i++)
        fits = views[i].ndim == 1 && is_double(&views[i]) && stop <= views[i].shape[0];
    for (Py_ssize_t i = count + 1; fits && i < count + 3; i++)
        fits = views[i].ndim == 1 && is_double(&views[i]) && views[i].shape[0] == count &&
               (views[i].strides[0] == sizeof(double) || count <= 1) && (uintptr_t)views[i].buf % sizeof(double) == 0;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto finish;
    }
    Py_BEGIN_ALLOW_THREADS finite = put_all(views, out, views[count + 1].buf, views[count + 2].buf, grid, start, stop);
    Py_END_ALLOW_THREADS finish : while (held) PyBuffer_Release(&views[--held]);
    PyMem_Free(views);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(finite);
}

enum { INSIDE = 1, CLOSING = 2, BROKEN = -1 };

/* Follow the quotes of some bytes of a text file from one to the next. The state is whether a quoted cell is open,
 * whether the last byte was a quote in it that closes it unless another follows, and the last byte, times four. */
static int follow(const unsigned char *data, size_t size, unsigned char mark, int state)
{
    int inside = state & INSIDE, closing = state & CLOSING;
    unsigned char last = (unsigned char)(state >> 2);
    size_t place = 0;
    while (place < size) {
        if (closing) {
            closing = 0;
            if (data[place] == '"')
                place++;
            else if (data[place] == mark || data[place] == '\n' || data[place] == '\r')
                inside = 0;
            else
                return BROKEN;
            continue;
        }
        const unsigned char *const found = memchr(data + place, '"', size - place);
        if (found == NULL)
            break;
        place = (size_t)(found - data) + 1;
        if (inside) {
            closing = CLOSING;
        } else {
            const unsigned char before = place > 1 ? data[place - 2] : last;
            inside = before == mark || before == '\n' || before == '\r' ? INSIDE : 0;
        }
    }
    return inside | closing | (int)(size ? data[size - 1] : last) << 2;
}

static PyObject *follow_quotes(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer data;
    int mark, state;
    if (!PyArg_ParseTuple(args, "y*ii", &data, &mark, &state))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    state = follow(data.buf, (size_t)data.len, (unsigned char)mark, state);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&data);
    return PyLong_FromLong(state);
}

static PyMethodDef methods[] = {
    {"follow_quotes", follow_quotes, METH_VARARGS,
     "follow_quotes(data, mark, state): the state after these bytes, -1 where a quote is not closed as it should be"},
    {"put_rows", put_rows, METH_VARARGS,
     "put_rows(columns, start, stop, middles, scales, grid, out): whether all values were finite"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_grid",
    .m_doc = "Doubles to grid integers; and quotes in text; used by dpselect.gather only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__grid(void) { return PyModule_Create(&definition); }
