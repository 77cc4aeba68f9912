"""Is checked by mypy --strict, and not run: each type of event has its fields."""

from __future__ import annotations

from typing import Literal

from streamer_client import Event, streamer
from streamer_client.bodies import ToolCallStart


def told(event: Event) -> str:
    body = event.body
    if body["type"] == "tool_call_result":
        status: Literal["completed", "error", "denied", "cancelled", "timeout"] = body["status"]
        print(body["tool_resullt"])  # type: ignore[typeddict-item]
        return f"{body['id']} {status} after {body.get('duration_ms')} ms"
    if body["type"] == "run_finished":
        print(body["tool_result"])  # type: ignore[typeddict-item]
        return ", ".join(body.get("pending", []))
    if body["type"] == "tool_call_resullt":  # type: ignore[comparison-overlap]
        return ""
    return body["session"]


def started(body: ToolCallStart) -> str:
    return streamer().session(body["session"]).run(body, lambda args: body["kind"])
