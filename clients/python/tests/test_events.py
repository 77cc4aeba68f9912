"""Events: the parser, and streams that break."""

from __future__ import annotations

import asyncio
import threading
import unittest

from streamer_client import Event, StreamerError, sse, streamer

from .proxy import Proxy
from .server import WITHIN, Server, background, chunk, publish_call


def read_until(events, last_type: str) -> list[Event]:
    """Returns the events up to the first one of a type."""
    found = []
    for event in events:
        found.append(event)
        if event.type == last_type:
            break
    return found


class Frames(unittest.TestCase):
    def test_cut_anywhere(self) -> None:
        body = "\ufeffretry: 10\r\nevent: a\rdata: x\rdata:y\r\n\r\n: hb\n\nid: 7\ndata: ü\n\ndata: cut".encode()
        want = [("a", "x\ny", None, 10), ("message", "ü", "7", None)]
        for size in range(1, len(body) + 1):
            with self.subTest(size=size):
                found = sse.frames(body[i : i + size] for i in range(0, len(body), size))
                self.assertEqual([(f.event, f.data, f.id, f.retry) for f in found], want)

    def test_fields(self) -> None:
        body = b"data\ndata:  two\nretry: 1x\nid: a\0b\nother: x\n\nretry: 5\n\n"
        found = [(f.event, f.data, f.id, f.retry) for f in sse.frames([body])]
        self.assertEqual(found, [("message", "\n two", None, None), ("message", None, None, 5)])


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    def published(self, name: str) -> list[tuple[int, str]]:
        """Publishes calls with results, and returns the sequence and id of each event."""
        session = self.server.session(name)
        for n in range(20):
            call = publish_call(session, f"call_{n}")
            session.result(call, n)
        session.end()
        return [(e.seq, e["event_id"]) for e in read_until(session.events(), "run_finished")]

    def test_broken_connections(self) -> None:
        want = self.published("broken ü/1")
        proxy = Proxy(self.server.url, [n * 397 for n in range(30)])
        self.addCleanup(proxy.close)
        found = read_until(streamer(proxy.url).session("broken ü/1").events(), "run_finished")
        self.assertEqual([(e.seq, e["event_id"]) for e in found], want)
        self.assertGreater(proxy.connections, 10)

    def test_kill(self) -> None:
        session = self.server.session("kill")
        publish_call(session, "before")
        events = session.events(types=["tool_call_start"])
        reading = background(lambda: [e["id"] for _, e in zip(range(2), events)])
        self.server.restart()
        publish_call(session, "after")
        self.assertEqual(reading(), ["before", "after"])

    def test_break_and_resume(self) -> None:
        want = self.published("resume")
        events = self.server.session("resume").events()
        found = []
        while len(found) < len(want):
            for event in events:
                found.append((event.seq, event["event_id"]))
                break
            self.assertEqual(events.last, found[-1][0])
        self.assertEqual(found, want)
        rest = self.server.session("resume").events(after=want[5][0])
        self.assertEqual([(e.seq, e["event_id"]) for e in read_until(rest, "run_finished")], want[6:])

    def test_asynchronous(self) -> None:
        want = self.published("asynchronous")

        async def read() -> list[tuple[int, str]]:
            events, found = self.server.session("asynchronous").events(), []
            for _ in range(3):
                async for event in events:
                    found.append((event.seq, event["event_id"]))
                    if event.type == "run_finished" or len(found) % 40 == 0:
                        break
            return found

        self.assertEqual(asyncio.run(read()), want[:120])

    def test_cancelled_reader(self) -> None:
        session = self.server.session("cancelled reader")

        async def read() -> None:
            async for event in session.events():
                self.fail(event)

        async def main() -> None:
            task = asyncio.create_task(read())
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())

    def test_close_ends_a_waiting_reader(self) -> None:
        publish_call(self.server.session("close"))
        events = self.server.session("close").events()
        live = threading.Event()

        def read() -> list[str]:
            found = []
            for event in events.read():
                found.append(event.type)
                if event.type == "stream.live":
                    live.set()
            return found

        reading = background(read)
        self.assertTrue(live.wait(WITHIN))
        self.assertTrue(events.live)
        events.close()
        self.assertEqual(reading()[-1], "stream.live")

    def test_synthetic_messages_on_request(self) -> None:
        session = self.server.session("synthetic")
        session.follow([chunk("call_1", "search", "{}")], format="openai-chat")
        session.interrupt()
        self.assertNotIn("synthetic", [e.type for e in read_until(session.events(), "interrupted")])
        messages = session.events(types=["synthetic"])
        self.assertEqual(read_until(messages, "synthetic")[0]["tool_call_id"], "call_1")

    def test_refused(self) -> None:
        publish_call(self.server.session("refused"))
        for events, text in [
            (self.server.session("refused").events(after=1 << 40), "cursor of another log"),
            (self.server.session("refused").events(types=["no_type"]), "no_type"),
        ]:
            with self.assertRaisesRegex(StreamerError, f"400: .*{text}"):
                next(iter(events))


if __name__ == "__main__":
    unittest.main()
