"""A process that runs one call. It prints a line when its tool runs, and then waits for a line of its input.

    python3 -m tests.agent URL SESSION TOOL_CALL_ID
"""

from __future__ import annotations

import json
import sys
from typing import Any

from streamer_client import Cancelled, streamer


def tool(args: Any) -> Any:
    print("running", flush=True)
    return {"args": args, "line": sys.stdin.readline().strip()}


def main(url: str, name: str, tool_call_id: str) -> None:
    session = streamer(url).session(name)
    call = session.call(tool_call_id)
    print("ready", flush=True)
    try:
        print(json.dumps(session.run(call, tool)), flush=True)
    except Cancelled as error:
        print(json.dumps({"cancelled": error.code}), flush=True)


main(*sys.argv[1:])
