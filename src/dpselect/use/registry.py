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
    """Write an entry for the Differential Privacy Deployments Registry, from a report that verifies.

    Parameters
    ----------
    report : path
        The JSON or the HTML file.
    curator : str
        Who holds the data.
    use : str
        What the release is for.
    curator_type, region, sector : str, optional
        More about the curator, in the registry's words.
    authors : list of str, optional
        Who made the release.
    url : str, optional
        Where the report is published.
    rationale : str, optional
        Why these parameters; with it the entry is tier 3, else tier 2.

    Returns
    -------
    str
        The entry as YAML.

    Examples
    --------
    >>> print(dpselect.registry("report.html", curator="Statistics Office", use="yearbook"))  # doctest: +SKIP
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
