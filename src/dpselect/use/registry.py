"""A report as an entry of the Differential Privacy Deployments Registry."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dpselect.errors import ProblemFound
from dpselect.report.form import read_report
from dpselect.report.registry_entry import Deployment, as_yaml, registry_entry
from dpselect.use.verify import verify


def registry(
    report: str | os.PathLike[str],
    *,
    curator: str,
    use: str,
    curator_type: str = "Government",
    region: str = "",
    sector: str = "Government",
    authors: Sequence[str] = (),
    url: str = "",
    rationale: str = "",
) -> str:
    """The YAML text of an entry for the Differential Privacy Deployments Registry, from a report that verifies.

    Example: `print(registry("report.html", curator="Statistics Office", use="for the yearbook"))`. With a `rationale` the entry is
    tier 3, else tier 2.
    """
    found = verify(report)
    if found.answer == "failed":
        raise ProblemFound("This report does not verify, so no entry is written: run `dpselect verify` to see why.")
    analysis, _ = read_report(Path(report).read_text(encoding="utf-8"))
    stated = Deployment(
        curator=curator,
        use=use,
        curator_type=curator_type,
        region=region,
        sector=sector,
        authors=tuple(authors),
        url=url,
        rationale=rationale,
    )
    return as_yaml(registry_entry(analysis, stated))
