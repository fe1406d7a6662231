"""Everything that dpselect raises or warns of on purpose.

DpselectError
├── StudyError        a public statement is missing, impossible or contradicts another
├── DataError         the table does not have the form that the assumptions describe
├── BudgetExceeded    the ledger refuses: what is asked costs more than remains
├── LedgerError       the ledger cannot be read, written or trusted
│   └── NoLedgerYet   there is nothing where the ledger should be; with totals it can be made
├── NotConfirmed      nobody agreed to spend; nothing was spent
├── ProblemFound      a check or a verification found a problem
└── NotShown          the answer of a command could not be shown; the text says where it is

Interrupted           a signal asked a command to stop; the text says what is left behind

DpselectWarning
├── NoLedgerWarning   a release is charged to no ledger, so nothing adds it to the others
├── ManyFitsWarning   cross-validation fits a selector many times, and each fit is charged
├── LeftOutWarning    columns of a table are not considered, because nothing states what they hold
├── ShortTableWarning a table has too few rows for its columns, so little or nothing can be found
├── TwoLedgersWarning one data set is charged to two ledgers, which know nothing of each other
└── WaitingWarning    a release that was paid for goes on waiting, for rows that were not given

A message says what is wrong, with the name and place, and then what to do. It quotes public values only: names, limits, categories
and prices stated by a person, never a cell, a count or a range that was read from rows.
"""


class DpselectError(Exception):
    """The root of the tree."""


class StudyError(DpselectError, ValueError):
    """A public statement is missing, impossible or contradicts another."""


class DataError(DpselectError, ValueError):
    """The table does not have the form that the assumptions describe."""


class BudgetExceeded(DpselectError):
    """The ledger refuses: what is asked costs more than remains."""


class LedgerError(DpselectError):
    """The ledger cannot be read, written or trusted."""


class NoLedgerYet(LedgerError):
    """There is nothing where the ledger should be; with totals it can be made."""


class NotConfirmed(DpselectError):
    """Nobody agreed to spend; nothing was spent."""


class ProblemFound(DpselectError):
    """A check or a verification found a problem."""


class NotShown(DpselectError):
    """The answer of a command could not be shown; the text says where it is."""


class Interrupted(BaseException):
    """A signal asked a command to stop; the text says what is left behind. No error, so nothing catches it by mistake."""


class DpselectWarning(UserWarning):
    """The root of the warnings; what is done is allowed, and somebody should know."""


class NoLedgerWarning(DpselectWarning):
    """A release is charged to no ledger: nothing adds it up with what else was released from the same rows."""


class ManyFitsWarning(DpselectWarning):
    """Cross-validation fits a selector many times, and each fit is charged."""


class LeftOutWarning(DpselectWarning):
    """Columns of a table are not considered, because nothing states what they hold."""


class ShortTableWarning(DpselectWarning):
    """A table has too few rows for its columns, so little or nothing can be found. Nothing is charged yet when it is said."""


class TwoLedgersWarning(DpselectWarning):
    """One data set is charged to two ledgers: together they may promise more than either allows."""


class WaitingWarning(DpselectWarning):
    """A release that was paid for goes on waiting: its rounds are answered by the rows that it was charged for alone."""
