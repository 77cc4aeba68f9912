"""Sessions: what is posted, retries, answers and repairs."""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
import unittest
from typing import Any

from streamer_client import Answer, Cancelled, Event, Gone, Session, StreamerError, Unavailable, streamer
from streamer_client.transport import Transport

from .fixture import Fixture
from .server import background, publish_call


class Inputs(Fixture):
    def test_kinds(self) -> None:
        session, call = self.fresh()
        session.progress(call, "half way", 50)
        session.progress("2.0", percent=60)
        session.result(call, {"found": 3})
        session.result(call, {"found": 3})
        session.result(publish_call(session, "call_2"), "no", status="denied")
        self.assertTrue(session.interrupt(calls=["99.0"], reason="late")["accepted"])
        events = self.events(session)
        progress = [(e.get("message"), e["percent"]) for e in events if e.type == "tool_call_progress"]
        self.assertEqual(progress, [("half way", 50), (None, 60)])
        results = [(e["status"], e["tool_result"]) for e in events if e.type == "tool_call_result"]
        self.assertEqual(results, [("completed", {"found": 3}), ("denied", "no")])
        self.assertEqual([e["target"] for e in events if e.type == "unmatched"], [{"calls": ["99.0"]}])

    def test_refused(self) -> None:
        session = self.server.session(self.id())
        with self.assertRaisesRegex(StreamerError, "400: .*unknown field.*speed|400: .*speed"):
            session.interrupt(speed="fast")
        with self.assertRaisesRegex(StreamerError, "400: "):
            session.end("tired")
        with self.assertRaises(ValueError):
            streamer("localhost:8080")

    def test_names(self) -> None:
        with self.assertRaisesRegex(ValueError, "session is empty"):
            self.server.session("")
        for name in (".", "..", "a/../b", "...", "ü?#%2e"):
            session = self.server.session(name)
            session.interrupt()
            self.assertEqual(next(iter(session.events()))["session"], name)

    def test_unknown_id(self) -> None:
        with self.assertRaisesRegex(LookupError, "has no call 'nope'"):
            self.server.session(self.id()).call("nope", timeout=0)

    def test_repeated_id(self) -> None:
        session, _ = self.fresh()
        session.result(session.call("call_1"), 1)
        session.follow([{"id": "m2", "choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "id": "call_1", "function": {"name": "search", "arguments": '{"q":"second"}'}}]},
            "finish_reason": "tool_calls"}]}])
        with session.events(types=["tool_call_args_complete"]) as events:  # stored is not folded yet
            next(e for e in events if "second" in e["args_text"])
        self.assertEqual(session.run(session.call("call_1"), lambda args: args["q"]), "second")


class Answers(Fixture):
    def waiting(self, name: str = "") -> tuple[Session, Event]:
        """Returns a call that waits for a person."""
        session = self.server.session(self.id() + name)
        session.follow([
            {"type": "start", "messageId": "m"},
            {"type": "tool-input-available", "toolCallId": "call_1", "toolName": "send", "input": {"to": "x"}},
            {"type": "tool-approval-request", "approvalId": "int-1", "toolCallId": "call_1"},
        ], format="vercel-ui")
        return session, next(iter(session.events(types=["tool_call_awaiting_input"])))

    def test_decisions(self) -> None:
        for fields, want in [
            ({"decision": "approve", "by": "ann"}, Answer("approve", by="ann")),
            ({"decision": "edit", "args": {"to": "y"}}, Answer("edit", args={"to": "y"})),
            ({"decision": "reply", "value": [1, None]}, Answer("reply", value=[1, None])),
            ({"decision": "deny", "value": "too early"}, Answer("deny", value="too early")),
        ]:
            with self.subTest(fields["decision"]):
                session, call = self.waiting(fields["decision"])
                waiting = background(session.wait_for_answer, call)
                session.answer(call, **fields)
                self.assertEqual(waiting(), want)
                self.assertEqual(session.wait_for_answer(call), want)
                self.assertEqual(asyncio.run(session.wait_for_answer_async(dict(call))), want)

    def test_edited_args_reach_the_tool(self) -> None:
        session, call = self.waiting()
        session.answer(interrupt_id="int-1", decision="edit", args={"to": "y"})
        session.wait_for_answer(call)
        self.assertEqual(session.run(call, lambda args: args), {"to": "y"})

    def test_denied_call_does_not_run(self) -> None:
        session, call = self.waiting()
        session.answer(call, decision="deny", value="too early")
        with self.assertRaises(Cancelled) as raised:
            session.run(call, self.fail)
        error = raised.exception
        self.assertEqual((error.status, error.code, error.detail), ("denied", "denied", "too early"))

    def test_closed_in_another_way(self) -> None:
        session, call = self.waiting()
        waiting = background(session.wait_for_answer, call)
        session.interrupt(call=call["call"])
        with self.assertRaises(Cancelled):
            waiting()

    def test_timeout(self) -> None:
        session, call = self.waiting()
        with self.assertRaises(TimeoutError):
            session.wait_for_answer(call, timeout=0)


class Repairs(Fixture):
    HISTORY: list[dict[str, Any]] = [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"q":"fjord"}'}}]},
    ]

    def test_result_of_the_log(self) -> None:
        session, call = self.fresh()
        session.result(call, "a long, narrow inlet")
        repaired = session.repair(self.HISTORY, shape="openai", provider="openai")
        self.assertEqual(repaired[2:], [{"role": "tool", "tool_call_id": "call_1", "content": "a long, narrow inlet"}])
        self.assertIs(repaired[0], self.HISTORY[0])

    def test_refused(self) -> None:
        session, reasons = self.server.session(self.id()), list[str]()
        self.assertIs(session.repair(self.HISTORY, shape="no shape", on_unrepaired=reasons.append), self.HISTORY)
        self.assertIn("no shape", reasons[0])
        unsuitable: list[Any] = [object()]
        with self.assertLogs("streamer_client", "WARNING") as logged:
            self.assertIs(session.repair(unsuitable), unsuitable)
            self.assertIs(session.repair(unsuitable), unsuitable)
        self.assertEqual(len(logged.output), 1)

    def test_no_server(self) -> None:
        server = Answering([503] * 100)
        self.addCleanup(server.close)
        server.retry_after = "60"
        reasons: list[str] = []
        repaired = streamer(server.url).session("x").repair(self.HISTORY, on_unrepaired=reasons.append)
        self.assertIs(repaired, self.HISTORY)
        self.assertIn("reason 503", reasons[0])


class Answering:
    """A server that answers with one status after the other, and then 202."""

    def __init__(self, statuses: list[int]) -> None:
        self.statuses, self.requests, self.retry_after = statuses, list[dict[str, str]](), "0"
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append(dict(self.headers))
                status = outer.statuses.pop(0) if outer.statuses else 202
                if status == 0:
                    self.close_connection = True
                    return
                body = b'{"seq":7}' if status == 202 else json.dumps({"error": f"reason {status}"}).encode()
                self.send_response(status)
                self.send_header("Retry-After", outer.retry_after)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Retries(unittest.TestCase):
    def serve(self, statuses: list[int]) -> Answering:
        server = Answering(statuses)
        self.addCleanup(server.close)
        return server

    def test_same_key_until_stored(self) -> None:
        server = self.serve([503, 0, 429, 0])
        session = streamer(server.url + "/behind/a/proxy", token=lambda: "secret").session("a/b")
        self.assertEqual(session.end(), {"seq": 7})
        self.assertEqual(len(server.requests), 5)
        self.assertEqual(len({r["Idempotency-Key"] for r in server.requests}), 1)
        self.assertEqual({r["Authorization"] for r in server.requests}, {"Bearer secret"})

    def test_no_retry_of_a_refusal(self) -> None:
        server = self.serve([403])
        with self.assertRaisesRegex(StreamerError, "403: reason 403"):
            streamer(server.url).session("x").interrupt()
        self.assertEqual(len(server.requests), 1)

    def test_expired_events(self) -> None:
        server = self.serve([429, 503, 410])
        with self.assertRaisesRegex(Gone, "410: reason 410 .discard the state"):
            next(iter(streamer(server.url).session("x").events(after=3)))
        self.assertEqual([r["Last-Event-ID"] for r in server.requests], ["3", "3", "3"])

    def test_bound(self) -> None:
        server = self.serve([503] * 100)
        server.retry_after = "7"
        with self.assertRaisesRegex(Unavailable, "503: POST /x failed 1 times: reason 503"):
            Transport(server.url, None).post("/x", b"{}", "key", retry_for=6.9)

    def test_results_have_keys_of_their_content(self) -> None:
        server = self.serve([])
        session = streamer(server.url).session("x")
        for value in (1, 1, 2):
            session.result("2.0", value)
        keys = [r["Idempotency-Key"] for r in server.requests]
        self.assertEqual(keys[0], keys[1])
        self.assertNotEqual(keys[0], keys[2])


if __name__ == "__main__":
    unittest.main()
