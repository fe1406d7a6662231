"""Where the rows of a study are: what was stated about them, the head of the table, and the files that are offered."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from dpselect.assume.records import sha256_of
from dpselect.gather.formats import FORMATS
from dpselect.gather.sources.schema import ColumnType
from dpselect.use.init import named_columns
from dpselect.use.shell.sources import Rows, guessed_form, label, ledger_beside, source_of, unpacked_ending

MAX_FILES = 60
"""Files of a folder that are offered, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Public. Where the rows are, as it was stated, and what its columns are called. The address may hold a password."""

    address: str = field(repr=False)
    form: tuple[tuple[str, str], ...]
    columns: tuple[ColumnType, ...]

    @property
    def label(self) -> str:
        """What the ledger calls the data: no folder, no host, no password."""
        return label(self.address)

    @property
    def shown(self) -> str:
        """The address without its password."""
        if "://" not in self.address:
            return self.address
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")
        user = host[0].partition(":")[0]
        return urlunsplit(parts._replace(netloc=f"{user}@{host[2]}" if user else host[2]))

    @property
    def ledger(self) -> Path:
        """Where the ledger of these rows stands, or will."""
        return ledger_beside(self.address)

    def rows(self) -> Rows:
        """The rows, for whatever reads them in a command too."""
        return Rows(source_of(self.address, dict(self.form)), self.label)


def open_source(address: str, form: dict[str, str]) -> Source:
    """Look at a table's head: the names and types of its columns, and how a text file is written; nothing else."""
    whole = guessed_form(address, form)
    columns = tuple(named_columns(source_of(address, whole)))
    return Source(address=address, form=tuple(whole.items()), columns=columns)


def data_files(folder: Path) -> list[str]:
    """The files of a folder that hold rows, by their names, the latest first; neither studies nor reports nor ledgers."""
    found = []
    try:
        for path in folder.iterdir():
            if path.is_file() and unpacked_ending(path.name) in FORMATS and not path.name.startswith("."):
                found.append(path)
        found.sort(key=lambda path: (-path.stat().st_mtime, path.name))
    except OSError:
        return []
    return [str(path) if folder != Path.cwd() else path.name for path in found[:MAX_FILES]]


def study_mark(study_file: Path, source: Source | None) -> str:
    """A mark of the study and of where the data are, by which a page about them is known to be stale."""
    text = study_file.read_text(encoding="utf-8") if study_file.exists() else ""
    return sha256_of([text, source.address if source else "", list(source.form) if source else []])
