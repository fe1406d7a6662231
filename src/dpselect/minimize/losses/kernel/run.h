/* What is asked of the kernel, who solves which group of blocks, and where a subset's numbers are. */

#ifndef DPSELECT_RUN_H
#define DPSELECT_RUN_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#define AHEAD 64 /* subsets about which the blocks above are asked at once; a power of 2 */

typedef struct {
    int width, low, max_size, radii_count;
    const double *products; /* (tables, width+1, width+1), the response last */
    const double *radii;
    const double *shares; /* (width+1) rounding of a subset of m columns */
    double norm_up, slack, pivot, norm_factor;
    size_t groups;
    const uint64_t *needs; /* (groups) how many groups, from the first, must be finished before this one starts */
    uint64_t *next, *done; /* (1), (groups) the next group to be taken, and which are finished; shared by all threads */
    const uint64_t *tops, *tables; /* (groups, LANES) the top columns of each lane's block, and its table */
    const uint64_t *starts;        /* (2^tops) where a block's values and marks start; NULL: at 0 */
    const uint64_t *ways; /* (width, max_size+2) sets of the columns below with at most so many; NULL: no limit */
    size_t count;         /* subsets of a table */
    double *values;       /* (tables, radii, count) */
    float *bounds;        /* the same */
    uint64_t *marks;      /* (radii, words, count); NULL: there is one block, which keeps its own */
} lattice_run;

/* ---- who solves which group ---- */

typedef enum { NO_MEMORY = -1, NOTHING_LEFT, MORE } outcome;

static size_t next_group(const lattice_run *run) { return __atomic_fetch_add(run->next, 1, __ATOMIC_RELAXED); }

static void has_finished(const lattice_run *run, size_t group)
{
    __atomic_store_n(run->done + group, 1, __ATOMIC_RELEASE);
}

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

/* The place of a subset in its block: in the order of the masks as numbers, those with too many columns left out. */
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

#endif
