"""How long the command line takes to start, as ratios to `python -c "import numpy"` in the same run.

python -m benchmarks.start_up
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import in_words, table

ROUNDS = 7
SOURCES = str(Path(__file__).parents[1] / "src")
COMMAND = ("-m", "dpselect.use.command_line")
BOUNDS = "lower = 0\nupper = 1\n"
CONTESTANTS = {
    'python -c "import numpy"': ("-c", "import numpy"),
    'python -c "import dpselect"': ("-c", "import dpselect"),
    "dpselect --help": (*COMMAND, "--help"),
    "dpselect select --help": (*COMMAND, "select", "--help"),
    "dpselect verify --help": (*COMMAND, "verify", "--help"),
    "dpselect select, 2 rows": (*COMMAND, "select", "study.toml", "rows.csv", *"--epsilon 0.01 --yes -q".split()),
    "dpselect budget": (*COMMAND, "budget", "rows.csv"),
}


def seconds(arguments, folder):
    """What the processor spends on a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": SOURCES, "OPENBLAS_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "study.toml").write_text(
            f'[response]\nname = "y"\n{BOUNDS}[[predictors]]\nname = "x"\n{BOUNDS}', encoding="utf-8"
        )
        Path(folder, "rows.csv").write_text("x,y\n0.5,0.5\n0.2,0.1\n", encoding="utf-8")
        seconds((*COMMAND, "budget", "rows.csv", "--open", "--epsilon", "1"), folder)
        best = dict.fromkeys(CONTESTANTS, float("inf"))
        for _ in range(ROUNDS):
            for name, arguments in CONTESTANTS.items():
                best[name] = min(best[name], seconds(arguments, folder))
    numpy = next(iter(best.values()))
    rows = [[name, in_words(spent), f"{spent / numpy:.2f}"] for name, spent in best.items()]
    table("Start-up: processor time, best of seven", ["command", "time", "ratio to numpy"], rows)


if __name__ == "__main__":
    main()
