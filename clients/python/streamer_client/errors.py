"""The errors of the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class StreamerError(Exception):
    """The server refuses a request. `status` is that of HTTP, 0 without an answer.

    `retry_after` is the time in seconds after which the same request may succeed, None if it never does.
    """

    def __init__(self, status: int, text: str, retry_after: float | None = None) -> None:
        super().__init__(f"streamer: {status}: {text}")
        self.status = status
        self.text = text
        self.retry_after = retry_after


class Unavailable(StreamerError):
    """The server gave no usable answer in the time for retries. The input may be stored."""


class Gone(StreamerError):
    """The events after the cursor are no longer stored, or the cursor is not known.

    Discard the state that was built from earlier events, and call `events()` without `after`.
    """


class ToolError(Exception):
    """The tool failed in another process. The text is the result that it stored."""


class Cancelled(Exception):
    """The call was closed without a result of its tool, or before it.

    `status` is that of the closing result, such as `cancelled` or `timeout`. `code` is that of its reason, and
    `event` is the whole event.
    """

    def __init__(self, event: Mapping[str, Any]) -> None:
        reason = event.get("reason") or {}
        super().__init__(reason.get("text") or f"call {event.get('call')} was closed as {event.get('status')}")
        self.event = event
        self.status: str = event.get("status", "")
        self.code: str = reason.get("code", "")
        self.detail: str = reason.get("detail", "")


class Stopped(Exception):
    """A tool ended because its call was closed. `Stop.raise_if_set` raises it."""


class Suspended(Exception):
    """A tool ends without a result and will run again later. `run` gives its claim back, and raises the cause."""
