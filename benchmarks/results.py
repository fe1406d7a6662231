"""Every table of README and docs that was measured, with the command that makes it anew: `make results`, `make results FULL=1`.

python -m benchmarks.results                        the list
python -m benchmarks.results run [NAME ...]         with few draws, in minutes: does it still run, is it near
python -m benchmarks.results run --full [NAME ...]  with as many as the pages say; hours

What a command prints goes to build/results/NAME.txt, with the commit, the date and the seconds; whoever copies a number into a page
copies it from there. What needs a folder of studies (`--studies FOLDER`, each a study file beside its table) is left out without.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
STUDIES = "FOLDER"
"""In the place of the folder of studies, which the program does not carry."""


@dataclass(frozen=True)
class Result:
    """One command, where its numbers stand, and how it is run with few draws and with all."""

    name: str
    pages: tuple[str, ...]
    base: str
    few: str = ""
    all: str = ""
    studies: bool = False
    """Whether it looks for the folder of studies in the environment, as `benchmarks.rounds` does."""

    def command(self, full: bool) -> str:
        """What is run: the last of an option counts. The same both ways where a command takes a minute or two."""
        return f"{self.base} {self.all if full else self.few}".rstrip()


VOTES = ("README.md", "docs/VOTES.md", "docs/RESULTS.md")
ROUNDS = ("README.md", "docs/RESULTS_ROUNDS.md", "docs/ESTIMATES.md")
FEW_KILLS = "--kill 20 --interrupt 3 --terminate 3 --counts build/results/kills-quick.json"
RESULTS = (
    Result("votes-tables", VOTES, "-m benchmarks.votes_heldout", "--times 1"),
    Result("votes-studies", VOTES, f"-m benchmarks.votes_rule studies {STUDIES}", "--times 1"),
    Result("votes-cut", VOTES, f"-m benchmarks.votes_rule rows {STUDIES}", "--times 1"),
    Result("votes-permuted", ("docs/RESULTS.md",), f"-m benchmarks.votes_rule permuted {STUDIES}", "--times 1"),
    Result("votes-simulated", ("docs/RESULTS.md",), "-m benchmarks.votes_rule simulated --times 40", "--times 2"),
    Result("votes-many", ("docs/RESULTS.md",), "-m benchmarks.votes_rule many --times 2", "--times 1"),
    Result("votes-final", ("docs/RESULTS.md",), "-m benchmarks.votes_final final", "--times 1"),
    Result("votes-regret", ("docs/RESULTS.md",), "-m benchmarks.votes_final regret", "--times 1"),
    Result("null", ("README.md", "docs/VOTES.md"), "-m benchmarks.null made-up", "--times 1 --most 20000"),
    Result("wide", ("docs/VOTES.md",), "-m benchmarks.wide"),
    Result("rounds-studies", ROUNDS, "-m benchmarks.rounds studies", "--releases 2", studies=True),
    Result("rounds-cut", ROUNDS, "-m benchmarks.rounds studies --rows 3000 --releases 40", "--releases 2", studies=True),
    Result("rounds-others", ROUNDS, "-m benchmarks.rounds others", "--releases 2"),
    Result("rounds-packages", ("docs/RESULTS_ROUNDS.md",), "-m benchmarks.rounds apart", "--releases 1"),
    Result("rounds-stated", ROUNDS, "-m benchmarks.rounds stated --releases 100", "--releases 2"),
    Result("rounds-votes", ROUNDS[:2], "-m benchmarks.rounds_votes --releases 40", "--releases 1", studies=True),
    Result("rounds-predictions", ("docs/ESTIMATES.md",), "-m benchmarks.rounds_predictions", "--releases 2", studies=True),
    Result("rounds-made", ROUNDS, "-m benchmarks.rounds made", "--releases 2"),
    Result("rounds-odds", ROUNDS, "-m benchmarks.rounds odds", "--releases 2"),
    Result("rounds-counts", ROUNDS, "-m benchmarks.rounds counts", "--releases 2"),
    Result("boxes", ("docs/ESTIMATES.md",), f"benchmarks/estimates_coverage.py {STUDIES}", "--releases 1 --rows 1000 --epsilon 1"),
    Result("boxes-odds", ("docs/ESTIMATES.md",), "benchmarks/estimates_odds.py", "--releases 2 --cells 0"),
    Result("boxes-peers", ("docs/ESTIMATES.md",), "benchmarks/estimates_peers.py", "--tables 3 --rows 1000"),
    Result("survey", ("docs/how-to/weights.md",), "-m benchmarks.survey", "--samples 1"),
    Result("plan", ("docs/RESULTS.md",), f"-m benchmarks.plan {STUDIES}", "--times 1"),
    Result("plan-calibration", ("docs/RESULTS.md",), "-m benchmarks.plan_calibration --times 60 --first 1000", "--times 4"),
    Result("forecasts", ("docs/RESULTS.md",), "-m benchmarks.forecasts measure build/results/plans.jsonl", "--runs 1 --only wage2"),
    Result("forecast-fit", ("docs/RESULTS.md", "docs/RESULTS_ROUNDS.md"), "-m benchmarks.forecast_fit build/results/plans.jsonl"),
    Result("field", ("docs/COMPARISONS.md", "README.md"), "-m benchmarks.field", all="--full"),
    Result("kernel", ("docs/KERNEL.md",), "-m benchmarks", "--quick"),
    Result("terms", ("docs/KERNEL.md",), "-m benchmarks.terms"),
    Result("votes-time", ("docs/KERNEL.md", "docs/VOTES.md", "docs/how-to/data-sources.md"), "-m benchmarks.votes", "--quick"),
    Result("rounds-time", ("docs/ESTIMATES.md",), "-m benchmarks.rounds_time", "--rows 1000000"),
    Result("gather", ("docs/how-to/data-sources.md",), "-m benchmarks.gather", "--quick"),
    Result("engines", ("docs/how-to/data-sources.md",), "-m benchmarks.engines", "--quick"),
    Result("check-time", ("docs/RESULTS.md",), "-m benchmarks.check"),
    Result("paper-grid", ("docs/RESULTS.md",), "-m benchmarks.paper_grid", "--count 20"),
    Result("paper", ("docs/RESULTS.md",), "-m paper", few="fig3", all="all"),
    Result("paper-headline", ("docs/RESULTS.md",), "-m paper headline"),
    Result("analyze-time", ("docs/ARCHITECTURE.md",), "-m benchmarks.analyze_time"),
    Result("analyze-frame", ("docs/ESTIMATES.md",), "-m benchmarks.analyze_time --frame", "--rounds 1"),
    Result("kills", ("docs/THREAT_MODEL.md", "docs/NIST_800_226.md"), "-m benchmarks.kills", FEW_KILLS),
)  # fmt: skip


def run(result: Result, full: bool, studies: Path | None, folder: Path) -> str:
    """Run one, keep what it prints, and say in a word how it ended."""
    words = result.command(full).split()
    if studies is None and (result.studies or STUDIES in words):
        return "left out: it needs --studies FOLDER"
    words = [str(studies) if word == STUDIES else word for word in words]
    environment = {**os.environ, "STUDIES": str(studies)} if result.studies else None
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - began
    head = f"# {' '.join(words)}\n# {commit.stdout.strip() or 'no commit'}, {datetime.now(UTC):%Y-%m-%d}, {seconds:.0f} s\n"
    (folder / f"{result.name}{'' if full else '-quick'}.txt").write_text(
        head + done.stdout + done.stderr, encoding="utf-8"
    )
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if done.returncode and last.startswith("ModuleNotFoundError: "):  # a package of data that nothing else needs
        return f"left out: {last.removeprefix('ModuleNotFoundError: ')}"
    return f"{seconds:.0f} s" if done.returncode == 0 else f"FAILED with {done.returncode}, after {seconds:.0f} s"


def main() -> int:
    """The list, or some of the runs; 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("list", "run"), default="list")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--full", action="store_true", help="as many draws as the pages say")
    parser.add_argument("--studies", type=Path, help="a folder of study files, each beside its table")
    asked = parser.parse_args()
    if unknown := set(asked.names) - {result.name for result in RESULTS}:
        parser.error(f"no such result: {', '.join(sorted(unknown))}")
    chosen = [result for result in RESULTS if not asked.names or result.name in asked.names]
    if asked.what == "list":
        for result in chosen:
            print(f"{result.name:<17} python {result.command(asked.full)}\n{'':<17} {', '.join(result.pages)}")
        return 0
    folder, failed = ROOT / "build" / "results", False
    folder.mkdir(parents=True, exist_ok=True)
    for result in chosen:
        ended = run(result, asked.full, asked.studies and asked.studies.resolve(), folder)
        failed |= ended.startswith("FAILED")
        print(f"{result.name:<17} {ended}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
