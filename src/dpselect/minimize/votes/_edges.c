/* The votes of one family of blocks beside every set of k terms: the compiled twin of edges.py, which says what
 * is computed and why. Four blocks side by side, one in each lane of a vector. */

#include "_votes_lanes.h"

#define LEAST_PIVOT 1e-9
#define WIDEST 4096

/* What is left of a block's sums after some columns were swept out: the columns that remain, the response last. */
typedef struct {
    Py_ssize_t count;
    int32_t *columns;
    four *sums;              /* (count, count), the upper triangle */
    Py_ssize_t swept[LANES]; /* columns of the set that are not constant in the block */
} frame;

typedef struct {
    Py_ssize_t columns, blocks, terms, size;
    Py_ssize_t sweeps; /* how many columns a set has at most */
    Py_ssize_t fewest; /* columns swept out that the first line of the tables is for */
    const double *gram, *ridges, *steep, *mean, *weight;
    const int32_t *members, *starts, *forced;
    Py_ssize_t forced_count;
    frame *frames;      /* one for each column that was swept out */
    four *row, *factor; /* (columns + 1) */
    four *leads;        /* (sets, columns) */
    Py_ssize_t place;   /* of the next set */
    Py_ssize_t first;   /* block of the first lane */
    four ridge;
} search;

#define AT(f, i, j) ((f)->sums[(i) * (f)->count + (j)])

/* Four blocks' numbers from a table in which blocks are last; nothing where there are no more of them. */
INLINE four load(const search *s, const double *line)
{
    four values = ALL(0.0);
    if (s->first + LANES <= s->blocks)
        memcpy(&values, line + s->first, sizeof values);
    else
        memcpy(&values, line + s->first, (size_t)(s->blocks - s->first) * sizeof(double));
    return values;
}

/* The line of the column at `place`, and the same over the pivot; nothing where nothing of the column is left. */
INLINE void pivot_on(search *s, const frame *f, Py_ssize_t place)
{
    for (Py_ssize_t i = 0; i < f->count; i++)
        s->row[i] = i < place ? AT(f, i, place) : AT(f, place, i);
    const four pivot = s->row[place];
    const four_whole some = pivot > ALL(LEAST_PIVOT);
    const four inverse = PICK(some, 1.0 / PICK(some, pivot + s->ridge, ALL(1.0)), ALL(0.0));
    for (Py_ssize_t i = 0; i < f->count; i++)
        s->factor[i] = s->row[i] * inverse;
}

INLINE void count_swept(const search *s, frame *to, const frame *from, Py_ssize_t column)
{
    const four own = load(s, s->gram + (column * (s->columns + 1) + column) * s->blocks);
    for (int lane = 0; lane < LANES; lane++)
        to->swept[lane] = from->swept[lane] + (own[lane] > 0);
}

static Py_ssize_t place_of(const frame *f, int32_t column)
{
    for (Py_ssize_t i = 0; i < f->count; i++)
        if (f->columns[i] == column)
            return i;
    return 0; /* never: every column is swept once */
}

/* One column swept out, and left out of what remains. */
CLONES static void sweep(search *s, const frame *from, int32_t column, frame *to)
{
    const Py_ssize_t place = place_of(from, column);
    pivot_on(s, from, place);
    count_swept(s, to, from, column);
    to->count = from->count - 1;
    for (Py_ssize_t i = 0, a = 0; i < from->count; i++) {
        if (i == place)
            continue;
        to->columns[a] = from->columns[i];
        for (Py_ssize_t j = i, b = a; j < from->count; j++)
            if (j != place)
                AT(to, a, b++) = AT(from, i, j) - s->factor[i] * s->row[j];
        a++;
    }
}

/* The line of the tables for so many columns swept out; of a block without a vote it may be any. */
INLINE Py_ssize_t line_of(const search *s, Py_ssize_t swept) { return swept > s->fewest ? swept - s->fewest : 0; }

/* The votes on all columns that remain, when `column` (if any) is swept out as the last one of the set. */
CLONES static void vote(search *s, const frame *from, int32_t column)
{
    const Py_ssize_t last = from->count - 1, place = column < 0 ? -1 : place_of(from, column);
    frame after = *from;
    four rest = AT(from, last, last);
    if (place >= 0) {
        pivot_on(s, from, place);
        count_swept(s, &after, from, column);
        rest = rest - s->factor[last] * s->row[last];
    }
    const Py_ssize_t *const n = after.swept;
    const int alike = n[0] == n[1] && n[0] == n[2] && n[0] == n[3];
    const four_whole speaks = rest > ALL(LEAST_PIVOT);
    four *const leads = s->leads + s->place++ * s->columns;
    for (Py_ssize_t i = 0; i < last; i++) {
        if (i == place)
            continue;
        four own = AT(from, i, i), left = AT(from, i, last);
        if (place >= 0) {
            own = own - s->factor[i] * s->row[i];
            left = left - s->factor[i] * s->row[last];
        }
        const four_whole counts = speaks & (own > ALL(LEAST_PIVOT));
        const Py_ssize_t line = from->columns[i], step = s->columns * s->blocks;
        four steep, mean, weight;
        if (alike) {
            const Py_ssize_t at = line_of(s, n[0]) * step + line * s->blocks;
            steep = load(s, s->steep + at), mean = load(s, s->mean + at), weight = load(s, s->weight + at);
        } else
            for (int lane = 0; lane < LANES; lane++) {
                const Py_ssize_t block = s->first + lane < s->blocks ? s->first + lane : s->blocks - 1;
                const Py_ssize_t at = line_of(s, n[lane]) * step + line * s->blocks + block;
                steep[lane] = s->steep[at], mean[lane] = s->mean[at], weight[lane] = s->weight[at];
            }
        const four z = left / roots_of(PICK(counts, own * rest, ALL(1.0))) * steep;
        const four clipped = AT_LEAST(AT_MOST(z, ALL(1.0)), ALL(-1.0));
        leads[line] += whole_vote((clipped - mean) * weight, counts);
    }
}

/* All sets that have the terms swept out so far, `taken` of them, and others from `term` on; in the order of the sets.
 */
static void visit(search *s, frame *from, Py_ssize_t taken, Py_ssize_t term)
{
    if (taken == s->size) { /* of no terms */
        vote(s, from, -1);
        return;
    }
    for (Py_ssize_t t = term; t <= s->terms - (s->size - taken); t++) {
        frame *here = from;
        Py_ssize_t i = s->starts[t];
        for (; i < s->starts[t + 1] - (taken + 1 == s->size); i++, here++)
            sweep(s, here, s->members[i], here + 1);
        if (taken + 1 == s->size)
            vote(s, here, s->members[i]);
        else
            visit(s, here, taken + 1, t + 1);
    }
}

/* Four blocks: their sums as they are, the forced columns swept out, then all sets. */
static void search_blocks(search *s)
{
    frame *f = s->frames;
    const Py_ssize_t width = s->columns + 1;
    f->count = width;
    memset(f->swept, 0, sizeof f->swept);
    for (Py_ssize_t i = 0; i < width; i++) {
        f->columns[i] = (int32_t)i;
        for (Py_ssize_t j = i; j < width; j++)
            AT(f, i, j) = load(s, s->gram + (i * width + j) * s->blocks);
    }
    s->ridge = load(s, s->ridges);
    for (Py_ssize_t i = 0; i < s->forced_count; i++, f++)
        sweep(s, f, s->forced[i], f + 1);
    s->place = 0;
    visit(s, f, 0, 0);
}

/* All blocks, four at a time, added to the leads; 0 if there is no memory. */
static int search_all(search *s, Py_ssize_t sets, int64_t *out)
{
    const Py_ssize_t width = s->columns + 1;
    size_t vectors = (size_t)(2 * width + sets * s->columns);
    for (Py_ssize_t i = 0; i <= s->sweeps; i++)
        vectors += (size_t)((width - i) * (width - i));
    void *const memory = calloc(vectors + 1, sizeof(four));
    int32_t *const columns = malloc((size_t)((s->sweeps + 1) * width) * sizeof(int32_t));
    s->frames = malloc((size_t)(s->sweeps + 1) * sizeof(frame));
    const int fine = memory != NULL && columns != NULL && s->frames != NULL;
    if (fine) {
        four *at = first_vector(memory);
        s->row = at, s->factor = at + width, s->leads = at + 2 * width, at += (size_t)(2 * width + sets * s->columns);
        for (Py_ssize_t i = 0; i <= s->sweeps; i++) {
            s->frames[i].sums = at, s->frames[i].columns = columns + i * width;
            at += (width - i) * (width - i);
        }
        for (s->first = 0; s->first < s->blocks; s->first += LANES)
            search_blocks(s);
        for (Py_ssize_t i = 0; i < sets * s->columns; i++)
            for (int lane = 0; lane < LANES; lane++)
                out[i] += (int64_t)s->leads[i][lane];
    }
    free(memory), free(columns), free(s->frames);
    return fine;
}

/* Whether every column is in one term at most, or forced, and no set has more columns than there is room for. */
static int are_sound(const search *s, Py_ssize_t members, Py_ssize_t sets)
{
    uint8_t seen[WIDEST] = {0};
    double ways = 1;
    Py_ssize_t room = s->sweeps - s->forced_count;
    for (Py_ssize_t i = 0; i < members + s->forced_count; i++) {
        const int32_t column = i < members ? s->members[i] : s->forced[i - members];
        if (column < 0 || column >= s->columns || seen[column]++)
            return 0;
    }
    if (s->starts[0] != 0 || s->starts[s->terms] != members || s->size < 0 || s->size > s->terms)
        return 0;
    for (Py_ssize_t t = 0; t < s->terms; t++)
        if (s->starts[t] >= s->starts[t + 1])
            return 0;
    for (Py_ssize_t i = 0; i < s->size; i++)
        ways = ways * (double)(s->terms - i) / (double)(i + 1);
    /* The widest terms, one after another. */
    uint8_t taken[WIDEST] = {0};
    for (Py_ssize_t i = 0; i < s->size; i++) {
        Py_ssize_t best = -1;
        for (Py_ssize_t t = 0; t < s->terms; t++)
            if (!taken[t] && (best < 0 || s->starts[t + 1] - s->starts[t] > s->starts[best + 1] - s->starts[best]))
                best = t;
        taken[best] = 1;
        room -= s->starts[best + 1] - s->starts[best];
    }
    return room >= 0 && fabs(ways - (double)sets) < 0.5;
}

static int take(PyObject *object, Py_buffer *view, const char *kinds, int ndim)
{
    if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
        return 0;
    const char kind = view->format == NULL ? 'B' : view->format[0];
    if (view->ndim == ndim && strchr(kinds, kind) != NULL && view->itemsize == (kinds[0] == 'i' ? 4 : 8))
        return 1;
    PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    PyBuffer_Release(view);
    return 0;
}

#define ARRAYS 9

static PyObject *add_leads(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const kinds[ARRAYS] = {"d", "d", "d", "d", "d", "i", "i", "i", "ql"};
    static const int ndims[ARRAYS] = {3, 1, 3, 3, 3, 1, 1, 1, 2};
    PyObject *given[ARRAYS];
    Py_buffer v[ARRAYS];
    search s = {0};
    int held = 0;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOnnn", &given[0], &given[1], &given[2], &given[3], &given[4], &given[5],
                          &given[6], &given[7], &given[8], &s.size, &s.sweeps, &s.fewest))
        return NULL;
    while (held < ARRAYS && take(given[held], &v[held], kinds[held], ndims[held]))
        held++;
    if (held == ARRAYS) {
        s.columns = v[0].shape[0] - 1, s.blocks = v[0].shape[2];
        s.terms = v[6].shape[0] - 1, s.forced_count = v[7].shape[0];
        s.gram = v[0].buf, s.ridges = v[1].buf, s.steep = v[2].buf, s.mean = v[3].buf, s.weight = v[4].buf;
        s.members = v[5].buf, s.starts = v[6].buf, s.forced = v[7].buf;
        int fine = !v[8].readonly && v[0].shape[1] == s.columns + 1 && v[1].shape[0] == s.blocks &&
                   s.columns < WIDEST && s.terms >= 0 && s.terms <= s.columns && v[8].shape[1] == s.columns &&
                   s.sweeps >= 0 && s.sweeps <= s.columns && s.fewest >= 0 && s.fewest <= s.sweeps;
        for (int i = 2; i < 5; i++)
            fine = fine && v[i].shape[0] == s.sweeps - s.fewest + 1 && v[i].shape[1] == s.columns &&
                   v[i].shape[2] == s.blocks;
        if (!fine || !are_sound(&s, v[5].shape[0], v[8].shape[0]))
            PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        else {
            Py_BEGIN_ALLOW_THREADS fine = search_all(&s, v[8].shape[0], v[8].buf);
            Py_END_ALLOW_THREADS if (!fine) PyErr_NoMemory();
        }
    }
    while (held > 0)
        PyBuffer_Release(&v[--held]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"add_leads", add_leads, METH_VARARGS,
     "add_leads(gram, ridges, steep, mean, weight, members, starts, forced, leads, size, sweeps, fewest): votes "
     "beside every set, added to leads"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_edges",
    .m_doc = "Votes beside every set of terms; used by dpselect.minimize.votes.edges only.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__edges(void) { return PyModule_Create(&definition); }
