"""Middleware for agents of LangChain 1 (`langchain.agents.create_agent`).

    agent = create_agent(model, tools, middleware=[StreamerMiddleware(streamer(url))])

Before the model it repairs the history, and afterwards it publishes the answer. A tool call is executed by `run`: a
tool that calls `current_stop()` gets the signal that ends it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage, messages_from_dict, messages_to_dict
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp

from . import Cancelled, Event, Suspended, Session, Streamer, ToolError
from .session import GRACE
from .threads import in_thread

log = logging.getLogger("streamer_client")


class StreamerMiddleware(AgentMiddleware):
    """Publishes to a session, or to the session of a server with the id of the thread as name.

    Set publish to False if `follow` or the tap publishes the stream of the model.
    """

    def __init__(
        self,
        target: Session | Streamer,
        *,
        publish: bool = True,
        provider: str | None = None,
        grace: float = GRACE,
    ) -> None:
        super().__init__()
        self._target, self._publish, self._provider, self._grace = target, publish, provider, grace

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        session = self._session()
        response = handler(self._repaired(session, request))
        self._published(session, response)
        return response

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        session = self._session()
        response = await handler(await in_thread(self._repaired, session, request))
        await in_thread(self._published, session, response)
        return response

    def after_agent(self, state: Any, runtime: Any) -> None:
        if self._publish:
            self._session().end()

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        if self._publish:
            await in_thread(self._session().end)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        session = self._session()
        execution = _Execution(session, request)
        if execution.call is None:
            return handler(request)

        def tool(args: Any) -> Any:
            try:
                return execution.content(handler(execution.edited(args)))
            except GraphBubbleUp as interrupt:  # the graph calls the tool again when it continues
                raise Suspended from interrupt

        try:
            return execution.message(session.run(execution.call, tool, grace=self._grace))
        except (Cancelled, ToolError) as error:
            return execution.failure(error)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        session = self._session()
        execution = await in_thread(_Execution, session, request)
        if execution.call is None:
            return await handler(request)

        async def tool(args: Any) -> Any:
            try:
                return execution.content(await handler(execution.edited(args)))
            except GraphBubbleUp as interrupt:
                raise Suspended from interrupt

        try:
            return execution.message(await session.run_async(execution.call, tool, grace=self._grace))
        except (Cancelled, ToolError) as error:
            return execution.failure(error)

    def _session(self) -> Session:
        if isinstance(self._target, Session):
            return self._target
        return self._target.session(str(get_config()["configurable"]["thread_id"]))

    def _repaired(self, session: Session, request: Any) -> Any:
        """Returns the request with a history that the provider accepts."""
        before = messages_to_dict(request.messages)
        known = {id(d): message for d, message in zip(before, request.messages)}
        after = session.repair(before, shape="langchain", provider=self._provider)
        return request.override(messages=[known.get(id(d)) or messages_from_dict([d])[0] for d in after])

    def _published(self, session: Session, response: Any) -> None:
        response = getattr(response, "model_response", response)
        messages = getattr(response, "result", [response])
        if self._publish:
            session.follow([m.model_dump(mode="json") for m in messages if m.type == "ai"], format="langchain")


class _Execution:
    """The execution of one tool call."""

    def __init__(self, session: Session, request: Any) -> None:
        self.request = request
        self.call: Event | None = None
        self.answer: Any = None  # of the handler, if it was called here
        try:
            self.call = session.call(request.tool_call["id"])
        except LookupError as error:
            log.warning("%s: its tool runs unobserved", error)

    def edited(self, args: Any) -> Any:
        """Returns the request with the args that a person has edited. Those that the graph has changed stay."""
        if self.call is None or args == self.call.get("tool_args", args):
            return self.request
        return self.request.override(tool_call={**self.request.tool_call, "args": args})

    def content(self, answer: Any) -> Any:
        """Returns the content of the handler's answer. It raises ToolError if the answer is an error."""
        self.answer = answer
        message = answer if isinstance(answer, ToolMessage) else in_command(answer, self.request.tool_call["id"])
        if message is None:
            return ""
        if message.status == "error":
            raise ToolError(text_of(message.content))
        return message.content

    def message(self, value: Any) -> Any:
        """Returns the answer of the handler, or a message with the value if another process called it."""
        return self.answer if self.answer is not None else self._message(text_of(value), "success")

    def failure(self, error: Exception) -> Any:
        """Returns the answer of a handler that failed, or a message with the error."""
        if isinstance(error, ToolError) and self.answer is not None:
            return self.answer
        return self._message(str(error), "error")

    def _message(self, content: str, status: str) -> Any:
        call = self.request.tool_call
        return ToolMessage(content=content, tool_call_id=call["id"], name=call["name"], status=status)


def in_command(command: Any, tool_call_id: str) -> Any:
    """Returns the message for a call in a Command, None if it has none."""
    update = command.update if isinstance(getattr(command, "update", None), dict) else {}
    messages = (m for m in update.get("messages", []) if isinstance(m, ToolMessage))
    return next((m for m in messages if m.tool_call_id == tool_call_id), None)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
