"""A client of streamer.

    from streamer_client import streamer

    s = streamer("http://127.0.0.1:8080").session("trip-7")
    s.follow(response)
    result = s.run(call, tool)

Inputs are stored once, however often a connection or the server fails. Events have no gap and no duplicate. A call is
executed at most once over all processes: if its process is killed, it is not executed again, and its deadline closes
it.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

from . import bodies
from .errors import Cancelled, Gone, Suspended, Stopped, StreamerError, ToolError, Unavailable
from .events import Event, Events
from .publish import Tee
from .session import Answer, Session
from .stop import Stop, current_stop
from .transport import Transport

__all__ = [
    "Answer",
    "Cancelled",
    "Event",
    "Events",
    "Gone",
    "Suspended",
    "Session",
    "Stop",
    "Stopped",
    "Streamer",
    "StreamerError",
    "Tee",
    "ToolError",
    "Unavailable",
    "bodies",
    "current_stop",
    "streamer",
]


class Streamer:
    """A server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def session(self, name: str) -> Session:
        """Returns a session, which is one chat thread. It exists when something is published to it."""
        return Session(self._transport, name)


def streamer(
    url: str = "http://127.0.0.1:8080",
    *,
    token: str | Callable[[], str] | None = None,
    context: ssl.SSLContext | None = None,
) -> Streamer:
    """Returns the server at a URL. A token that expires is a function, which is called for each request."""
    return Streamer(Transport(url, token, context))
