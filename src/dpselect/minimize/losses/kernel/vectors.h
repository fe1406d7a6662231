/* Vectors of four numbers as GCC and Clang write them, and the few words that the kernel has for them. */

#ifndef DPSELECT_VECTORS_H
#define DPSELECT_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#define LANES 4
#define WIDEST_TILE 14 /* sums that are kept at once, for 16 registers */
typedef double v4 __attribute__((vector_size(32)));
typedef float v4f __attribute__((vector_size(16)));
typedef long long v4l __attribute__((vector_size(32)));
typedef unsigned long long v4u __attribute__((vector_size(32)));
typedef int v8i __attribute__((vector_size(32)));
typedef unsigned v8u __attribute__((vector_size(32)));
typedef long long v4l_anywhere __attribute__((vector_size(32), may_alias, aligned(8)));

/* Always, because a vector that is handed over in memory costs more than what is done to it. */
#define INLINE static inline __attribute__((always_inline))

#define ZERO ((v4){0, 0, 0, 0})
#define SIGN_BIT all_lanes(INT64_MIN)

INLINE v4l all_lanes(long long x) { return (v4l){x, x, x, x}; }

INLINE v4 absolute(v4 v) { return (v4)((v4l)v & ~SIGN_BIT); }

INLINE v4l gather(const uint64_t *words, const size_t *at)
{
    return (v4l){(long long)words[at[0]], (long long)words[at[1]], (long long)words[at[2]], (long long)words[at[3]]};
}

/* Keeps the compiler from spreading a pointer and its offsets over many registers. */
INLINE void *in_one_register(const void *pointer)
{
    void *kept = (void *)pointer;
    __asm__("" : "+r"(kept));
    return kept;
}

/* The compilers' own words, which want their places as constants and so cannot be functions. */
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define UPPER_FROM(a, b) __builtin_shufflevector(a, b, 0, 9, 2, 11, 4, 13, 6, 15)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (v4l){__VA_ARGS__})
#define UPPER_FROM(a, b) __builtin_shuffle(a, b, (v8i){0, 9, 2, 11, 4, 13, 6, 15})
#endif

#endif
