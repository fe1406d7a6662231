"""Private. Rows to exact sums, by one door; private from here to randomize.

`dpselect.gather` is this folder and, because the sentence wants a verb, a function too: `dpselect.gather(table, study)`
is `gather` in `rows.py`. A module can be called when its class says so; nothing else can keep both names.
"""

import sys
from types import ModuleType
from typing import Any

from dpselect.assume.study import Study


class _Gather(ModuleType):
    def __call__(self, source: Any, study: Study, summary: Any = None, progress: Any = None) -> Any:
        """Read a table once, into exact private moments or another summary; see `dpselect.gather.rows.gather`."""
        # Here, for whoever needs one room of the folder would import all of them.
        from dpselect.gather.rows import gather

        return gather(source, study, summary, progress)


sys.modules[__name__].__class__ = _Gather
