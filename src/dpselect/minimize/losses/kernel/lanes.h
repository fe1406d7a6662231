/* The kernel proper, included once for each processor and width of marks.
 *
 * Four blocks of subsets are solved side by side, one in each lane of a vector. A block is all subsets that share their
 * high columns, its top; the four tops of a group have the same size, so no block needs another one of its group. Or
 * the lanes are four tables of products, with empty tops. Inside a block the low columns run through the same subsets L
 * in every lane.
 *
 * Letters: d columns, the b lowest of them free inside a block; G, c, yy products; h norms; q = c - G times
 * coefficients; s signs; u = G^-1 s; k, j columns; r a radius. A subset's tableau comes from its parent's (itself
 * without its lowest column) when first needed. All that is kept in a slot is a function of the subset alone and each
 * lane is computed as if alone, so results depend neither on where a run starts nor on who runs it. */

#if AVX2
#define TARGET __attribute__((target("avx2,fma,bmi")))
#define TARGET_NAME avx2
#else
#define TARGET
#define TARGET_NAME plain
#endif

#define JOIN3(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN3(a, b, c)
#define NAME(stem) JOIN(stem, TARGET_NAME, MARK_BITS)
#define TYPE(stem) NAME(stem)

/* A subset's marks: which columns do not violate it, and which have a negative residual correlation. */
#if MARK_BITS == 32
#define WORDS 1 /* a lane's marks are one word: its lower half and its upper */
#define EVERY 0xffffffffll
#else
#define WORDS 2
#define EVERY -1ll
#endif

typedef struct {
    uint64_t mask; /* the low columns of the subset whose tableau this is; 0 for none yet */
    v4l singular;  /* in which lanes */
    uint64_t rows; /* the subset's columns in any lane; besides those below its lowest column all that is kept */
    v4 *pivot;     /* (d) takes a parent's vector w to w + pivot * w_j, but at j to pivot_j * w_j */
    v4 *response;  /* (d) coefficients inside the subset, residual correlations outside */
    v4 *columns;   /* (j, d) the columns that may still enter */
} TYPE(slot);

/* The same for the right-hand side s, one for each radius: u inside the subset, -Gu outside. */
typedef struct {
    uint64_t mask;
    int known;
    v4l negative;
    v4 *vector; /* (d) */
} TYPE(sign_slot);

typedef struct {
    const lattice_run *run;
    int d, low, top_size, room, tile, ahead;
    size_t places; /* of a block, at most */
    uint64_t tops[LANES];
    const double *products[LANES];
    size_t tables[LANES];           /* where the values of a lane's table start */
    int top_columns[64][LANES];     /* in falling order */
    v4l bits[64], top_bits[64];     /* column k in the marks, and a top's columns there */
    size_t starts[LANES];           /* where each block's values and marks are */
    size_t child_starts[64][LANES]; /* the same for the blocks without one column of the top */
    v4l *marks; /* (radii, places, WORDS) of this group's subsets, where the next ones find them at once */
    v4l *above; /* (radii, AHEAD, WORDS) what the blocks above say about the next few subsets */
    v4 *gram, *c, *h, *b, *top_pivots; /* (d, d), (d), (d), (d), (top_size, d) */
    const v4 *gram_columns[64];
    v4 *barriers; /* (d) h of the columns that may violate, infinity for those in the subset */
    v4 yy, response_norm, largest_norm;
    v4l top; /* the tops, in place */
    TYPE(slot) root, slots[64];
    TYPE(sign_slot) *sign_slots; /* (radii, low + 1); the last is the root's */
} TYPE(state);

/* ---- two words that each processor has its own way to say ---- */

TARGET INLINE int NAME(any)(v4l v)
{
#if AVX2
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#else
    return (v[0] | v[1] | v[2] | v[3]) != 0;
#endif
}

/* Its second argument if one is no number. */
TARGET INLINE v4 NAME(maximum)(v4 a, v4 b)
{
#if AVX2
    return (v4)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return (v4)(((v4l)a & (a > b)) | ((v4l)b & ~(a > b)));
#endif
}

/* ---- the rest, an idea a file, in the order in which they need each other ---- */

#include "tableaus.h"
#include "children.h"
#include "subset.h"
#include "rescue.h"
#include "group.h"

#undef JOIN3
#undef JOIN
#undef NAME
#undef TYPE
#undef WORDS
#undef EVERY
#undef TARGET
#undef TARGET_NAME
