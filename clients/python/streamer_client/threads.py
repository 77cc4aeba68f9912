"""Blocking calls for asyncio.

asyncio.to_thread shares a few threads, and a call that waits for another one there would wait forever.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def in_thread(function: Callable[..., T], *args: Any) -> asyncio.Future[T]:
    """Calls a function in a thread of its own. Cancelling the future does not end the thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function, *args)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the loop has ended

    threading.Thread(target=work, name="streamer", daemon=True).start()
    return future
