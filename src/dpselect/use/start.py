"""The first lines that the shell's `dpselect` runs: a Ctrl-C while the rest is being imported ends it with one sentence."""

import os
import signal
from types import FrameType


def main() -> None:
    """Guard the second that the imports take, then run the command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    from dpselect.use.command_line import main as run

    run()


def _stop(number: int, frame: FrameType | None) -> None:
    """Nothing was read, charged or written so far, so there is nothing to clear away."""
    os.write(2, b"Stopped. Nothing was read or charged.\n")
    os._exit(1)
