"""Interrupts of a run by Ctrl-C: between steps, without loss of what was computed.

Before the first step Ctrl-C ends the call at once, as it does in all of Python. From then on it
waits until the steps under way are kept; a second one does not wait for them. While what was
computed is written and returned, all of them wait.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupt:
    """Effect of Ctrl-C now.

    Attributes
    ----------
    stop : bool
        Whether the run is to end.
    """

    def __init__(self, begun: bool = False) -> None:
        self.stop, self._begun, self._breaks = False, begun, False

    def pressed(self, *_: Any) -> None:
        """Take a signal."""
        if not self._begun:
            raise KeyboardInterrupt
        if self.stop and self._breaks:
            self._breaks = False
            raise KeyboardInterrupt
        self.stop = True

    @contextmanager
    def steps(self) -> Iterator[None]:
        """Go on from piece to piece of a run, until it is over or to end."""
        self._begun = True
        try:
            yield
        except KeyboardInterrupt:
            self.stop = True

    @contextmanager
    def breaking(self) -> Iterator[None]:
        """Take steps, which a second signal ends in their midst."""
        try:
            self._breaks = True
            yield
        finally:
            self._breaks = False


@contextmanager
def listening(*, held: bool = False) -> Iterator[Interrupt]:
    """Listen to Ctrl-C, unless another one decides what it does.

    Where it is `held`, it only is remembered: while something is written.
    """
    interrupt = Interrupt(held)
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield interrupt
        return
    signal.signal(signal.SIGINT, interrupt.pressed)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
