"""HTTP requests to one server, with retries.

Requests are repeated with the same Idempotency-Key, so a repeated input is stored once. The server compares keys for
2 minutes. The default time for retries is therefore shorter.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from .errors import Gone, StreamerError, Unavailable

RETRY_FOR = 100.0  # seconds
CONNECT_TIMEOUT = 10.0
ANSWER_TIMEOUT = 30.0
MAX_PAUSE = 5.0
MAX_IDLE = 8  # connections
BUSY = frozenset({429, 502, 503, 504})  # the same request may succeed later


def refusal(response: http.client.HTTPResponse, body: bytes) -> StreamerError:
    """Returns the error of an answer. The server never sends a date as Retry-After."""
    try:
        text = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        text = body[:1000].decode(errors="replace").strip()
    if response.status == 410:
        return Gone(410, f"{text} (discard the state of the session and read it without a cursor)")
    seconds = response.headers["Retry-After"] or ""
    wait = float(seconds) if seconds.isdecimal() else 0.0
    return StreamerError(response.status, text, wait if response.status in BUSY else None)


class Transport:
    """The connections to a server. All threads may use it."""

    def __init__(self, url: str, token: str | Callable[[], str] | None, context: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the URL of a server: it begins with http:// or https://")
        self._host, self._port = parts.hostname, parts.port
        self._tls = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._prefix = parts.path.rstrip("/")
        self._token = token
        self._guard = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()

    def connect(self) -> http.client.HTTPConnection:
        """Returns a connection that is open. Its requests time out."""
        connection: http.client.HTTPConnection
        if self._tls:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT_TIMEOUT, context=self._tls)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_TIMEOUT)
        connection.connect()
        connection.sock.settimeout(ANSWER_TIMEOUT)
        return connection

    def send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        """Sends a request, and returns the answer, of which only the head is read."""
        token = self._token() if callable(self._token) else self._token
        access = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, self._prefix + path, body, {**access, **(headers or {})})
        return connection.getresponse()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        retry_for: float | None = RETRY_FOR,
    ) -> bytes:
        """Returns the body of a successful answer. retry_for None repeats the request until there is an answer."""
        began, failures = time.monotonic(), 0
        while True:
            try:
                response, answer = self._exchange(method, path, body, headers or {})
                if response.status < 300:
                    return answer
                failure = refusal(response, answer)
            except (OSError, http.client.HTTPException) as error:
                failure = StreamerError(0, f"{type(error).__name__}: {error}", 0.0)
            if failure.retry_after is None:
                raise failure
            failures += 1
            pause = max(failure.retry_after, backoff(failures))
            if retry_for is not None and time.monotonic() + pause - began > retry_for:
                raise Unavailable(failure.status, f"{method} {path} failed {failures} times: {failure.text}") from failure
            time.sleep(pause)

    def post(
        self,
        path: str,
        body: bytes,
        key: str,
        headers: dict[str, str] | None = None,
        retry_for: float | None = RETRY_FOR,
    ) -> dict[str, Any]:
        """Stores an input, and returns the answer."""
        sent = {"Content-Type": "application/octet-stream", "Idempotency-Key": key, **(headers or {})}
        answer: dict[str, Any] = json.loads(self.request("POST", path, body, sent, retry_for))
        return answer

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        with self._guard:
            if self._process != os.getpid():  # a fork must not use the connections of its parent
                self._process, self._idle = os.getpid(), []
            connection = self._idle.pop() if self._idle else None
        connection = connection or self.connect()
        try:
            response = self.send(connection, method, path, body, headers)
            if response.length is None and not response.chunked:
                raise http.client.IncompleteRead(b"")  # the connection was lost within the head
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        with self._guard:
            if connection.sock is not None and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return response, answer
        connection.close()
        return response, answer

    def __del__(self) -> None:
        for connection in getattr(self, "_idle", ()):
            connection.close()


def backoff(failures: int) -> float:
    """Returns the seconds before the next try. The random part separates clients that failed together."""
    longest: float = min(MAX_PAUSE, 0.1 * 2 ** min(failures, 10))
    return longest * random.uniform(0.5, 1)
