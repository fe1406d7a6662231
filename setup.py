"""The compiled kernel, if there is a compiler: without one the install succeeds and the NumPy twin serves."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "dpselect.minimize._lattice",
            sources=["src/dpselect/minimize/_lattice.c"],
            depends=["src/dpselect/minimize/_lattice_kernel.h"],
            extra_compile_args=["-O3", "-fno-math-errno", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
