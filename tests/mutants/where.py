"""Which modules get faults, and which tests should notice them: the nearest first, a wider ring after each that passes.

Rooms are named by folder, so that a module that is moved or new is in the draw without anybody's thinking of it.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

ROOMS = {
    "guarantee": ("assume/*", "assume/lemmas/*", "penalize/*", "randomize/*", "release/*", "release/*/*"),
    "rows": ("gather/*", "gather/sources/*", "minimize/*", "minimize/*/*"),
    "previews": ("rehearse/*", "rehearse/*/*"),
    "readers": ("report/*",),
    "doors": ("use/*", "use/shell/*", "use/commands/*", "use/runs/*", "use/studio/*", "use/selectors/*"),
}
"""What is drawn from: stages that make a guarantee or read rows, what is told before a run, strangers read and people call."""
LEFT_OUT = ("__init__.py", "demo.py", "completion.py", "pages.py")
"""What says nothing of a release or a price."""


def modules_of(room: str) -> list[str]:
    """The modules of a room, as they are now."""
    package = ROOT / "src" / "dpselect"
    found = [path for pattern in ROOMS[room] for path in sorted(package.glob(f"{pattern}.py"))]
    return [f"dpselect/{path.relative_to(package)}" for path in found if path.name not in LEFT_OUT]


EXITS = "tests/release/test_exits.py"
_MIRRORS = {
    "assume/queries": ["tests/gather/test_rounds.py", "tests/release/rounds"],
    "assume": ["tests/assume", EXITS],
    "gather": ["tests/gather/test_rows.py", "tests/gather/test_moments.py"],
    "gather/sources": ["tests/gather/sources", "tests/use/test_source_form.py"],
    "minimize/losses/lattice": [
        "tests/minimize/losses/test_lattice_certificate.py",
        "tests/minimize/losses/test_lattice_twins.py",
    ],
    "minimize": ["tests/minimize"],
    "penalize": ["tests/penalize/test_scores.py"],
    "randomize": ["tests/randomize"],
    "rehearse": ["tests/rehearse"],
    "release/ledger": ["tests/release/ledger"],
    "release/rounds": ["tests/release/rounds"],
    "release": [EXITS, "tests/release/test_account.py", "tests/release/test_estimate.py"],
    "report": [
        "tests/report/test_page.py",
        "tests/report/test_table.py",
        "tests/report/verify",
        "tests/claims/test_prices_shown.py",
    ],
    "use/shell": ["tests/use/shell", "tests/use/test_command_line.py"],
    "use/commands": ["tests/use/test_command_line.py"],
    "use/runs": ["tests/use/test_command_line.py"],
    "use/studio": ["tests/use/studio"],
    "use": ["tests/use/test_select.py", "tests/use/test_analyze.py", "tests/use/test_delivery.py"],
}
"""For modules without a test file of their own, and after it for the others."""
_CLAIMS = {
    "assume/lemmas/sensitivity": ["sensitivity", "profile_bound", "persons", "lemma_margins", "margin_range"],
    "assume/lemmas/moment": ["moment_sensitivity", "lemma_margins"],
    "assume/lemmas/rounds": ["rounds_sensitivity", "gaussian_price", "lemma_margins", "cluster_sums"],
    "assume/lemmas": ["rounds_sensitivity", "lemma_margins", "edge_range", "sampling"],
    "assume": ["margin_range", "votes_audit", "edge_range"],
    "gather": ["same_integers", "one_record", "possible_sums", "persons"],
    "minimize": ["losses", "block_independence", "lemma_margins"],
    "penalize": ["sensitivity", "margin_range", "profile_bound", "lemma_margins", "edge_range"],
    "randomize": ["lemma_margins", "privacy_audit", "rounds_sensitivity", "noise_alone"],
    "release/ledger": ["ledger_prices", "ledger_guide", "lemma_margins"],
    "release": ["privacy_audit", "prices_shown", "directions"],
    "report": ["prices_shown", "no_private_values"],
    "use": ["prices_shown", "no_private_values"],
}
_ROOMS = {
    "assume": ["tests/assume", "tests/randomize", EXITS],
    "gather": ["tests/gather"],
    "minimize": ["tests/minimize"],
    "penalize": [EXITS, "tests/penalize", "tests/minimize/votes/test_votes.py"],
    "randomize": ["tests/randomize", EXITS, "tests/release/test_estimate.py", "tests/release/rounds"],
    "rehearse": ["tests/rehearse", "tests/use/test_rehearsal.py", "tests/use/test_plan.py"],
    "release/ledger": ["tests/release/ledger", "tests/use/test_stops.py"],
    "release": ["tests/release", "tests/report/verify"],
    "report": ["tests/report", "tests/use/test_command_line.py", "tests/use/studio"],
    "use": ["tests/use"],
}
_WIDER = [
    "tests/assume",
    "tests/randomize",
    "tests/penalize",
    "tests/release",
    "tests/report",
    "tests/use",
    "tests/minimize",
    "tests/claims",
]


def stages(module: str, most: str = "wider") -> dict[str, list[str]]:
    """The tests for a module, as far as `most`: its mirror, the claims it rests on, its room, and what a survivor meets then."""
    inside = module.removeprefix("dpselect/").removesuffix(".py")
    folder, _, name = inside.rpartition("/")
    own = [each for each in [f"tests/{folder}/test_{name}.py"] if (ROOT / each).exists()]
    claims = [f"tests/claims/test_{each}.py" for each in _nearest(_CLAIMS, inside)]
    found = {"mirror": own or _nearest(_MIRRORS, inside), "claims": claims, "room": _nearest(_ROOMS, inside)}
    found["wider"] = _WIDER
    met = list(found)[: list(found).index(most) + 1]
    return {stage: there for stage in met if (there := [each for each in found[stage] if (ROOT / each).exists()])}


def _nearest(table: dict[str, list[str]], inside: str) -> list[str]:
    fitting = [start for start in table if inside.startswith(start)]
    return list(table[max(fitting, key=len)]) if fitting else []
