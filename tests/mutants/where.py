"""Which modules get faults, and which tests should notice them: the nearest first, a wider ring after each that passes."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

MODULES = [
    f"dpselect/{each}.py"
    for each in (
        *("assume/lemmas/sensitivity", "assume/lemmas/margins", "assume/lemmas/moment_sensitivity"),
        *("assume/lemmas/gaussian_price", "assume/lemmas/moment_layout", "assume/lemmas/rounds"),
        *("assume/models/budget", "assume/models/penalty", "assume/models/vote_rule"),
        *("assume/models/recipe", "assume/models/split"),
        *("minimize/certificate", "minimize/lattice_certificate", "minimize/exact"),
        *("penalize/pcls", "penalize/pcpl", "penalize/margins"),
        *("randomize/choice", "randomize/opendp_door", "randomize/least_loss", "randomize/moment_noise"),
        *("randomize/noisy_moments", "randomize/rounds_noise", "randomize/levels"),
        *("release/select", "release/estimate", "release/account", "release/rounds/drawing", "release/rounds/checking"),
        *("release/ledger/accounting", "release/ledger/entries", "release/ledger/chain", "release/ledger/ledger"),
        *("release/ledger/sqlite", "release/ledger/store"),
    )
]
MODULES = [each for each in MODULES if (ROOT / "src" / each).exists()]

EXITS = "tests/release/test_exits.py"
LEDGER = [
    f"tests/release/ledger/test_{each}.py"
    for each in ("accounting", "entries", "opening", "ledger", "ledger_file", "commit", "about", "session")
]
_MIRRORS = {
    "assume/models": [EXITS],
    "minimize/lattice": ["tests/minimize/test_lattice_certificate.py"],
    "penalize": ["tests/penalize/test_scores.py"],
    "randomize": ["tests/randomize"],
    "release/ledger": LEDGER,
    "release/rounds": ["tests/release/rounds"],
    "release": [EXITS, "tests/release/test_account.py"],
}
"""For modules without a test file of their own, and after it for the others."""
_CLAIMS = {
    "assume/lemmas/sensitivity": ["sensitivity", "profile_bound", "persons", "lemma_margins", "margin_range"],
    "assume/lemmas/margins": ["margin_range", "lemma_margins"],
    "assume/lemmas/moment": ["moment_sensitivity", "lemma_margins"],
    "assume/lemmas/gaussian_price": ["gaussian_price", "lemma_margins"],
    "assume/lemmas/rounds": ["rounds_sensitivity"],
    "assume/models": ["margin_range", "votes_audit"],
    "minimize": ["losses", "lemma_margins"],
    "penalize": ["sensitivity", "margin_range", "profile_bound", "lemma_margins"],
    "randomize": ["lemma_margins", "privacy_audit", "rounds_sensitivity"],
    "release/ledger": ["ledger_prices", "ledger_guide", "lemma_margins"],
    "release": ["privacy_audit"],
}
_ROOMS = {
    "assume": ["tests/assume", "tests/randomize", EXITS],
    "minimize": ["tests/minimize"],
    "penalize": [EXITS, "tests/penalize", "tests/minimize/test_votes.py"],
    "randomize": [EXITS, "tests/release/test_estimate.py", "tests/release/rounds"],
    "release/ledger": ["tests/release/ledger"],
    "release": ["tests/release", "tests/report/verify"],
}
_WIDER = [
    "tests/assume",
    "tests/randomize",
    "tests/penalize",
    "tests/release",
    "tests/report/verify",
    "tests/use/test_select.py",
]
_WIDER += ["tests/use/test_analyze.py", "tests/minimize", "tests/claims"]


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
