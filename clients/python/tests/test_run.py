"""Run: a call is executed at most once, and its tool stops when the call is closed."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
import unittest
from collections.abc import Iterator
from typing import Any

from streamer_client import (
    Cancelled, Event, Events, Gone, Suspended, Session, Stop, StreamerError, ToolError, current_stop, streamer,
)

from .fixture import Fixture
from .proxy import Proxy
from .server import WITHIN, background, publish_call


class Run(Fixture):
    def test_value(self) -> None:
        session, call = self.fresh()

        def tool(args: Any, progress: Any) -> Any:
            progress("half way", 50)
            return [args, None]

        self.assertEqual(session.run(call, tool), [{"q": "fjord"}, None])
        self.check_result(session, "completed", [{"q": "fjord"}, None])
        progress = [e for e in self.events(session) if e.get("percent") == 50]
        self.assertEqual(progress[0]["message"], "half way")
        self.assertEqual(session.run(call, self.fail), [{"q": "fjord"}, None])

    def test_error(self) -> None:
        session, call = self.fresh()
        error = KeyError("no such place")

        def tool(args: Any) -> None:
            raise error

        with self.assertRaises(KeyError) as raised:
            session.run(call, tool)
        self.assertIs(raised.exception, error)
        with self.assertRaisesRegex(ToolError, "KeyError: 'no such place'"):
            session.run(call, self.fail)
        self.check_result(session, "error", "KeyError: 'no such place'")

    def test_nothing_and_builtins(self) -> None:
        session, call = self.fresh()
        self.assertIsNone(session.run(call, lambda args: None))
        self.assertEqual(session.run(call, self.fail), "")
        again = publish_call(session, "call_2", args="[1, 2]")
        self.assertEqual(session.run(again, sum), 3)
        self.assertEqual(session.run(again, self.fail), "3")

    def test_large_values(self) -> None:
        session = self.server.session(self.id())
        text = "ü" * 100_000
        call = publish_call(session, args=json.dumps({"q": text}))
        self.assertIn("args_ref", call)
        self.assertEqual(session.run(call, lambda args: args["q"]), text)
        self.assertEqual(session.run(call, self.fail), text)
        self.check_result(session, "completed", text)

    def test_too_large_result(self) -> None:
        session, call = self.fresh()
        with self.assertRaisesRegex(StreamerError, "413"):
            session.run(call, lambda args: "x" * (2 << 20))
        with self.assertRaisesRegex(ToolError, "the result of the tool was not stored"):
            session.run(call, self.fail)

    def test_invalid_args(self) -> None:
        session = self.server.session(self.id())
        call = publish_call(session, args='{"q":nothing}')
        with self.assertRaisesRegex(ToolError, "the args are not valid: .*'o'"):
            session.run(call, self.fail)

    def test_any_event_of_the_call(self) -> None:
        session, _ = self.fresh()
        start = next(iter(session.events(types=["tool_call_start"])))
        self.assertEqual(session.run(start, lambda args: args), {"q": "fjord"})
        result = next(iter(session.events(types=["tool_call_result"])))
        self.assertEqual(session.run(result, self.fail), {"q": "fjord"})
        self.assertEqual(session.run(dict(start), self.fail), {"q": "fjord"})

    def test_unknown_call(self) -> None:
        session, call = self.fresh()
        with self.assertRaisesRegex(LookupError, "call 99.0 is not open"):
            session.run({"call": "99.0", "tool_args": {}}, self.fail)

    def test_concurrent_runs(self) -> None:
        session, call = self.fresh()
        together, executed = threading.Barrier(8), []

        def one() -> Any:
            own = self.server.session(session.name)
            together.wait()
            return own.run(call, lambda args: executed.append(args) or [len(executed)])

        self.assertEqual([wait() for wait in [background(one) for _ in range(8)]], [[1]] * 8)
        self.check_result(session, "completed", [1])

    def test_lost_answers(self) -> None:
        session, call = self.fresh()
        proxy = Proxy(self.server.url, [None, 0, 100, 0, 0])
        self.addCleanup(proxy.close)
        executed: list[Any] = []
        self.assertEqual(streamer(proxy.url).session(session.name).run(call, executed.append), None)
        self.assertEqual(executed, [{"q": "fjord"}])
        self.assertGreater(proxy.connections, 3)
        self.check_result(session, "completed", "")

    def test_lost_events(self) -> None:
        session, call = self.fresh()

        class Breaking(Events):
            def read(self) -> Iterator[Event]:
                for event in super().read():
                    yield event
                    if event.get("message") == "running":
                        raise Gone(410, "expired")

        session.events_of = lambda *_: Breaking(session._transport, session._path)  # type: ignore[method-assign]
        with self.assertLogs("streamer_client", "WARNING"):
            self.assertEqual(session.run(call, lambda args, stop: [stop.is_set()]), [False])
        self.check_result(session, "completed", [False])

    def test_exit_in_a_tool(self) -> None:
        session, call = self.fresh()
        with self.assertRaisesRegex(SystemExit, "no license"):
            session.run(call, lambda args: sys.exit("no license"))
        self.check_result(session, "error", "SystemExit: no license")

    def test_suspendd(self) -> None:
        session, call = self.fresh()

        class Interrupt(Exception):
            pass

        def ask(args: Any) -> None:
            raise Suspended() from Interrupt("asks a person")

        with self.assertRaises(Interrupt):
            session.run(call, ask)
        self.assertEqual(self.server.session(session.name).run(call, lambda args: "done"), "done")
        self.check_result(session, "completed", "done")


class Stops(Fixture):
    def running(self, session: Session, tool: Any, **options: Any) -> Any:
        """Starts a run, and returns when its tool runs. The value waits for the end of the run."""
        entered = threading.Event()

        def entering(args: Any, stop: Stop) -> Any:
            entered.set()
            return tool(stop)

        wait = background(session.run, session.call("call_1"), entering, **options)
        self.assertTrue(entered.wait(WITHIN))
        return wait

    def state(self, session: Session) -> Event:
        """Waits for the report on the tool."""
        return next(iter(session.events(types=["tool_call_late_result"])))

    def test_stopped(self) -> None:
        session, _ = self.fresh()

        def tool(stop: Stop) -> None:
            self.assertIs(current_stop(), stop)
            self.assertTrue(stop.wait(WITHIN))
            self.assertEqual(stop.reason, "user pressed stop")

        wait = self.running(session, tool)
        session.interrupt(reason="user pressed stop")
        with self.assertRaises(Cancelled) as raised:
            wait()
        error = raised.exception
        self.assertEqual((error.status, error.code, error.detail), ("cancelled", "interrupt", "user pressed stop"))
        self.assertEqual(self.state(session)["tool_state"], "stopped")

    def test_stopped_with_an_error(self) -> None:
        session, _ = self.fresh()
        wait = self.running(session, lambda stop: (stop.wait(WITHIN), stop.raise_if_set()))
        session.interrupt()
        self.assertRaises(Cancelled, wait)
        self.assertEqual(self.state(session)["tool_state"], "stopped")

    def test_finished_anyway(self) -> None:
        session, _ = self.fresh()
        wait = self.running(session, lambda stop: stop.wait(WITHIN) and "sent")
        session.interrupt()
        self.assertRaises(Cancelled, wait)
        late = self.state(session)
        self.assertEqual((late["tool_state"], late["tool_result"]), ("finished_anyway", "sent"))

    def test_unknown(self) -> None:
        session, _ = self.fresh()
        never = threading.Event()
        self.addCleanup(never.set)
        wait = self.running(session, lambda stop: never.wait(WITHIN), grace=0.01)
        session.interrupt()
        self.assertRaises(Cancelled, wait)
        self.assertEqual(self.state(session)["tool_state"], "unknown")

    def test_answered_by_another(self) -> None:
        session, call = self.fresh()
        wait = self.running(session, lambda stop: stop.wait(WITHIN) and None)
        session.result(call, "from a frontend")
        with self.assertRaises(Cancelled) as raised:
            wait()
        self.assertEqual(raised.exception.event["tool_result"], "from a frontend")

    def test_closed_before(self) -> None:
        session, call = self.fresh()
        session.interrupt()
        with self.assertRaises(Cancelled):
            session.run(call, self.fail)

    def test_asynchronous(self) -> None:
        session, call = self.fresh()
        cleaned: list[str] = []

        async def main() -> None:
            entered = asyncio.Event()

            async def tool(args: Any, stop: Stop) -> None:
                entered.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cleaned.append(str(stop.reason))
                    raise

            task = asyncio.create_task(session.run_async(call, tool))
            await entered.wait()
            session.interrupt(reason="stop")
            with self.assertRaises(Cancelled):
                await task
            self.assertEqual(cleaned, ["stop"])

        asyncio.run(main())
        self.assertEqual(self.state(session)["tool_state"], "stopped")

    def test_asynchronous_values(self) -> None:
        session, call = self.fresh()

        async def tool(args: Any, progress: Any) -> Any:
            await progress("half way", 50)
            return args

        async def fails(args: Any) -> None:
            raise KeyError("x")

        async def main() -> None:
            calls = [publish_call(session, f"call_{n}") for n in range(2, 20)]
            values = await asyncio.gather(*(session.run_async(c, tool) for c in [call, *calls]))
            self.assertEqual(values, [{"q": "fjord"}] * 19)
            with self.assertRaises(KeyError):
                await session.run_async(publish_call(session, "fails"), fails)

        asyncio.run(main())

    def test_cancelled_caller(self) -> None:
        session, call = self.fresh()

        async def main() -> None:
            entered = asyncio.Event()

            async def tool(args: Any) -> None:
                entered.set()
                await asyncio.Event().wait()

            task = asyncio.create_task(session.run_async(call, tool))
            await entered.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        self.check_result(session, "error", "aborted: the task that ran the call was cancelled")

    def test_interrupted_process(self) -> None:
        session, call = self.fresh()
        stopped: list[str] = []

        def tool(args: Any, stop: Stop) -> None:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            stop.wait(WITHIN)
            stopped.append(str(stop.reason))

        with self.assertRaises(KeyboardInterrupt):
            session.run(call, tool)
        self.assertEqual(stopped, ["the process that ran the call was stopped"])
        self.check_result(session, "error", "aborted: the process that ran the call was stopped")

    def test_cancelled_waiter(self) -> None:
        session, call = self.fresh()
        wait = self.running(session, lambda stop: stop.wait(WITHIN))

        async def main() -> None:
            task = asyncio.create_task(session.run_async(call, self.fail))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        session.interrupt()
        self.assertRaises(Cancelled, wait)


if __name__ == "__main__":
    unittest.main()
