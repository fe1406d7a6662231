"""`dpselect completion`: what to put into a shell's start-up file."""

from __future__ import annotations

import click

LINES = {
    "bash": 'eval "$(_DPSELECT_COMPLETE=bash_source dpselect)"',
    "zsh": 'eval "$(_DPSELECT_COMPLETE=zsh_source dpselect)"',
    "fish": "_DPSELECT_COMPLETE=fish_source dpselect | source",
}
START_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/dpselect.fish"}


@click.command(
    "completion",
    epilog="\b\nExample:\n  dpselect completion bash >> ~/.bashrc",
)
@click.argument("shell", type=click.Choice(list(LINES)))
def command(shell: str) -> None:
    """Print the line that switches on tab completion; append it to your shell's start-up file."""
    click.echo(f"# dpselect's tab completion; belongs into {START_FILES[shell]}\n{LINES[shell]}")
