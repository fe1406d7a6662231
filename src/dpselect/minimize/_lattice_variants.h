/* The kernel for 4, 8, .. 32 columns with 32-bit marks, and for 16, 32, 48, 64 columns with 64-bit marks, for each processor. */

#if defined(__x86_64__) && defined(__GNUC__)
#define LATTICE_X86 1
#define TARGET __attribute__((target("avx2,fma")))
#define TARGET_NAME avx2
#include "_lattice_widths.h"
static int (*const runners_avx2_32[])(const lattice_problem *, uint64_t, uint64_t) = {
    run_avx2_32_1, run_avx2_32_1, run_avx2_32_2, run_avx2_32_3, run_avx2_32_4,
    run_avx2_32_5, run_avx2_32_6, run_avx2_32_7, run_avx2_32_8,
};
static int (*const runners_avx2_64[])(const lattice_problem *, uint64_t, uint64_t) = {
    run_avx2_64_4, run_avx2_64_4, run_avx2_64_8, run_avx2_64_12, run_avx2_64_16,
};
#undef TARGET
#undef TARGET_NAME
#endif

#define TARGET
#define TARGET_NAME plain
#include "_lattice_widths.h"
static int (*const runners_plain_32[])(const lattice_problem *, uint64_t, uint64_t) = {
    run_plain_32_1, run_plain_32_1, run_plain_32_2, run_plain_32_3, run_plain_32_4,
    run_plain_32_5, run_plain_32_6, run_plain_32_7, run_plain_32_8,
};
static int (*const runners_plain_64[])(const lattice_problem *, uint64_t, uint64_t) = {
    run_plain_64_4, run_plain_64_4, run_plain_64_8, run_plain_64_12, run_plain_64_16,
};
