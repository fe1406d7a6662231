"""All benchmarks in one run: prints tables, writes benchmarks/results/kernel.json and kernel.png.

python -m benchmarks [--quick]      quick: under two minutes, fewer repetitions and no 24 columns
"""

import argparse
import os

# One thread each, so that processor time is comparable; before NumPy is imported.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from benchmarks.kernel import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="under two minutes")
    main(quick=parser.parse_args().quick)
