"""The adapters, with classes that have the documented interfaces of the libraries."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import types
import unittest
from typing import Any

from streamer_client import Session, Stop, current_stop, streamer

from .fixture import Fixture
from .server import WITHIN, background


@dataclasses.dataclass
class Message:
    """A message of langchain_core."""

    content: Any
    type: str = "human"
    id: str | None = None
    tool_calls: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def model_dump(self, mode: str = "python", by_alias: bool = False) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass
class ToolMessage(Message):
    type: str = "tool"
    tool_call_id: str = ""
    name: str | None = None
    status: str = "success"


def messages_to_dict(messages: list[Message]) -> list[dict[str, Any]]:
    return [{"type": m.type, "data": m.model_dump()} for m in messages]


def messages_from_dict(messages: list[dict[str, Any]]) -> list[Message]:
    made = []
    for m in messages:
        kind = ToolMessage if m["type"] == "tool" else Message
        names = {f.name for f in dataclasses.fields(kind)}
        made.append(kind(**{k: v for k, v in m["data"].items() if k in names}))
    return made


@dataclasses.dataclass
class Request:
    """A ModelRequest or ToolCallRequest of langchain."""

    messages: list[Message] = dataclasses.field(default_factory=list)
    tool_call: dict[str, Any] = dataclasses.field(default_factory=dict)

    def override(self, **changes: Any) -> Request:
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass
class Response:
    """A ModelResponse of langchain."""

    result: list[Message]


class GraphBubbleUp(Exception):
    pass


def install() -> None:
    """Installs the modules that the adapter imports."""
    for name, members in {
        "langchain.agents.middleware": {"AgentMiddleware": type("AgentMiddleware", (), {})},
        "langchain_core.messages": {
            "ToolMessage": ToolMessage, "messages_to_dict": messages_to_dict, "messages_from_dict": messages_from_dict,
        },
        "langgraph.config": {"get_config": lambda: {"configurable": {"thread_id": "thread 1"}}},
        "langgraph.errors": {"GraphBubbleUp": GraphBubbleUp},
    }.items():
        parts = name.split(".")
        for n in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:n]), types.ModuleType(".".join(parts[:n])))
        sys.modules[name].__dict__.update(members)


install()
from streamer_client.langchain import StreamerMiddleware  # noqa: E402
from streamer_client.openai_agents import raw_response, wrap_tool  # noqa: E402

CALL = {"name": "search", "args": {"q": "fjord"}, "id": "call_1", "type": "tool_call"}


class LangChain(Fixture):
    def called(self) -> tuple[Session, StreamerMiddleware, Request]:
        """Returns a session in which the model called a tool."""
        session = self.server.session(self.id())
        middleware = StreamerMiddleware(session)
        answer = Message("", "ai", "m1", [CALL])
        middleware.wrap_model_call(Request([Message("Find it.")]), lambda request: Response([answer]))
        return session, middleware, Request(tool_call=CALL)

    def test_tool(self) -> None:
        session, middleware, request = self.called()
        answer = ToolMessage("a long, narrow inlet", tool_call_id="call_1")
        self.assertIs(middleware.wrap_tool_call(request, lambda r: answer), answer)
        again = middleware.wrap_tool_call(request, self.fail)
        self.assertEqual((again.content, again.tool_call_id, again.status), ("a long, narrow inlet", "call_1", "success"))
        self.check_result(session, "completed", "a long, narrow inlet")

    def test_asynchronous_tool(self) -> None:
        session, middleware, request = self.called()
        answer = ToolMessage([{"type": "text", "text": "found"}], tool_call_id="call_1")

        async def handler(request: Request) -> ToolMessage:
            return answer

        async def model(request: Request) -> Message:
            return Message("It is an inlet.", "ai", "m2")

        self.assertIs(asyncio.run(middleware.awrap_tool_call(request, handler)), answer)
        response = asyncio.run(middleware.awrap_model_call(Request([Message("And?")]), model))
        self.assertEqual(response.content, "It is an inlet.")
        asyncio.run(middleware.aafter_agent({}, None))
        self.check_result(session, "completed", [{"type": "text", "text": "found"}])

    def test_failed_tool(self) -> None:
        session, middleware, request = self.called()
        answer = ToolMessage("no such place", tool_call_id="call_1", status="error")
        self.assertIs(middleware.wrap_tool_call(request, lambda r: answer), answer)
        again = middleware.wrap_tool_call(request, self.fail)
        self.assertEqual((again.content, again.status), ("no such place", "error"))
        middleware.after_agent({}, None)
        self.check_result(session, "error", "no such place")

    def test_command(self) -> None:
        session, middleware, request = self.called()
        command = types.SimpleNamespace(update={"messages": [ToolMessage("moved", tool_call_id="call_1")]})
        self.assertIs(middleware.wrap_tool_call(request, lambda r: command), command)
        self.check_result(session, "completed", "moved")

    def test_stop_reaches_the_tool(self) -> None:
        session, middleware, request = self.called()

        def handler(request: Request) -> ToolMessage:
            stop = current_stop()
            assert isinstance(stop, Stop)
            stop.wait(WITHIN)
            return ToolMessage(str(stop.reason), tool_call_id="call_1")

        waiting = background(middleware.wrap_tool_call, request, handler)
        next(iter(session.events(types=["tool_call_progress"])))
        session.interrupt(reason="user")
        message = waiting()
        self.assertEqual(message.status, "error")
        self.assertIn("was cancelled", message.content)

    def test_interrupt_of_the_graph(self) -> None:
        session, middleware, request = self.called()

        def asks(request: Request) -> None:
            raise GraphBubbleUp("a person decides")

        with self.assertRaises(GraphBubbleUp):
            middleware.wrap_tool_call(request, asks)
        answer = ToolMessage("done", tool_call_id="call_1")
        self.assertIs(middleware.wrap_tool_call(request, lambda r: answer), answer)

    def test_repair(self) -> None:
        session, middleware, request = self.called()
        history = [Message("Find it."), Message("", "ai", "m1", [CALL]), Message("Never mind.")]
        sent: list[Message] = []
        middleware.wrap_model_call(Request(history), lambda r: sent.extend(r.messages) or Message("", "ai", "m2"))
        self.assertEqual([m.type for m in sent], ["human", "ai", "tool", "human"])
        self.assertIs(sent[0], history[0])

    def test_session_of_the_thread(self) -> None:
        middleware = StreamerMiddleware(streamer(self.server.url))
        middleware.wrap_model_call(Request([Message("Find it.")]), lambda r: Message("", "ai", "m1", [CALL]))
        self.assertEqual(self.server.session("thread 1").call("call_1")["tool_name"], "search")


@dataclasses.dataclass
class FunctionTool:
    """A FunctionTool of the Agents SDK."""

    name: str
    on_invoke_tool: Any


class OpenAIAgents(Fixture):
    def test_tool(self) -> None:
        session = self.server.session(self.id())
        context = types.SimpleNamespace(tool_call_id="call_1")
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "search", "arguments": '{"q":"fjord"}'}
        events = [types.SimpleNamespace(type="raw_response_event", data=e) for e in (
            {"type": "response.created", "response": {"id": "r1"}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
            {"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0,
             "arguments": item["arguments"]},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
        )]
        events.append(types.SimpleNamespace(type="run_item_stream_event", item=None))

        async def stream():
            for event in events:
                yield event

        async def invoke(context: Any, arguments: str) -> Any:
            return {"got": json.loads(arguments)}

        async def main() -> None:
            tee = session.tee(stream(), pick=raw_response, format="openai-responses")
            self.assertEqual([e async for e in tee], events)
            tool = FunctionTool("search", invoke)
            wrapped = wrap_tool(tool, session)
            self.assertEqual(wrapped.name, "search")
            self.assertIs(tool.on_invoke_tool, invoke)
            self.assertEqual(await wrapped.on_invoke_tool(context, '{"q":"fjord"}'), {"got": {"q": "fjord"}})
            wrapped = wrap_tool(FunctionTool("search", self.fail), session)
            self.assertEqual(await wrapped.on_invoke_tool(context, "{}"), {"got": {"q": "fjord"}})

        asyncio.run(main())

    def test_cancelled(self) -> None:
        session, call = self.fresh()
        cancelled: list[str] = []

        async def invoke(context: Any, arguments: str) -> None:
            session.interrupt(reason="stop")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(arguments)
                raise

        tool = wrap_tool(FunctionTool("search", invoke), session)
        output = asyncio.run(tool.on_invoke_tool(types.SimpleNamespace(tool_call_id="call_1"), "{}"))
        self.assertIn("was cancelled", output)
        self.assertEqual(cancelled, ["{}"])


if __name__ == "__main__":
    unittest.main()
