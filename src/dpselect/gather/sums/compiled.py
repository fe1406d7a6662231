"""Private. Functions of the compiled modules, where there was a compiler; elsewhere their NumPy twins serve."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class CompiledFunction:
    """Private. A compiled function that can travel: on another machine it is looked for again, and may not be there."""

    def __init__(self, module: str, name: str, function: Callable[..., Any]) -> None:
        self._module, self._name, self._function = module, name, function

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        return self._function(*arguments)

    def __reduce__(self) -> tuple[Callable[[str, str], CompiledFunction | None], tuple[str, str]]:
        return compiled_function, (self._module, self._name)


def compiled_function(module: str, name: str) -> CompiledFunction | None:
    """The function, or None where its module was not built."""
    try:
        found = import_module(f"dpselect.gather.sums.{module}")
    except ImportError:
        return None
    return CompiledFunction(module, name, getattr(found, name))
