"""Tests of repair.py. STREAMER_URL is a running streamer. A class replaces NATS, so that nothing has to be installed."""

from __future__ import annotations

import json
import os
import unittest
from types import SimpleNamespace

import repair

HTTP = os.environ.get("STREAMER_URL", "http://127.0.0.1:8080")

CALL = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"q":'}}
HISTORY = [
    {"role": "user", "content": "Find it."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "user", "content": "Never mind. ü"},
]


class Nats:
    """A NATS connection that forwards requests to streamer over HTTP."""

    def __init__(self, max_payload: int = 1 << 20, error: int = 0) -> None:
        self.max_payload, self.error, self.requests = max_payload, error, 0

    async def request(self, subject: str, body: bytes, timeout: float) -> SimpleNamespace:
        assert subject == "streamer.repair", subject
        self.requests += 1
        if self.error:
            return SimpleNamespace(headers={"Nats-Service-Error-Code": str(self.error), "Nats-Service-Error": "no"}, data=b"")
        return SimpleNamespace(headers=None, data=json.dumps(repair.over_http(HTTP, body, timeout)).encode())


class Repair(unittest.IsolatedAsyncioTestCase):
    def check(self, messages: list, report: dict) -> None:
        self.assertEqual([m["role"] for m in messages], ["user", "assistant", "tool", "user"])
        self.assertEqual(messages[1]["tool_calls"][0]["function"]["arguments"], "{}")
        self.assertIn("was not run", messages[2]["content"])
        self.assertIs(messages[0], HISTORY[0])
        self.assertIs(messages[3], HISTORY[2])
        self.assertEqual([o["op"] for o in report["ops"]], ["result_added", "args_changed"])

    async def test_over_nats(self) -> None:
        nc = Nats()
        self.check(*await repair.repair(nc, HISTORY, http="http://127.0.0.1:1"))
        self.assertEqual(nc.requests, 1)

    async def test_too_large_for_nats(self) -> None:
        nc = Nats(max_payload=4200)
        self.check(*await repair.repair(nc, HISTORY, http=HTTP))
        self.assertEqual(nc.requests, 0)

    async def test_answer_too_large_for_nats(self) -> None:
        self.check(*await repair.repair(Nats(error=413), HISTORY, http=HTTP))

    async def test_refused(self) -> None:
        with self.assertRaisesRegex(repair.RepairError, "503: no"):
            await repair.repair(Nats(error=503), HISTORY, http=HTTP)
        with self.assertRaisesRegex(repair.RepairError, "400: .*soon"):
            await repair.repair(Nats(), HISTORY, {"late": "soon"}, http=HTTP)


if __name__ == "__main__":
    unittest.main()
