"""Repairs a history with streamer, over NATS, or over HTTP if the history is too large for NATS.

    pip install nats-py
    python3 repair.py --nats-url nats://127.0.0.1:4222 < history.json > repaired.json

In a program:

    nc = await nats.connect("nats://127.0.0.1:4222")
    messages, report = await repair(nc, messages, {"late": "note"})
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nats.aio.client import Client

Message = dict[str, Any]

HEADERS = 4 << 10  # maximum size of the headers of a NATS message, in bytes


class RepairError(Exception):
    """The reason why streamer did not repair a history. code is an HTTP status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"streamer: repair: {code}: {text}")
        self.code = code


async def repair(
    nc: Client,
    messages: list[Message],
    options: dict[str, Any] | None = None,
    *,
    session: str = "",
    http: str = "http://127.0.0.1:8080",
    timeout: float = 30,
) -> tuple[list[Message], dict[str, Any]]:
    """Returns the repaired messages and the report. docs/repair.md describes the options and the fields of the report.

    Messages that need no change stay the same objects. With a session, real results come from its event log. The
    timeout is in seconds. Raises RepairError if streamer refuses.
    """
    request = {"messages": messages, "options": {**(options or {}), "output": "ops"}, "session": session}
    body = json.dumps(request).encode()
    try:
        if len(body) > nc.max_payload - HEADERS:
            raise RepairError(413, "too large for NATS")
        answer = await over_nats(nc, body, timeout)
    except RepairError as e:
        if e.code != 413:
            raise
        answer = await asyncio.to_thread(over_http, http, body, timeout)
    return apply(answer["ops"], messages), answer["report"]


async def over_nats(nc: Client, body: bytes, timeout: float) -> dict[str, Any]:
    answer = await nc.request("streamer.repair", body, timeout=timeout)
    headers = answer.headers or {}
    if code := headers.get("Nats-Service-Error-Code"):
        raise RepairError(int(code), headers.get("Nats-Service-Error", ""))
    return json.loads(answer.data)


def over_http(url: str, body: bytes, timeout: float) -> dict[str, Any]:
    request = urllib.request.Request(url.rstrip("/") + "/v1/repair", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        raise RepairError(e.code, e.read().decode(errors="replace")) from e


def apply(steps: list[dict[str, Any]], messages: list[Message]) -> list[Message]:
    """Returns the messages after the steps of an answer."""
    repaired: list[Message] = []
    for step in steps:
        if "copy" in step:
            start, end = step["copy"]
            repaired += messages[start:end]
        elif "replace" in step:
            repaired.append(step["replace"]["with"])
        else:
            repaired.append(step["insert"])
    return repaired


async def main() -> None:
    import nats

    flags = argparse.ArgumentParser(description="Repairs a history, from standard input to standard output.")
    flags.add_argument("--nats-url", default=os.environ.get("STREAMER_NATS_URL", "nats://127.0.0.1:4222"), metavar="URL")
    flags.add_argument("--http", default=os.environ.get("STREAMER_URL", "http://127.0.0.1:8080"), metavar="URL")
    flags.add_argument("--session", default="")
    given = flags.parse_args()
    nc = await nats.connect(given.nats_url)
    try:
        messages, report = await repair(
            nc, json.load(sys.stdin), {"late": "note"}, session=given.session, http=given.http
        )
    finally:
        await nc.close()
    json.dump(messages, sys.stdout)
    json.dump(report, sys.stderr)


if __name__ == "__main__":
    asyncio.run(main())
