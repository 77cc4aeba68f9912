"""Executes a call at most once over all processes.

A process claims a call with a progress `running` under a message id of its own. The first one in the event log has the
call: its event_id begins with the sequence that the server answered to its process. The others wait for the result. The
process that has the call gives it back with another progress, SUSPENDED; the next claim counts. A claim outlives its
process, because it is not known what the tool did; the call is then closed by its deadline.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
import queue
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import encoding
from .errors import Cancelled, Suspended, Stopped, StreamerError, ToolError
from .events import Event
from .stop import Stop, _current
from .threads import in_thread

if TYPE_CHECKING:
    from .session import Session

log = logging.getLogger("streamer_client")

BEFORE_ARGS = ("tool_call_start", "tool_call_args_delta", "tool_call_args_complete")
TYPES = (
    "tool_call_args_complete",
    "tool_call_answered",
    "tool_call_progress",
    "tool_call_result",
    "unmatched",
)
RUNNING = "running"
SUSPENDED = "suspended, to be run again"
PROGRESS_FOR = 5.0  # seconds for the retries of a progress: a tool waits for it
ABORT_FOR = 5.0  # seconds for the retries of the result of an aborted run


@dataclass(frozen=True)
class Ended:
    """The tool has ended."""

    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Closed:
    """The call is closed."""

    event: Event


@dataclass(frozen=True)
class Lost:
    """The events cannot be read any more."""


@dataclass(frozen=True)
class Aborted:
    """The process does not want the call to continue."""

    reason: str


class Run:
    """One attempt to execute a call."""

    def __init__(self, session: Session, call: Mapping[str, Any], grace: float) -> None:
        self._session, self._grace = session, grace
        self._name = str(call["call"])
        self._with_args = call if {"tool_args", "args_text", "args_ref"} & call.keys() else None
        self._events = session.events_of(call, BEFORE_ARGS, *TYPES)
        self._feed = self._events.read()
        self._mailbox: queue.SimpleQueue[Ended | Closed | Lost | Aborted] = queue.SimpleQueue()
        self._claim = 0  # input sequence of the claim, if this process has the call
        self._aborted: str | None = None
        self._ended = False  # the tool has a result
        self._lost = False  # the events cannot be read
        self.stop = Stop()
        self.args: Any = None

    def execute(self, start: Callable[[Run], object]) -> Any:
        """Executes the call. start begins the tool, which calls ended at its end."""
        with self._events:
            closing = self._acquire()
            if closing is not None:
                return self._result_of(closing)
            threading.Thread(target=self._watch, name="streamer-run", daemon=True).start()
            try:
                self._start(start)
                return self._settle()
            except (KeyboardInterrupt, SystemExit):
                if not self._ended:
                    self._give_up("the process that ran the call was stopped")
                raise

    def ended(self, value: Any = None, error: BaseException | None = None) -> None:
        """Reports the end of the tool."""
        self._mailbox.put(Ended(value, error))

    def abort(self, reason: str) -> None:
        """Stops the tool, because its caller does not wait any longer."""
        self._aborted = reason
        self._mailbox.put(Aborted(reason))
        if not self._claim:
            self._events.close()

    async def guard(self, result: asyncio.Future[Any]) -> Any:
        """Waits for the result of execute in another thread, and aborts it if the waiting task is cancelled."""
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            self.abort("the task that ran the call was cancelled")
            # A result may be repeated for longer. The thread goes on.
            await asyncio.wait([result], timeout=self._grace + ABORT_FOR)
            result.add_done_callback(lambda done: done.exception())  # marks it as read
            raise

    def progress(self, message: str | None = None, percent: float | None = None) -> None:
        """Stores a progress. A failure does not fail the tool."""
        if self.stop.reason is not None:
            return
        try:
            self._session.progress(self._name, message, percent, retry_for=PROGRESS_FOR)
        except StreamerError as error:
            log.warning("progress of call %s not stored: %s", self._name, error)

    # The claim

    def _acquire(self) -> Event | None:
        """Returns None when this process has the call, or the result if another one has executed it."""
        owner, pending, posted = 0, 0, set[int]()
        for event in self._feed:
            if event.type == "unmatched" and event.get("input") in posted:
                raise LookupError(f"call {self._name} is not open in session {self._session.name}")
            if event.get("call") == self._name:
                if event.type == "tool_call_result":
                    return event
                if event.type == "tool_call_args_complete" or event.get("decision") == "edit":
                    self._with_args = event
                seq, message = input_of(event), event.get("message")
                pending = 0 if seq == pending else pending
                if message == RUNNING and not owner:
                    owner = seq
                elif message == SUSPENDED:
                    owner = 0
            if owner in posted:
                self._claim = owner
                break
            if not owner and not pending and self._with_args is not None and self._events.live:
                pending = self._session.progress(self._name, RUNNING)["seq"]
                posted.add(pending)
        if self._claim and self._aborted is None:
            return None
        if self._claim:
            self._suspend()
        raise Stopped(self._aborted)

    def _suspend(self) -> None:
        """Gives the claim back, for a tool that did not start or will run again."""
        self._session.progress(self._name, SUSPENDED)

    # The execution

    def _start(self, start: Callable[[Run], object]) -> None:
        try:
            self.args = self._session.args(self._with_args or {})
        except (ToolError, StreamerError, ValueError) as error:
            self.ended(error=error)
        else:
            start(self)

    def _watch(self) -> None:
        """Reports the result of the call, or that it cannot be read."""
        try:
            for event in self._feed:
                if event.type == "tool_call_result" and event.get("call") == self._name:
                    self._mailbox.put(Closed(event))
                    return
        except Exception as error:
            log.warning("call %s cannot be stopped any more: %s", self._name, error)
        self._mailbox.put(Lost())

    def _settle(self) -> Any:
        """Waits for the end of the tool or of the call, whichever comes first."""
        while True:
            item = self._mailbox.get()
            if isinstance(item, Ended):
                return self._finish(item)
            if isinstance(item, Closed):
                self.stop.set(reason_of(item.event))
                self._report(self._wait_for_tool())
                raise Cancelled(item.event)
            if isinstance(item, Aborted):
                self._give_up(item.reason)
                raise Stopped(item.reason)
            self._lost = True

    def _finish(self, tool: Ended) -> Any:
        """Stores the result of the tool, and returns it if it is the one that closed the call."""
        if isinstance(tool.error, Suspended):
            self._suspend()
            raise tool.error.__cause__ or tool.error
        self._ended = True
        stored = self._store(tool)
        while not self._lost:
            item = self._mailbox.get()
            if isinstance(item, Closed):
                if not self._is_ours(item.event, tool, stored):
                    raise Cancelled(item.event) from tool.error  # the result is a late one
                break
            self._lost = isinstance(item, Lost)
        if tool.error is not None:
            raise tool.error
        return tool.value

    def _store(self, tool: Ended) -> int:
        """Stores the result of the tool, with retries until it is stored, and returns its sequence."""
        try:
            return int(self._session.store_result(self._body(tool))["seq"])
        except StreamerError as error:
            # The call must not stay open because its result is too large, for example.
            self._session.result(self._name, f"the result of the tool was not stored: {error}", status="error")
            raise

    def _body(self, tool: Ended) -> dict[str, Any]:
        if tool.error is None:
            return {"call": self._name, "content": encoding.value(tool.value)}
        text = str(tool.error) if isinstance(tool.error, ToolError) else f"{type(tool.error).__name__}: {tool.error}"
        return {"call": self._name, "content": text, "status": "error"}

    def _is_ours(self, event: Event, tool: Ended, stored: int) -> bool:
        """Reports whether the call was closed by the result of its tool."""
        if input_of(event) == stored:
            return True
        if event.get("synthetic"):
            return False
        # A retry after 2 minutes is another input with the same content. The server returns numbers as text.
        content, closing = self._body(tool)["content"], self._session.tool_result(event)
        return bool(closing == content or closing == ("" if content is None else json.dumps(content)))

    def _wait_for_tool(self) -> Ended | None:
        """Returns the end of a tool that has to stop, None if it does not end in time."""
        try:
            while True:
                item = self._mailbox.get(timeout=self._grace)
                if isinstance(item, Ended):
                    return item
        except queue.Empty:
            return None

    def _report(self, tool: Ended | None) -> None:
        """Stores whether the tool of a closed call really ended."""
        if tool is None:
            body = {"call": self._name, "tool_state": "unknown"}
        elif tool.error is not None or tool.value is None and self.stop.seen:
            body = {"call": self._name, "tool_state": "stopped"}
        else:
            body = {**self._body(tool), "tool_state": "finished_anyway"}
        try:
            self._session.store_result(body, retry_for=100.0)
        except StreamerError as error:
            log.warning("state of the tool of call %s not stored: %s", self._name, error)

    def _give_up(self, reason: str) -> None:
        """Stops the tool, and closes the call."""
        self.stop.set(reason)
        self._wait_for_tool()
        try:
            self._session.result(self._name, f"aborted: {reason}", status="error", retry_for=ABORT_FOR)
        except StreamerError as error:
            log.warning("result of aborted call %s not stored: %s", self._name, error)

    def _result_of(self, event: Event) -> Any:
        """Returns the result that another process has stored."""
        if event["status"] == "completed":
            return self._session.tool_result(event)
        if event["status"] == "error" and not event.get("synthetic"):
            value = self._session.tool_result(event)
            raise ToolError(value if isinstance(value, str) else repr(value))
        raise Cancelled(event)


def input_of(event: Event) -> int:
    """Returns the sequence of the input that caused an event."""
    return int(event["event_id"].partition(".")[0])


def reason_of(event: Event) -> str:
    """Returns the reason why a call was closed, for people."""
    reason = event.get("reason") or {}
    return str(reason.get("detail") or reason.get("text") or event["status"])


def arguments(tool: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """Returns the offered arguments of which the tool has a parameter."""
    try:
        parameters = inspect.signature(tool).parameters
    except ValueError:  # a builtin
        return {}
    return {name: value for name, value in offered.items() if name in parameters}


def start_in_thread(tool: Callable[..., Any]) -> Callable[[Run], object]:
    """Returns a function that starts a tool in a thread."""

    def start(run: Run) -> None:
        context = contextvars.copy_context()
        context.run(_current.set, run.stop)

        def work() -> None:
            try:
                offered = arguments(tool, stop=run.stop, progress=run.progress)
                run.ended(context.run(tool, run.args, **offered))
            except BaseException as error:
                run.ended(error=error)

        threading.Thread(target=work, name="streamer-tool", daemon=True).start()

    return start


def start_in_loop(tool: Callable[..., Awaitable[Any]]) -> Callable[[Run], object]:
    """Returns a function that starts a tool as a task of the running loop."""
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()

    def start(run: Run) -> None:
        context.run(_current.set, run.stop)
        loop.call_soon_threadsafe(begin, run, context=context)

    def begin(run: Run) -> None:
        def progress(message: str | None = None, percent: float | None = None) -> asyncio.Future[None]:
            return in_thread(run.progress, message, percent)

        def done(task: asyncio.Future[Any]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            run.ended(None if error else task.result(), error)

        def cancel() -> None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:
                pass  # the loop has ended, and its tasks with it

        try:
            task = asyncio.ensure_future(tool(run.args, **arguments(tool, stop=run.stop, progress=progress)))
        except Exception as error:
            run.ended(error=error)
            return
        task.add_done_callback(done)
        run.stop.on_set(cancel)

    return start
