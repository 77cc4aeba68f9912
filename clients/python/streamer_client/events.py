"""The events of a session, without gap or duplicate, over any number of connections."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import socket
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, cast

from .bodies import Body
from .errors import StreamerError
from .sse import Frame, frames
from .threads import in_thread
from .transport import Transport, refusal

FIRST_RETRY = 0.5  # seconds, until the server sends its own
MAX_RETRY = 30.0


class Event(dict[str, Any]):
    """The body of an event. `type` is that of its frame, and `seq` its cursor."""

    def __init__(self, body: dict[str, Any], type: str = "", seq: int = 0) -> None:
        super().__init__(body)
        self.type = type or str(body.get("type", ""))
        self.seq = seq

    @property
    def body(self) -> Body:
        """The event itself, with the types of its fields, which `body["type"]` distinguishes.

        A synthetic message is a tool message, and has none of them.
        """
        return cast(Body, self)


class Events:
    """Iterates over the events of a session, with `for` or `async for`.

    The iteration ends when `close` is called, in any thread. It raises Gone if events after the cursor are no longer
    stored, and StreamerError if the server refuses the request.
    """

    def __init__(self, transport: Transport, path: str, after: int = 0, types: Iterable[str] = ()) -> None:
        self._transport = transport
        self._path, self._types = path, tuple(types)
        self._closed = threading.Event()
        self._guard = threading.Lock()
        self._socket: socket.socket | None = None
        self.last = after  # the cursor: sequence of the last event that the reader has
        self.live = False  # all stored events were read

    def close(self) -> None:
        """Ends the iteration."""
        self._closed.set()
        with self._guard:
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)  # wakes the reader; a close does not
                except OSError:
                    pass  # the connection is lost already

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        for event in self.read():
            if event.type != "stream.live":
                self.last = event.seq
                yield event

    async def __aiter__(self) -> AsyncIterator[Event]:
        reader = self.read()
        try:
            while (event := await in_thread(lambda: next(reader, None))) is not None:
                if event.type != "stream.live":
                    self.last = event.seq
                    yield event
        except asyncio.CancelledError:
            self.close()  # the thread still reads
            raise

    def read(self) -> Iterator[Event]:
        """Yields the events after `last`, and stream.live whenever all stored events were read."""
        cursor, retry, failures = self.last, FIRST_RETRY, 0
        while not self._closed.is_set():
            wait = 0.0
            try:
                for frame in self._connection(cursor):
                    retry = retry if frame.retry is None else frame.retry / 1000
                    failures = 0
                    if frame.event == "stream.end":
                        break
                    if frame.event == "stream.live":
                        self.live = True
                        yield Event({}, frame.event)
                    elif frame.id is not None and frame.data is not None and int(frame.id) > cursor:
                        cursor = int(frame.id)
                        if frame.event != "synthetic" or frame.event in self._types:
                            yield Event(json.loads(frame.data), frame.event, cursor)
            except StreamerError as error:
                if error.retry_after is None:
                    raise
                wait = error.retry_after
            except (OSError, http.client.HTTPException):
                pass  # the connection is lost
            self.live = False
            pause = min(MAX_RETRY, retry * 2 ** min(failures, 10)) * random.uniform(1, 1.25)
            failures += 1
            self._closed.wait(max(wait, pause))

    def _connection(self, cursor: int) -> Iterator[Frame]:
        """Yields the frames of one connection."""
        connection = self._transport.connect()
        try:
            with self._guard:
                if self._closed.is_set():
                    return
                self._socket = connection.sock
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": str(cursor)} if cursor else {})}
            query = "?types=" + ",".join(self._types) if self._types else ""
            response = self._transport.send(connection, "GET", f"{self._path}/events{query}", headers=headers)
            if response.status != 200:
                raise refusal(response, response.read())
            for frame in frames(iter(lambda: response.read1(1 << 16), b"")):
                if frame.event == "stream.open" and frame.data and self._socket:
                    # The server sends something in each interval.
                    self._socket.settimeout(max(1.0, 3 * json.loads(frame.data)["heartbeat_ms"] / 1000))
                yield frame
        finally:
            with self._guard:
                self._socket = None
            connection.close()
