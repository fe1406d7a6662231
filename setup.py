"""The compiled kernels, if there is a compiler: without one the install succeeds and their NumPy twins serve."""

from pathlib import Path

from setuptools import Extension, setup

HEADERS = sorted(map(str, Path("src/dpselect/minimize/losses/kernel").glob("*.h")))

setup(
    ext_modules=[
        Extension(
            "dpselect.minimize.losses._lattice",
            sources=["src/dpselect/minimize/losses/kernel/lattice.c"],
            depends=HEADERS,
            extra_compile_args=["-O3", "-fno-math-errno", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "dpselect.minimize.losses._terms",
            sources=["src/dpselect/minimize/losses/kernel/terms.c"],
            depends=HEADERS,
            extra_compile_args=["-O3", "-fno-math-errno", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "dpselect.gather._grid",
            sources=["src/dpselect/gather/_grid.c"],
            extra_compile_args=["-O3", "-ffp-contract=off", "-fno-trapping-math"],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "dpselect.gather._blocks",
            sources=["src/dpselect/gather/_blocks.c"],
            depends=sorted(map(str, Path("src/dpselect/gather").glob("_blocks_*.h"))),
            extra_compile_args=["-O3", "-ffp-contract=off", "-fno-trapping-math", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "dpselect.gather._rounds",
            sources=["src/dpselect/gather/_rounds.c"],
            depends=sorted(map(str, Path("src/dpselect/gather").glob("_rounds_*.h"))),
            extra_compile_args=["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "dpselect.minimize.votes._votes",
            sources=["src/dpselect/minimize/votes/_votes.c"],
            depends=["src/dpselect/minimize/votes/_votes_fit.h", "src/dpselect/minimize/votes/_votes_lanes.h"],
            extra_compile_args=["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "dpselect.minimize.votes._edges",
            sources=["src/dpselect/minimize/votes/_edges.c"],
            depends=["src/dpselect/minimize/votes/_votes_lanes.h"],
            extra_compile_args=["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,
        ),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
