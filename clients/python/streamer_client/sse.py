"""Server-Sent Events, as the HTML standard defines them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a final \r may be the first half of \r\n


@dataclass
class Frame:
    """One event. `id` is None if the frame has none, and `retry` is in milliseconds."""

    event: str = "message"
    data: str | None = None
    id: str | None = None
    retry: int | None = None


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yields the complete lines of a body. Chunks end at any byte."""
    rest = b""
    for chunk in chunks:
        *complete, rest = _LINE_END.split(rest + chunk)
        for line in complete:
            yield line.decode(errors="replace")


def frames(chunks: Iterable[bytes]) -> Iterator[Frame]:
    """Yields the frames of a body that have data or a retry. A frame without its end is dropped."""
    frame, first = Frame(), True
    for line in lines(chunks):
        line, first = (line.removeprefix("\ufeff") if first else line), False
        if not line:
            if frame.data is not None or frame.retry is not None:
                yield frame
            frame = Frame()
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            frame.data = value if frame.data is None else f"{frame.data}\n{value}"
        elif field == "event":
            frame.event = value
        elif field == "id" and "\0" not in value:
            frame.id = value
        elif field == "retry" and value.isascii() and value.isdigit():
            frame.retry = int(value)
