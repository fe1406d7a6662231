"""Which modules get faults, and which tests should notice them: the mirrored ones first, then the claims and the exits."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

MODULES = [
    f"dpselect/{each}.py"
    for each in (
        *("assume/lemmas/sensitivity", "assume/lemmas/margins", "assume/lemmas/moment_sensitivity"),
        *("assume/lemmas/gaussian_price", "assume/models/budget", "assume/models/penalty", "assume/models/tuning"),
        *("assume/models/vote_rule", "assume/models/recipe"),
        *("minimize/certificate", "minimize/exact"),
        *("penalize/pcls", "penalize/pcpl", "penalize/margins", "penalize/tuning_scores"),
        *("randomize/choice", "randomize/opendp_door", "randomize/least_loss", "randomize/moment_noise"),
        *("randomize/noisy_moments", "randomize/levels", "randomize/interval"),
        *("release/select", "release/estimate", "release/tune", "release/account", "release/odds/release"),
        *(
            "release/ledger/accounting",
            "release/ledger/concentrated",
            "release/ledger/prices",
            "release/ledger/records",
        ),
        *("release/ledger/entries", "release/ledger/chain", "release/ledger/ledger", "release/ledger/stores/sqlite"),
        *("release/ledger/stores/sqlite_file",),
    )
]
MODULES = [each for each in MODULES if (ROOT / "src" / each).exists()]

_CLAIMS = {
    "assume/lemmas/sensitivity": ["test_sensitivity", "test_profile_bound", "test_persons", "test_lemma_margins"],
    "assume/lemmas/margins": ["test_margin_range"],
    "assume/lemmas/moment_sensitivity": ["test_moment_sensitivity", "test_lemma_margins"],
    "assume/lemmas/gaussian_price": ["test_gaussian_price", "test_lemma_margins"],
    "minimize": ["test_losses", "test_lemma_margins"],
    "penalize": [
        "test_sensitivity",
        "test_tuning_ranges",
        "test_margin_range",
        "test_profile_bound",
        "test_lemma_margins",
    ],
    "randomize": ["test_privacy_audit", "test_interval_range", "test_lemma_margins"],
    "release/ledger": ["test_ledger_prices", "test_ledger_guide", "test_lemma_margins"],
}


def TESTS(module: str) -> list[str]:
    """Test files for a module, the quickest first."""
    inside = module.removeprefix("dpselect/").removesuffix(".py")
    folder, _, name = inside.rpartition("/")
    tests = [f"tests/{folder}/test_{name}.py"]
    if inside.startswith("release/ledger"):
        tests += [f"tests/release/ledger/test_{each}.py" for each in ("accounting", "records", "ledger", "ledger_file")]
        tests += ["tests/release/ledger/test_ledger_stopped.py"]
    if inside.startswith("minimize"):
        tests += ["tests/minimize/test_minimize.py", "tests/minimize/test_lattice_certificate.py"]
    for start, claims in _CLAIMS.items():
        if inside.startswith(start):
            tests += [f"tests/claims/{each}.py" for each in claims]
    if not inside.startswith(("release/ledger", "minimize")):
        tests += ["tests/release/test_exits.py"]
    if inside.startswith(("release", "assume/models")):
        tests += ["tests/release/test_account.py", "tests/use/test_select.py", "tests/use/test_analyze.py"]
    return list(dict.fromkeys(tests))
