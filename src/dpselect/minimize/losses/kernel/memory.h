/* Memory for vectors, and the numbers by which bounds are rounded up. */

#ifndef DPSELECT_MEMORY_H
#define DPSELECT_MEMORY_H

#include <stdint.h>
#include <stdlib.h>

#include "vectors.h"

#define UNIT 0x1p-53
#define ROUND_UP (1 + 0x1p-40)
#define FLOAT_UP                                                                                                       \
    (1 + 0x1p-22) /* more than a conversion to float can take away, of what is no smaller than FLOAT_LEAST */
#define FLOAT_LEAST 0x1p-126
#define UNDERFLOW_BOUND 0x1p-900

static void *aligned_memory(size_t size)
{
    char *raw = calloc(size + 64, 1);
    if (raw == NULL)
        return NULL;
    char *aligned = (char *)(((uintptr_t)raw + 64) & ~(uintptr_t)63);
    ((void **)aligned)[-1] = raw;
    return aligned;
}

/* The next `count` vectors of such memory. */
INLINE v4 *take(v4 **next, size_t count)
{
    *next += count;
    return *next - count;
}

static void free_aligned(void *aligned) { free(((void **)aligned)[-1]); }

#endif
