/* One inclusion of the kernel for each width. */

#define MARK_BITS 32
#define VECTORS 1
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 2
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 3
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 4
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 5
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 6
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 7
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 8
#include "_lattice_kernel.h"
#undef VECTORS
#undef MARK_BITS

#define MARK_BITS 64
#define VECTORS 4
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 8
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 12
#include "_lattice_kernel.h"
#undef VECTORS
#define VECTORS 16
#include "_lattice_kernel.h"
#undef VECTORS
#undef MARK_BITS
