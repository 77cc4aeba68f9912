"""The signal that ends a tool."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar

from .errors import Stopped

_current: ContextVar[Stop | None] = ContextVar("streamer_client_stop", default=None)


def current_stop() -> Stop | None:
    """Returns the signal of the call that runs in this context, None outside a call.

    It is for tools that a framework calls, where no argument can pass the signal.
    """
    return _current.get()


class Stop(threading.Event):
    """A threading.Event that is set when the call is closed. `reason` is then the reason.

    `seen` reports whether the tool has noticed it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reason: str | None = None
        self.seen = False
        self._guard = threading.Lock()
        self._listeners: list[Callable[[], object]] = []

    def set(self, reason: str = "stopped") -> None:
        """Sets the signal once, and calls the listeners."""
        with self._guard:
            if self.reason is not None:
                return
            self.reason = reason
            super().set()
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def is_set(self) -> bool:
        """Reports whether the signal is set."""
        self.seen = self.seen or super().is_set()
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the signal, for at most the timeout in seconds, and reports whether it is set."""
        super().wait(timeout)
        return self.is_set()

    def on_set(self, listener: Callable[[], object]) -> None:
        """Calls the listener when the signal is set, or now if it is set. It must not block."""
        with self._guard:
            if self.reason is None:
                self._listeners.append(listener)
                return
        listener()

    def raise_if_set(self) -> None:
        """Raises Stopped if the signal is set."""
        if self.is_set():
            raise Stopped(self.reason)
