"""Everything that dpselect raises on purpose.

DpselectError
├── AssumptionError   a public statement is missing, impossible or contradicts another
├── DataError         the table does not have the form that the assumptions describe
├── BudgetExceeded    the ledger refuses: what is asked costs more than what is left
└── LedgerError       the ledger cannot be read, written or trusted

A message is one sentence that says what was asked, what is allowed and what to do. It quotes public values only: names,
bounds, levels and prices stated by a person, never a cell, a count or a range that was read from rows.
"""


class DpselectError(Exception):
    """The root of the tree."""


class AssumptionError(DpselectError, ValueError):
    """A public statement is missing, impossible or contradicts another."""


class DataError(DpselectError, ValueError):
    """The table does not have the form that the assumptions describe."""


class BudgetExceeded(DpselectError):
    """The ledger refuses: what is asked costs more than what is left."""


class LedgerError(DpselectError):
    """The ledger cannot be read, written or trusted."""
