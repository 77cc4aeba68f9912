"""Values of programs and SDKs as JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any


def plain(value: Any) -> Any:
    """Returns an object of an SDK in its form on the wire."""
    if hasattr(value, "to_dict"):  # the SDKs of OpenAI and Anthropic; without the members that were not sent
        return value.to_dict()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def delta(piece: Any) -> bytes:
    """Returns a piece of a stream as the body of a delta. Text and bytes may be cut at any byte."""
    if isinstance(piece, (bytes, bytearray, memoryview)):
        return bytes(piece)
    if isinstance(piece, str):
        return piece.encode()
    return json.dumps(piece, default=plain).encode() + b"\n"


def value(result: Any) -> Any:
    """Returns what JSON can express of the value of a tool: the value, or its text."""
    try:
        return json.loads(json.dumps(result, default=plain, allow_nan=False))
    except (TypeError, ValueError):
        return str(result)
