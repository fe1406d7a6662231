"""How many examples Hypothesis makes: a third in `make test`, all in `make test-rest`, which sets EXAMPLES=all."""

import os


def examples(whole: int) -> int:
    """So many of `whole`."""
    return whole if os.environ.get("EXAMPLES") == "all" else whole // 3
