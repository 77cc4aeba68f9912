"""Follow: the stream of a provider reaches the server once and in order."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import unittest
from typing import Any

from streamer_client import Event, Session, StreamerError, Unavailable, streamer
from streamer_client.publish import MAX_BODY, MAX_WAITING, Publisher

from .proxy import Proxy
from .server import WITHIN, Server, background, chunk

WORDS = [f"word{n} " for n in range(300)]


def text_chunks() -> list[dict[str, Any]]:
    """Returns a streamed text, and a call with args in pieces."""
    chunks = [{"id": "m", "choices": [{"index": 0, "delta": {"content": word}}]} for word in WORDS]
    for n, args in enumerate(['{"q":', '"fj', 'ord"}']):
        call = {"index": 0, "function": {"arguments": args}}
        if n == 0:
            call = {"index": 0, "id": "call_1", "function": {"name": "search", "arguments": args}}
        chunks.append({"id": "m", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    chunks.append({"id": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return chunks


def sse_body(chunks: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks) + b"data: [DONE]\n\n"


class Follow(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    def check(self, session: Session) -> None:
        """Checks that the text and the call were stored once."""
        text, found = "", []
        for event in session.events():
            found.append(event)
            if event.type == "agent_response_chunk":
                self.assertEqual(event["offset"], len(text))
                text += event["content"]
            self.assertNotEqual(event.type, "rejected", event)
            if event.type == "message_finished":
                break
        self.assertEqual(text, "".join(WORDS))
        calls = [e["tool_args"] for e in found if e.type == "tool_call_args_complete"]
        self.assertEqual(calls, [{"q": "fjord"}])

    def events(self, session: Session, last: str) -> list[Event]:
        found = []
        for event in session.events():
            found.append(event)
            if event.type == last:
                break
        return found

    def test_kinds_of_pieces(self) -> None:
        body = sse_body(text_chunks())
        cut = [body[i : i + 777] for i in range(0, len(body), 777)]
        for name, source in {
            "dicts": text_chunks(),
            "bytes": cut,
            "texts": [c.decode() for c in cut],
            "response": io.BytesIO(body),
            "objects": [Chunk(c) for c in text_chunks()],
        }.items():
            with self.subTest(name):
                session = self.server.session(f"pieces {name}")
                session.follow(source, format="openai-chat")
                self.check(session)

    def test_asynchronous(self) -> None:
        async def stream():
            for c in text_chunks():
                yield c

        session = self.server.session("asynchronous")
        asyncio.run(session.follow_async(stream()))
        self.check(session)

        async def tee() -> list[Any]:
            return [c async for c in self.server.session("asynchronous tee").tee(stream())]

        self.assertEqual(asyncio.run(tee()), text_chunks())
        self.check(self.server.session("asynchronous tee"))

    def test_kill(self) -> None:
        session = self.server.session("kill")

        def stream():
            for n, c in enumerate(text_chunks()):
                if n in (100, 200):
                    self.server.restart()
                yield c

        self.assertEqual(list(session.tee(stream())), text_chunks())
        self.check(session)

    def test_lost_answers(self) -> None:
        proxy = Proxy(self.server.url, [0, 0, 20])
        self.addCleanup(proxy.close)
        streamer(proxy.url).session("lost answers").follow(text_chunks())
        self.assertGreater(proxy.connections, 3)
        self.check(self.server.session("lost answers"))

    def test_failed_stream(self) -> None:
        def stream():
            yield chunk("call_1", "search", "{}")
            raise ConnectionResetError("the model is gone")

        session = self.server.session("failed")
        with self.assertRaisesRegex(ConnectionResetError, "the model is gone"):
            session.follow(stream())
        finished = self.events(session, "run_finished")[-1]
        self.assertEqual((finished["status"], finished["reason"]["code"]), ("error", "run_error"))

    def test_reader_leaves(self) -> None:
        session = self.server.session("left")
        for _ in session.tee(text_chunks()):
            break
        self.assertEqual(self.events(session, "run_finished")[-1]["status"], "cancelled")

        async def read() -> None:
            async def stream():
                yield text_chunks()[0]
                await asyncio.Event().wait()

            task = asyncio.create_task(self.server.session("left async").follow_async(stream()))
            async for event in self.server.session("left async").events(types=["agent_response_chunk"]):
                break
            task.cancel()
            await asyncio.wait([task])

        asyncio.run(read())
        self.assertEqual(self.events(self.server.session("left async"), "run_finished")[-1]["status"], "cancelled")

    def test_namespaces(self) -> None:
        session = self.server.session("namespaces")
        session.follow([chunk("call_1", "task", "{}")], format="openai-chat")
        session.follow([chunk("call_2", "search", "{}", "m2")], namespace="sub|1", parent_call="call_1")
        event = session.call("call_2", timeout=WITHIN)
        self.assertEqual(event["namespace"], "sub|1")

    def test_accepted(self) -> None:
        session = self.server.session("accepted")
        self.assertEqual(list(session.tee(text_chunks(), accepted=True)), text_chunks())
        session.end()
        with self.assertRaises(LookupError):
            session.call("call_1", timeout=0)

    def test_refused(self) -> None:
        session = self.server.session("refused")
        with self.assertRaisesRegex(StreamerError, "400: Streamer-Format"):
            session.follow(text_chunks(), format="x" * 600)


class Chunk:
    """An object of the SDK of OpenAI."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body

    def to_dict(self) -> dict[str, Any]:
        return self._body


class Publishing(unittest.TestCase):
    def test_coalesces_and_waits(self) -> None:
        bodies, entered, go = [], threading.Event(), threading.Event()

        def post(body: bytes, key: str) -> None:
            entered.set()
            go.wait(WITHIN)
            bodies.append((body, key))

        publisher = Publisher(post)
        publisher.put(b"first")
        self.assertTrue(entered.wait(WITHIN))
        piece = b"x" * MAX_BODY
        for _ in range(MAX_WAITING // MAX_BODY):
            self.assertFalse(publisher.full())
            publisher.put(piece)
        self.assertTrue(publisher.full())
        waiting = background(publisher.put, b"last")
        go.set()
        waiting()
        publisher.close()
        self.assertEqual(b"".join(b for b, _ in bodies), b"first" + piece * (MAX_WAITING // MAX_BODY) + b"last")
        self.assertEqual(len({key for _, key in bodies}), len(bodies))
        self.assertLessEqual(max(len(b) for b, _ in bodies), MAX_BODY)

    def test_error_is_raised_at_the_end(self) -> None:
        def post(body: bytes, key: str) -> None:
            raise Unavailable(503, "no")

        publisher = Publisher(post)
        for _ in range(100):
            publisher.put(b"x" * MAX_BODY)
        with self.assertRaises(Unavailable):
            publisher.close()


if __name__ == "__main__":
    unittest.main()
