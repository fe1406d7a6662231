"""Options that several commands share, so that one word means one thing in all of them, and what they add up to."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any, Self, TypeVar

import click

from dpselect.assume.budget import EXACT, Budget, about, exact_delta, exact_epsilon, plain
from dpselect.assume.candidates import Subsets
from dpselect.assume.recipe import MECHANISMS, METHODS, Choice, Mechanism, Method
from dpselect.errors import LedgerError, NoLedgerYet, NotConfirmed, StudyError
from dpselect.gather.sources.open import data_place
from dpselect.release.account import Account, NewLedger
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.postgres import shown_address
from dpselect.release.ledger.sqlite import others_beside
from dpselect.release.ledger.store import is_address
from dpselect.report.phrases import cost_text, warnings
from dpselect.use.shell.files import begins_with
from dpselect.use.shell.sources import ledger_beside
from dpselect.use.shell.terminal import on_terminal, pairs, tell

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]


def together(*decorators: Decorator[Any]) -> Decorator[Command]:
    """Several options as one, in reading order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


PLACES = together(
    click.argument("places", nargs=-1, metavar="DATA"),
    click.option("--study", metavar="FILE", default=None, help="The study file: variables, ranges, categories."),
)
"""DATA, and the study about it; the order STUDY DATA is taken too."""

JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="The answer alone, in one line.")
YES = click.option("-y", "--yes", is_flag=True, help="Spend without asking.")
EPSILON = click.option("--epsilon", required=True, metavar="E", help="The whole price of this run; 0.1 to 10 is usual.")
DELTA = click.option("--delta", default=None, metavar="D", help="Only for pcpl and for Gaussian noise; 1e-6 is usual.")
METHOD = click.option(
    "--method", type=click.Choice(METHODS), default="votes", show_default=True, help="How models are scored."
)
MODEL = together(
    METHOD,
    click.option(
        "--mechanism",
        type=click.Choice(MECHANISMS),
        default="permute-and-flip",
        show_default=True,
        help="How the choice is drawn.",
    ),
    click.option(
        "--penalty",
        metavar="PHI",
        default=None,
        help="What a column costs: a number, aic or bic. By default a public formula decides.",
    ),
    click.option(
        "--max-size",
        type=click.IntRange(min=0),
        metavar="K",
        default=None,
        help="At most K columns besides those always in.",
    ),
    click.option(
        "--at-least",
        type=click.IntRange(min=0),
        metavar="K",
        default=0,
        help="The best K variables whether they pass the threshold or not, and more if they do.",
    ),
    click.option("--always", metavar="NAME", multiple=True, help="A variable that is in every model. May be repeated."),
    click.option(
        "--one-of", metavar="A,B,..", multiple=True, help="Variables of which exactly one is in. May be repeated."
    ),
)
"""What decides which model wins, price apart."""

LEDGER = together(
    click.option(
        "--ledger",
        metavar="FILE",
        default=None,
        help="The ledger to charge. By default it stands beside the data: people.csv has people.budget.db.",
    ),
    click.option(
        "--total-epsilon", metavar="E", default=None, help="What a new ledger allows in all (this run unless stated)."
    ),
    click.option(
        "--total-delta", metavar="D", default=None, help="What a new ledger allows in all (this run unless stated)."
    ),
)
CSV = together(
    click.option("--delimiter", metavar="C", default=None, help="CSV delimiter. [default: comma]"),
    click.option("--encoding", metavar="NAME", default=None, help="CSV encoding. [default: utf-8]"),
    click.option("--decimal", metavar="C", default=None, help="CSV decimal point. [default: point]"),
)
"""How a text file is written."""

MOMENTS = click.option(
    "--moments",
    metavar="FILE",
    default=None,
    help="Instead of DATA: the answer to the query of `dpselect sql`, as CSV.",
)


def study_and_data(places: Sequence[str], study: str | None) -> tuple[str, str | None]:
    """The study file and DATA, if it was given, from the arguments of a command in either order."""
    listed = list(places)
    if study is None:
        files = [each for each in listed if Path(each).suffix == ".toml"] or listed[: len(listed) // 2]
        if not files:
            raise click.UsageError("Give the study file: --study study.toml. `dpselect init DATA` writes one.")
        study = files[0]
        listed.remove(study)
    if len(listed) > 1:
        raise click.UsageError(f"Give one DATA; here are {len(listed)}: {', '.join(map(repr, listed))}.")
    return study, listed[0] if listed else None


def parse_split(text: str | None) -> tuple[str, str] | None:
    """Two shares from a text such as 35:65."""
    if text is None:
        return None
    first, mark, second = text.partition(":")
    if not mark:
        raise StudyError(f"split is {text!r}; it must be two shares with a colon between them, such as 35:65.")
    return first, second


def group_of(text: str) -> tuple[str, ...]:
    """The names in a group such as "income, wealth"."""
    return tuple(name.strip() for name in text.split(","))


def penalty_of(text: str | None) -> float | str | None:
    """A penalty as `select` takes it."""
    if text is None or text in ("aic", "bic"):
        return text
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor aic nor bic.", param_hint="'--penalty'") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Public. The options that decide what is chosen and what it costs."""

    epsilon: str
    delta: str | None
    method: Method
    mechanism: Mechanism
    penalty: str | None
    max_size: int | None
    at_least: int = 0
    always: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    @property
    def choice(self) -> Choice:
        """All but the price."""
        groups = tuple(group_of(each) for each in self.one_of)
        models = Subsets(max_size=self.max_size, always=self.always, at_least=self.at_least, one_of=groups)
        return Choice(self.method, self.mechanism, models, penalty_of(self.penalty))

    @property
    def budget(self) -> Budget:
        """The whole price."""
        return Budget(self.epsilon, self.delta or 0)


@dataclass(frozen=True, slots=True)
class LedgerOptions:
    """Public. Which ledger a command charges, whether it was named, and the totals it gets if it is new."""

    path: str
    named: bool = True
    total_epsilon: Decimal | None = None
    total_delta: Decimal | None = None

    @classmethod
    def from_options(cls, data: str | None, options: dict[str, Any]) -> Self:
        """From the options of a command, which are taken out: the ledger named, or the one that belongs to the data."""
        path, epsilon, delta = (options.pop(name) for name in ("ledger", "total_epsilon", "total_delta"))
        beside = "" if path else str(ledger_beside(data or options.get("moments") or ""))
        if not path and data and data_place(data) is None and not os.path.exists(beside):
            raise LedgerError(
                f"Rows on a server have no folder for a ledger to stand in: name the ledger to open, such as --ledger {beside}."
            )
        return cls(
            path or beside,
            path is not None,
            None if epsilon is None else exact_epsilon(epsilon, "--total-epsilon"),
            None if delta is None else exact_delta(delta, "--total-delta"),
        )

    @property
    def shown(self) -> str:
        """The place without credentials."""
        return shown_address(self.path) if is_address(self.path) else self.path

    @property
    def place(self) -> str:
        """The same, wherever a command is given."""
        return self.shown if is_address(self.path) else os.path.abspath(self.path)

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files of the ledger, those that SQLite keeps beside it too, for what is written to keep away from."""
        no_file = is_address(self.path) or os.path.isdir(self.path)  # a folder is refused where it is opened
        endings = () if no_file else ("", "-wal", "-shm", "-journal")
        return [(f"{self.path}{ending}", "the ledger's") for ending in endings]

    def existing(self) -> Ledger | None:
        """The ledger if there is one; what an interrupted creation left behind is none."""
        try:
            return Ledger(self.path, announce=tell)
        except NoLedgerYet:
            return None

    def account(self, price: Budget, label: str) -> Account:
        """Who pays: the ledger that is there, or one that the first commit will open with what was stated, or with this price."""
        ledger = self.existing()
        if ledger is None:
            self._require_only(label)
            self._require_folder()
            epsilon = price.epsilon if self.total_epsilon is None else self.total_epsilon
            delta = price.delta if self.total_delta is None else self.total_delta
            return Account(NewLedger(self.path, Budget(epsilon, delta), tell), label, analyst())
        for name, stated in (("epsilon", self.total_epsilon), ("delta", self.total_delta)):
            if stated is not None and stated != getattr(ledger, name):
                raise LedgerError(
                    f"{self.shown} already exists with {name} {plain(getattr(ledger, name))}. A budget cannot be changed once "
                    f"open: leave --total-{name} out."
                )
        return Account(ledger, label, analyst())

    def _require_only(self, label: str) -> None:
        """A second ledger for the same data is opened for those who name it, and for nobody by mistake."""
        others = [] if self.named or is_address(self.path) else others_beside(Path(self.path).absolute(), label)
        if others:
            raise LedgerError(
                f"{label!r} is charged to {others[0]!r} already: name that ledger with --ledger, or another one to open a second."
            )

    def _require_folder(self) -> None:
        """The ledger will be opened when its first release is committed; that it cannot be is said now."""
        folder = Path(self.path).absolute().parent
        if not is_address(self.path) and not (folder.is_dir() and os.access(folder, os.W_OK)):
            problem = "may not be written to" if folder.is_dir() else "does not exist"
            raise LedgerError(
                f"The folder {str(Path(self.path).parent)!r} {problem}: name another ledger with --ledger."
            )

    def confirm(self, account: Account, price: Budget, yes: bool) -> None:
        """Say what will be spent, and ask for a yes. Without a terminal only `--yes` is one."""
        for warning in warnings(price.epsilon, price.delta):
            tell(warning)
        if yes:
            return
        cost = cost_text(price.epsilon, price.delta)
        if not on_terminal():
            raise NotConfirmed(
                f"Not confirmed: no terminal to ask. Add `--yes` to spend epsilon {plain(price.epsilon)}. Nothing was spent."
            )
        tell(pairs([("privacy", cost), ("budget", self._afterwards(account, price))]))
        if not click.confirm(f"Spend epsilon {plain(price.epsilon)}?", err=True):
            raise NotConfirmed("Not confirmed. Nothing was spent.")

    def _afterwards(self, account: Account, price: Budget) -> str:
        ledger = account.ledger
        if isinstance(ledger, NewLedger):
            after = EXACT.subtract(ledger.totals.epsilon, price.epsilon)
            larger = "" if self.total_epsilon is not None else " (a larger total must be set now: --total-epsilon)"
            total = f"opens {self.shown} with a total of epsilon {plain(ledger.totals.epsilon)}"
            return f"{total}; {about(max(after, Decimal(0)))} remains afterwards{larger}"
        assert ledger is not None
        return f"{self.shown}, in which {remaining_text(ledger)} remains"


def ledger_place(file: str) -> str:
    """The ledger that was named, or the one that belongs to the data that was."""
    if Path(file).suffix == ".toml":
        raise click.UsageError("A ledger belongs to data, not to a study file: give DATA, or the ledger itself.")
    named = is_address(file) or Path(file).suffix in LEDGER_ENDINGS or begins_with(Path(file), b"SQLite format 3")
    return file if named else str(ledger_beside(file))


LEDGER_ENDINGS = (".db", ".sqlite", ".sqlite3", ".ledger")


def spent_text(ledger: Ledger) -> str:
    """What all entries cost together, in few digits, never shown as less than it is."""
    spent = ledger.spent()
    return f"epsilon={about(spent.epsilon, ROUND_UP)}, delta={about(spent.delta, ROUND_UP)}"


def remaining_text(ledger: Ledger) -> str:
    """What remains, in few digits, never shown as more than it is."""
    rest = ledger.remaining()
    if ledger.spent().method == "zCDP" and not rest.delta:
        return f"epsilon={about(rest.epsilon)} (all of delta is reserved by zCDP accounting)"
    return f"epsilon={about(rest.epsilon)}, delta={about(rest.delta)}"


def analyst() -> str:
    """Who runs this, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
