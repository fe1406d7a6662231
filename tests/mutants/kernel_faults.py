"""Faults of the compiled kernels, written by hand: the file, what stands there once, what stands there then.

A fault that no test can notice, or that makes nothing less private or less right, has its reason.
"""

from __future__ import annotations

from typing import NamedTuple

CONSTANT = "where a block's response is constant all products with it are scaled to zero, and so is every vote"
UNSOUND = "a set that is taken over from one without a bound has none either, and is solved exactly"
FOUND = "which way a solution is looked for: what is found is certified, and what has no small bound goes to the exact solver"
SINGLE = "a bound is kept in single precision and rounded up by 2^-22, which is far more than the 2^-40 of the norms"
GUARD = "a second guard: nothing before it can let such a number through, and its NumPy twin has it too"


class KernelFault(NamedTuple):
    """One change of a line of C."""

    file: str
    was: str
    becomes: str
    reason: str = ""


GRID, BLOCKS = "gather/_grid.c", "gather/_blocks.c"
WHOLE, BINNED = "gather/_blocks_whole.h", "gather/_blocks_binned.h"
ROUNDS, ROUND_ROWS = "gather/_rounds.c", "gather/_rounds_rows.h"
VOTES, FIT, EDGES = "minimize/votes/_votes.c", "minimize/votes/_votes_fit.h", "minimize/votes/_edges.c"
VECTORS = "minimize/votes/_votes_lanes.h"
SUBSET, CHILDREN, RESCUE, GROUP = (
    f"minimize/losses/kernel/{each}.h" for each in ("subset", "children", "rescue", "group")
)
TERMS, TABLEAU, ACTIVE = (
    "minimize/losses/kernel/terms.c",
    "minimize/losses/kernel/tableau.h",
    "minimize/losses/kernel/active.h",
)

FAULTS = [
    KernelFault(GRID, "* scale + 0.5;", "* scale + 0.25;"),
    KernelFault(GRID, "x = x >= -grid ? x : -grid;", "x = x >= 1 - grid ? x : 1 - grid;"),
    KernelFault(GRID, "(whole > x ? 1.0", "(whole >= x ? 1.0"),
    KernelFault(GRID, "strange |= ", "strange = "),
    KernelFault(GRID, "(start + i) * step", "start + i * step"),
    KernelFault(GRID, "finite &= put(together", "finite = put(together"),
    KernelFault(GRID, "finite &= step ==", "finite = step =="),
    KernelFault(GRID, "data[place - 2] : last", "data[place - 1] : last"),
    KernelFault(GRID, "|| data[place] == '\\n' || data[place] == '\\r')", "|| data[place] == '\\n')"),
    KernelFault(GRID, "data[size - 1] : last", "data[0] : last"),
    KernelFault(BLOCKS, "(Py_ssize_t)ids[i] < blocks", "(Py_ssize_t)ids[i] <= blocks"),
    KernelFault(BLOCKS, "starts[b] += starts[b - 1]", "starts[b] = starts[b - 1]"),
    KernelFault(BLOCKS, "rows - start < SOME ? rows : start + SOME", "rows - start < SOME ? rows - 1 : start + SOME"),
    KernelFault(WHOLE, "#define EXACT_ROWS 2048", "#define EXACT_ROWS 8192"),
    KernelFault(WHOLE, "0x1.8p72", "0x1.8p71"),
    KernelFault(WHOLE, "if (fine && waiting != NULL)\n", "if (0)\n"),
    KernelFault(WHOLE, "(square - coarse)", "(square + coarse)"),
    KernelFault(WHOLE, "products_of(z + 3 * stride, j, k)", "products_of(z + 2 * stride, j, k)"),
    KernelFault(WHOLE, "from += EXACT_ROWS", "from += EXACT_ROWS - 1"),
    KernelFault(BINNED, "+ ((bits & 0xfffffffffffffu) != 0)", "+ 1"),
    KernelFault(BINNED, "-((31 - exponent) / 32)", "-((32 - exponent) / 32)"),
    KernelFault(BINNED, "s >= by ?", "s > by ?"),
    KernelFault(BINNED, "units_of(tops) * 0x1p-1", "units_of(tops) * 0x1p-3"),
    KernelFault(BINNED, "rest -= shifted1 - shift1;", ";"),
    KernelFault(BINNED, "add_terms(b, rows, OF_CUBES", "add_terms(b, rows - 1, OF_CUBES"),
    KernelFault(BINNED, "size = entry < 0 ? -entry : entry", "size = entry"),
    KernelFault(ROUND_ROWS, "* factor + 0.5);", "* factor + 0.25);"),
    KernelFault(ROUND_ROWS, "WITHIN(whole, -MAX_CELL, MAX_CELL)", "whole"),
    KernelFault(ROUND_ROWS, "matrix + k, count, columns, 1,", "matrix, count, columns, 1,"),
    KernelFault(ROUND_ROWS, "(count - 1) * stride, columns))", "(count - 1) * stride, 1))"),
    KernelFault(ROUND_ROWS, "squares += own * own;", "squares = own * own;"),
    KernelFault(ROUND_ROWS, "? at : (int)TABLE_LENGTH - 2", "? at : (int)TABLE_LENGTH - 3"),
    KernelFault(ROUND_ROWS, "q->balanced && other > size ? other : size", "size"),
    KernelFault(ROUND_ROWS, "(part < 1.0 ? part : 1.0) * w->residual[i]", "part * w->residual[i]"),
    KernelFault(ROUND_ROWS, "factor * shares[i])", "factor)"),
    KernelFault(ROUND_ROWS, "factor * __builtin_sqrt(shares[i])", "factor * shares[i]"),
    KernelFault(ROUND_ROWS, "* q->scale * w->factor[i]", "* (q->scale * w->factor[i])"),
    KernelFault(ROUND_ROWS, "w->factor[i] *= roots[i];", "w->factor[i] *= 1.0;"),
    KernelFault(ROUND_ROWS, "(SOME - some) * sizeof(double)); /* rows", "0); /* rows"),
    KernelFault(ROUND_ROWS, "r <= c; r++", "r < c; r++"),
    KernelFault(ROUND_ROWS, ">= least)", "> least)"),
    KernelFault(ROUND_ROWS, "q->halves && line[i] > 0", "q->halves && line[i] < 0"),
    KernelFault(ROUND_ROWS, "* inverse + 0.75,", "* inverse + 1.25,"),
    KernelFault(ROUND_ROWS, "(line[i] >= edges[at]) * step", "(line[i] > edges[at]) * step"),
    KernelFault(ROUND_ROWS, "q->matrix != matrix", "matrix == NULL"),
    KernelFault(ROUND_ROWS, "q->center != center", "center == NULL"),
    KernelFault(ROUND_ROWS, "before->radius != q->radius ||", ""),
    KernelFault(ROUND_ROWS, "|| before->balanced != q->balanced", ""),
    KernelFault(ROUNDS, "column * q->width + row : k", "k : k"),
    KernelFault(ROUNDS, "(k + 1) % q->edge_count", "k % q->edge_count"),
    KernelFault(ROUNDS, "longest <= edge_count / 2", "longest <= edge_count / 4"),
    KernelFault(VOTES, "(1.0 / i) * sum", "(1.0 / (i + 1)) * sum"),
    KernelFault(VOTES, "0.6 * square / (1.0 + square)", "0.6 * square / (1.0 - square)"),
    KernelFault(VOTES, "/ 8.76", "/ 7.68"),
    KernelFault(VOTES, "-0.133 * kappa", "0.133 * kappa"),
    KernelFault(VOTES, "explained - f->own * length", "explained + f->own * length"),
    KernelFault(VOTES, "theta * theta * fitted", "theta * fitted"),
    KernelFault(VOTES, "- f->own * f->squares[j], ALL(LEAST_NOISE)", ", ALL(LEAST_NOISE)"),
    KernelFault(VOTES, "(1.0 + AT_LEAST(idle, -idle))", "(1.0 - AT_LEAST(idle, -idle))"),
    KernelFault(VOTES, "rows <= MOST_ROWS", "rows < MOST_ROWS"),
    KernelFault(VOTES, "high * 0x1p20, fine", "high * 0x1p21, fine"),
    KernelFault(VOTES, "(b - part)) + c, &high", "(b - part)), &high"),
    KernelFault(VECTORS, "(rounded >= ALL(-WHOLE_VOTE)) & ", "", GUARD),
    KernelFault(FIT, "(mean.high * sum.low + mean.low * sum.high)", "(mean.high * sum.low)"),
    KernelFault(FIT, "(2.0 * mean.high) * square", "(3.0 * mean.high) * square"),
    KernelFault(FIT, "square > f->least *", "square >= f->least *"),
    KernelFault(FIT, "f->ridge * (square * square)", "f->ridge * square"),
    KernelFault(FIT, "i = columns - 1; i > 0; i--", "i = columns - 1; i > 1; i--"),
    KernelFault(FIT, "f->fits &= f->live[width - 1];", ";", CONSTANT),
    KernelFault(EDGES, "#define LEAST_PIVOT 1e-9", "#define LEAST_PIVOT 1e-6"),
    KernelFault(EDGES, "i < place ? AT(f, i, place) : AT(f, place, i)", "AT(f, place, i)"),
    KernelFault(EDGES, "pivot + s->ridge", "pivot - s->ridge"),
    KernelFault(EDGES, "(own[lane] > 0)", "(own[lane] >= 0)"),
    KernelFault(EDGES, "rest - s->factor[last] * s->row[last]", "rest + s->factor[last] * s->row[last]"),
    KernelFault(EDGES, "? swept - s->fewest : 0", "? swept - s->fewest - 1 : 0"),
    KernelFault(VECTORS, "(rounded <= ALL(WHOLE_VOTE))", "(rounded < ALL(WHOLE_VOTE))"),
    KernelFault(EDGES, "(size_t)(s->blocks - s->first) *", "(size_t)(s->blocks - s->first - 1) *"),
    KernelFault(EDGES, "|| seen[column]++)", ")"),
    KernelFault(SUBSET, "(sb - limit) / su", "(sb + limit) / su"),
    KernelFault(SUBSET, "excess = 2.0 * over", "excess = over"),
    KernelFault(SUBSET, "(limit * largest - inner)", "(limit * largest + inner)"),
    KernelFault(SUBSET, "(extent + limit * state->largest_norm)", "extent"),
    KernelFault(SUBSET, "multiplier + slack * state->barriers[k]", "multiplier - slack * state->barriers[k]"),
    KernelFault(SUBSET, "found->bound * FLOAT_UP + FLOAT_LEAST", "found->bound"),
    KernelFault(SUBSET, "out->value = (v4)((v4l)value & (value > 0));", "out->value = value;"),
    KernelFault(CHILDREN, "with_more += ways[k * step + 1]", "with_more += ways[k * step]"),
    KernelFault(RESCUE, "found.bound[l] = INFINITY;", "found.bound[l] = 0;"),
    KernelFault(GROUP, "root->singular |= ~(", "root->singular = ~(", FOUND),
    KernelFault(GROUP, "+ k]) * state->run->norm_factor", "+ k])", SINGLE),
    KernelFault(TERMS, "excess = 2.0 * over", "excess = over"),
    KernelFault(TERMS, "gap > excess ? gap : excess", "gap"),
    KernelFault(TERMS, "sound ? violators : ~inside", "violators", UNSOUND),
    KernelFault(TERMS, "> run->max_size", ">= run->max_size"),
    KernelFault(TABLEAU, "entry > work->table.pivot *", "entry > 0 *"),
    KernelFault(TABLEAU, "* norm_factor;\n        ((double *)table->c)", ";\n        ((double *)table->c)", SINGLE),
    KernelFault(ACTIVE, "(along - radius) / steep", "(along + radius) / steep"),
    KernelFault(ACTIVE, "excess > slack * h[k]", "excess > 0", FOUND),
    KernelFault(ACTIVE, "reached < share", "reached > share", FOUND),
    KernelFault(ACTIVE, "reached >= 0 && reached < length", "reached < length", FOUND),
]  # fmt: skip
