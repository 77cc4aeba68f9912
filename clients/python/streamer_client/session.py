"""One session of a server."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from . import encoding, repairing
from .errors import Cancelled, ToolError
from .events import Event, Events
from .publish import Tee
from .running import BEFORE_ARGS, Run, start_in_loop, start_in_thread
from .threads import in_thread
from .transport import RETRY_FOR, Transport

T = TypeVar("T")
Call = Mapping[str, Any]  # any event of a call

Decision = Literal["approve", "deny", "edit", "reply"]
BEFORE_ANSWER = (*BEFORE_ARGS, "tool_call_awaiting_input")
GRACE = 10.0  # seconds


@dataclass(frozen=True)
class Answer:
    """The answer of a person to a call: `args` for `edit`, `value` for `reply`, `by` if it is known."""

    decision: str
    args: Any = None
    value: Any = None
    by: str | None = None


class Session:
    """Publishes to a session, reads its events, and runs its calls. All threads may use it."""

    def __init__(self, transport: Transport, name: str) -> None:
        if not name:
            raise ValueError("session is empty")
        self._transport = transport
        segment = quote(name, safe="")
        if name in (".", ".."):  # which would not be names in a path
            segment = segment.replace(".", "%2E")
        self._path = "/v1/sessions/" + segment
        self.name = name

    # Reading

    def events(self, *, after: int = 0, types: Iterable[str] = ()) -> Events:
        """Returns the events after a sequence, stored ones first. `for` and `async for` iterate over them.

        Without types it has all but the synthetic messages.
        """
        return Events(self._transport, self._path, after, types)

    def call(self, tool_call_id: str, *, timeout: float = 10.0) -> Event:
        """Returns the newest call with an id of the provider, when its args are complete.

        It raises LookupError if there is none in time, because the stream of the model was not published here.
        """
        found: Event | None = None
        with self.events(types=["tool_call_args_complete"]) as events:
            timer = threading.Timer(timeout, events.close)
            timer.daemon = True
            timer.start()
            for event in events.read():
                if event.get("id") == tool_call_id:
                    found = event
                if found and events.live:
                    break
            timer.cancel()
        if found is None:
            raise LookupError(f"session {self.name} has no call {tool_call_id!r} with complete args")
        return found

    def args(self, call: Call) -> Any:
        """Returns the args of an event with complete args, or their text if they are free text.

        It raises ToolError if the model wrote args that are not valid.
        """
        if "tool_args" in call:
            return call["tool_args"]
        if call.get("args_valid") is False:
            raise ToolError(f"the args are not valid: {call.get('args_error', '')}")
        if "args_ref" not in call:
            return call.get("args_text", "")
        text = self._value(call, "args").decode()
        try:
            args = json.loads(text)
            return json.loads(args) if call.get("double_encoded") else args
        except ValueError:
            return text

    def tool_result(self, event: Call) -> Any:
        """Returns the value in a result."""
        if "tool_result_ref" in event:
            return json.loads(self._value(event, "result"))
        return event.get("tool_result")

    def _value(self, event: Call, part: str) -> bytes:
        if not isinstance(event, Event) or not event.seq:
            raise ValueError(f"the {part} of this event are stored beside it: pass an event of events()")
        return self._transport.request("GET", f"{self._path}/events/{event.seq}/{part}")

    # Publishing

    def follow(self, source: Any, **options: Any) -> None:
        """Reads a stream to its end, publishes it, and returns when all is stored. See tee."""
        for _ in self.tee(source, **options):
            pass

    async def follow_async(self, source: Any, **options: Any) -> None:
        """Does what follow does, for an asynchronous stream."""
        async for _ in self.tee(source, **options):
            pass

    def tee(
        self,
        source: Any,
        *,
        format: str | None = None,
        namespace: str | None = None,
        parent_call: str | None = None,
        accepted: bool = False,
        pick: Callable[[Any], Any] | None = None,
    ) -> Tee:
        """Returns the pieces of a stream, which are published while `for` or `async for` reads them.

        A source is a response, or an iterable of bytes, texts, dicts or objects of an SDK. Of a piece that only
        contains one, pick returns what to publish, None for nothing. With accepted another publisher, such as the
        tap, publishes the stream: the pieces are passed on, and nothing is published.
        """
        names = {"Streamer-Format": format, "Streamer-Namespace": namespace, "Streamer-Parent-Call": parent_call}
        headers = {name: value for name, value in names.items() if value is not None}

        def post(body: bytes, key: str) -> object:
            return self._transport.post(self._path + "/deltas", body, key, headers)

        def end(reason: str, retry_for: float) -> object:
            return self.end(reason, namespace=namespace, retry_for=retry_for)

        if accepted:
            return Tee(source, post, lambda *_: None, lambda _: None)
        return Tee(source, post, end, pick)

    def interrupt(self, **fields: Any) -> dict[str, Any]:
        """Closes open calls: those of a `run`, a `message_id`, or `calls`; all without one. `reason` is a text."""
        return self._post("interrupt", fields)

    def result(
        self,
        call: Call | str,
        value: Any,
        *,
        status: Literal["success", "error", "denied"] = "success",
        retry_for: float | None = None,
    ) -> dict[str, Any]:
        """Stores the result of a call, by default with retries until it is stored."""
        body = {"call": name_of(call), "content": encoding.value(value), "status": status}
        return self.store_result(body, retry_for)

    def store_result(self, body: dict[str, Any], retry_for: float | None = None) -> dict[str, Any]:
        """Stores the body of a result. The same body is stored once, a different one is another result."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]
        return self._post("results", body, f"result:{body['call']}:{digest}", retry_for)

    def progress(
        self,
        call: Call | str,
        message: str | None = None,
        percent: float | None = None,
        *,
        retry_for: float | None = RETRY_FOR,
    ) -> dict[str, Any]:
        """States that the tool of a call is alive. The time to its deadline starts again."""
        body = {"call": name_of(call), "message": message, "percent": percent}
        return self._post("progress", {k: v for k, v in body.items() if v is not None}, retry_for=retry_for)

    def end(
        self,
        reason: str = "completed",
        *,
        namespace: str | None = None,
        retry_for: float | None = RETRY_FOR,
    ) -> dict[str, Any]:
        """Ends the run, or the messages of an agent below the root: `completed`, `error` or `cancelled`."""
        headers = {} if namespace is None else {"Streamer-Namespace": namespace}
        return self._post("end", {"reason": reason}, retry_for=retry_for, headers=headers)

    def answer(
        self,
        call: Call | str | None = None,
        *,
        decision: Decision,
        interrupt_id: str | None = None,
        args: Any = None,
        value: Any = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Answers a call that waits for a person, named by an event of it or by its interrupt_id.

        It raises StreamerError with status 409 where the call was answered before."""
        name: dict[str, Any] = {"interrupt_id": interrupt_id} if call is None else {"call": name_of(call)}
        optional = {"args": args, "value": value, "by": by}
        body = {**name, "decision": decision, **{k: v for k, v in optional.items() if v is not None}}
        return self._post("answer", body)

    def _post(
        self,
        kind: str,
        body: Mapping[str, Any],
        key: str | None = None,
        retry_for: float | None = RETRY_FOR,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        data = json.dumps(body).encode()
        return self._transport.post(f"{self._path}/{kind}", data, key or uuid.uuid4().hex, headers, retry_for)

    # Calls

    def run(self, call: Call, tool: Callable[..., T], *, grace: float = GRACE) -> T:
        """Executes a call at most once over all processes, stores the result, and returns it.

        The tool is called with the args, and with `stop` and `progress` if it has parameters of these names. It has
        `grace` seconds to end after `stop` is set. If another process has the call, this one waits for the result, in
        which a number is a text and None is "".
        It raises Cancelled if the call is closed, ToolError if the tool failed elsewhere, and the tool's own error.
        """
        result: T = Run(self, call, grace).execute(start_in_thread(tool))
        return result

    async def run_async(self, call: Call, tool: Callable[..., Awaitable[T]], *, grace: float = GRACE) -> T:
        """Does what run does, for a coroutine function. Its task is cancelled when the call is closed."""
        run = Run(self, call, grace)
        answer: T = await run.guard(in_thread(run.execute, start_in_loop(tool)))
        return answer

    def wait_for_answer(self, call: Call, *, timeout: float | None = None) -> Answer:
        """Returns the answer of a person to a call, also one that came before.

        It raises Cancelled if the call is closed in another way, and TimeoutError after the timeout in seconds.
        """
        with self.events_of(call, BEFORE_ANSWER, "tool_call_answered", "tool_call_result") as events:
            timer = threading.Timer(timeout or 0, events.close)
            timer.daemon = True
            if timeout is not None:
                timer.start()
            try:
                for event in events:
                    if answer := answer_in(event, call):
                        return answer
            finally:
                timer.cancel()
        raise TimeoutError(f"call {call['call']} has no answer after {timeout} s")

    async def wait_for_answer_async(self, call: Call) -> Answer:
        """Does what wait_for_answer does. asyncio.wait_for limits the time."""
        async for event in self.events_of(call, BEFORE_ANSWER, "tool_call_answered", "tool_call_result"):
            if answer := answer_in(event, call):
                return answer
        raise AssertionError("the events of a session do not end")

    def events_of(self, call: Call, before: Iterable[str], *types: str) -> Events:
        """Returns events of some types that follow the event of a call, if its own type is among those before."""
        seq = call.seq if isinstance(call, Event) and call.type in before else 0
        return self.events(after=seq, types=types)

    def repair(
        self,
        messages: list[T],
        *,
        shape: str | None = None,
        provider: str | None = None,
        on_unrepaired: Callable[[str], object] | None = None,
    ) -> list[T]:
        """Returns a history in which each call has one result, those of the session's event log first.

        Messages that need no change stay the same objects. If the server does not repair, it returns the history,
        and calls on_unrepaired with the reason or logs it once. It never raises an error.
        """
        return repairing.repair(self._transport, self.name, messages, shape, provider, on_unrepaired)


def name_of(call: Call | str) -> str:
    """Returns the name of a call that is unique in its session."""
    return call if isinstance(call, str) else str(call["call"])


def answer_in(event: Event, call: Call) -> Answer | None:
    """Returns the answer in an event of the call. It raises Cancelled if the event closes the call."""
    if event.get("call") != call["call"]:
        return None
    if event.type == "tool_call_result":
        raise Cancelled(event)
    return Answer(event["decision"], event.get("tool_args"), event.get("value"), event.get("by"))
