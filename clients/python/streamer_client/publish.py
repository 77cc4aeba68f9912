"""Publishes the stream of a provider while it is read.

Pieces are stored in order, each once. What arrives during a request is stored by the next one.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from . import encoding
from .threads import in_thread

MAX_WAITING = 8 << 20  # bytes; beyond it the reader of the stream waits
MAX_BODY = 256 << 10  # a server accepts less than 1 MiB
CLOSE_FOR = 10.0  # seconds for the retries of an end after a failure

Post = Callable[[bytes, str], object]  # stores a delta under a key


class Publisher:
    """Stores pieces in a thread of its own."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._name = uuid.uuid4().hex
        self._changed = threading.Condition()
        self._waiting = bytearray()
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="streamer-publish", daemon=True)
        self._thread.start()

    def full(self) -> bool:
        """Reports whether put would wait."""
        return len(self._waiting) >= MAX_WAITING and self._error is None

    def put(self, piece: bytes) -> None:
        """Queues a piece. After an error the pieces are dropped, and close raises the error."""
        with self._changed:
            self._changed.wait_for(lambda: not self.full())
            if self._error is None:
                self._waiting += piece
                self._changed.notify_all()

    def close(self) -> None:
        """Waits until all is stored, and raises the error if something is not."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        number = 0
        while body := self._next():
            number += 1
            try:
                self._post(body, f"{self._name}-{number}")
            except BaseException as error:
                with self._changed:
                    self._error, self._waiting = error, bytearray()
                    self._changed.notify_all()
                return

    def _next(self) -> bytes:
        """Returns the next body, b"" at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            body = bytes(self._waiting[:MAX_BODY])
            del self._waiting[:MAX_BODY]
            self._changed.notify_all()
            return body


class Tee:
    """Passes the pieces of a stream on, with `for` or `async for`, and publishes them.

    At the end of the stream it waits until all is stored. If the stream fails, it publishes an end with `error`. If
    its reader leaves the loop before the end of the stream, it publishes an end with `cancelled`.
    """

    def __init__(
        self, source: Any, post: Post, end: Callable[[str, float], object], pick: Callable[[Any], Any] | None
    ) -> None:
        self._source, self._post, self._end, self._pick = source, post, end, pick

    def __iter__(self) -> Iterator[Any]:
        publisher = Publisher(self._post)
        try:
            for piece in pieces(self._source):
                publisher.put(self._body(piece))
                yield piece
        except BaseException as error:
            self._abort(publisher, error)
            raise
        publisher.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        publisher = Publisher(self._post)
        try:
            async for piece in async_pieces(self._source):
                body = self._body(piece)
                if publisher.full():
                    await in_thread(publisher.put, body)
                else:
                    publisher.put(body)
                yield piece
        except BaseException as error:
            await in_thread(self._abort, publisher, error)
            raise
        await in_thread(publisher.close)

    def _body(self, piece: Any) -> bytes:
        """Returns what is published of a piece."""
        picked = self._pick(piece) if self._pick else piece
        return b"" if picked is None else encoding.delta(picked)

    def _abort(self, publisher: Publisher, error: BaseException) -> None:
        """Stores what was read, and the end."""
        try:
            publisher.close()
            self._end("error" if isinstance(error, Exception) else "cancelled", CLOSE_FOR)
        except Exception:
            pass  # the error of the stream is the one that counts


def pieces(source: Any) -> Iterator[Any]:
    """Returns the pieces of an iterable, or of a response of http.client, urllib, httpx or requests."""
    if hasattr(source, "iter_bytes"):
        return iter(source.iter_bytes())
    if hasattr(source, "iter_content"):
        return iter(source.iter_content(None))
    if hasattr(source, "read1"):
        return iter(lambda: source.read1(1 << 16), b"")
    return iter(source)


async def async_pieces(source: Any) -> AsyncIterator[Any]:
    """Yields the pieces of an asynchronous iterable, or of a response of httpx or aiohttp."""
    if hasattr(source, "aiter_bytes"):
        source = source.aiter_bytes()
    elif hasattr(source, "content") and hasattr(source.content, "iter_any"):
        source = source.content.iter_any()
    async for piece in source:
        yield piece
