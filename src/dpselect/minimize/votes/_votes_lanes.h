/* Vectors of four doubles, one lane a block: what _votes.c and _edges.c are written in.
 *
 * No lane sees another one. The same double operations in the same order as in NumPy, so that the votes are the same to
 * the last one: built without contraction (setup.py), and not at all where roundings may be changed. Limited C API of
 * Python 3.11; vectors as GCC and Clang write them. */

#ifndef DPSELECT_VOTES_LANES_H
#define DPSELECT_VOTES_LANES_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
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
typedef double four __attribute__((vector_size(32)));
typedef long long four_whole __attribute__((vector_size(32)));

#define ALL(x) ((four){(x), (x), (x), (x)})
#define PICK(mask, a, b) ((four)(((four_whole)(a) & (mask)) | ((four_whole)(b) & ~(mask))))
#define AT_LEAST(a, b) PICK((a) >= (b), a, b) /* b where a is no number, which no block that fits has */
#define AT_MOST(a, b) PICK((a) <= (b), a, b)

#define WHOLE_VOTE 64.0
#define SHIFT 0x1.8p52 /* added to a number and taken away again, it rounds it to a whole one */

INLINE four roots_of(four x) { return (four){sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3])}; }

/* A vote in whole 64ths. Whatever the arithmetic did: none is more than a whole one, and what is no number is none. */
INLINE four whole_vote(four vote, four_whole counts)
{
    const four rounded = (vote + SHIFT) - SHIFT;
    return PICK(counts & (rounded >= ALL(-WHOLE_VOTE)) & (rounded <= ALL(WHOLE_VOTE)), rounded, ALL(0.0));
}

/* Memory as calloc gives it, moved on to where a vector may stand. */
INLINE four *first_vector(void *memory)
{
    return (four *)(((uintptr_t)memory + sizeof(four) - 1) / sizeof(four) * sizeof(four));
}

#endif
