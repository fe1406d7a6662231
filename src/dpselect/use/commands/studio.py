"""`dpselect studio`: the same flow on a page of this computer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

PAGE = """<!doctype html><meta charset="utf-8"><title>dpselect studio</title><meta http-equiv="refresh" content="0; url={0}">
<p><a href="{0}">Open the studio</a></p>
"""


@click.command(
    "studio",
    epilog="""\b
Example:
  dpselect studio                      # a new study, study.toml in this folder
  dpselect studio health.toml --port 8123 --no-browser""",
)
@click.argument("study_file", metavar="[STUDY]", type=click.Path(), default="study.toml")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: a free port]")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def command(study_file: str, port: int, no_browser: bool) -> None:
    """Plan, check, release and verify in your browser, for STUDY (study.toml by default).

    Serves this computer only, until Ctrl-C. The address that is printed holds a secret: do not share it.
    """
    try:
        from dpselect.use.studio.server import serve
    except ModuleNotFoundError as problem:
        if problem.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise ImportError("The studio needs starlette and uvicorn: install dpselect[studio].") from None
    with tempfile.TemporaryDirectory(prefix="dpselect-studio-") as folder:

        def tell(address: str) -> None:
            click.echo(address)
            if not no_browser:
                # By way of a file that only its owner can read: everybody can read the arguments of a program.
                start = Path(folder, "start.html")
                start.write_text(PAGE.format(address), encoding="utf-8")
                click.launch(str(start))

        serve(study_file, port, tell)
