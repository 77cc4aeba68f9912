"""Repairs histories before they are sent to a model."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import StreamerError
from .transport import Transport

T = TypeVar("T")

log = logging.getLogger("streamer_client")
RETRY_FOR = 5.0  # seconds: the model waits
_logged: set[str] = set()


def repair(
    transport: Transport,
    session: str,
    messages: list[T],
    shape: str | None,
    provider: str | None,
    on_unrepaired: Callable[[str], object] | None,
) -> list[T]:
    """Returns the repaired messages, or the messages if the server does not repair them."""
    try:
        request: dict[str, Any] = {"messages": messages, "session": session, "options": {"output": "ops"}}
        if shape is not None:
            request["format"] = shape
        if provider is not None:
            request["options"]["provider"] = provider
        headers = {"Content-Type": "application/json"}
        answer = transport.request("POST", "/v1/repair", json.dumps(request).encode(), headers, RETRY_FOR)
        return apply(json.loads(answer)["ops"], messages)
    except StreamerError as error:
        reason = error.text
    except (TypeError, ValueError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}"
    if on_unrepaired is not None:
        on_unrepaired(reason)
    elif session not in _logged:
        _logged.add(session)
        log.warning("history of session %s not repaired: %s", session, reason)
    return messages


def apply(steps: list[dict[str, Any]], messages: list[Any]) -> list[Any]:
    """Returns the messages after the steps of an answer."""
    repaired: list[Any] = []
    for step in steps:
        if "copy" in step:
            repaired += messages[slice(*step["copy"])]
        elif "replace" in step:
            repaired.append(step["replace"]["with"])
        else:
            repaired.append(step["insert"])
    return repaired
