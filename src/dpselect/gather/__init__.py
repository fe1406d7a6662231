"""Rows to exact integer moments. Private from here to randomize.

`dpselect.gather` is this folder and, because the sentence wants a verb, a function too: `dpselect.gather(table, assumptions)`
is `gather_table`. A module can be called when its class says so; nothing else can keep both names.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.sources.stream import Progress
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table


class _Gather(ModuleType):
    def __call__(
        self, source: Any, assumptions: Assumptions, progress: Callable[[Progress], None] | None = None
    ) -> Moments:
        """Read a table once, into exact private moments; see `gather_table`."""
        return gather_table(source, assumptions, progress)


sys.modules[__name__].__class__ = _Gather
