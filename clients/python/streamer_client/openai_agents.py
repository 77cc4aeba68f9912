"""Tools of the OpenAI Agents SDK.

    agent = Agent(name="agent", tools=[wrap_tool(get_weather, session)])
    result = Runner.run_streamed(agent, question)
    async for event in session.tee(result.stream_events(), pick=raw_response, format="openai-responses"):
        ...

A tool that calls `current_stop()` gets the signal that ends it. A coroutine function is cancelled.
"""

from __future__ import annotations

import copy
import json
import logging
from typing import TYPE_CHECKING, Any

from . import Cancelled, Session, ToolError
from .session import GRACE
from .threads import in_thread

if TYPE_CHECKING:
    from agents import FunctionTool
    from agents.tool_context import ToolContext

log = logging.getLogger("streamer_client")


def raw_response(event: Any) -> Any:
    """Returns the event of the model in an event of the run, None if there is none."""
    return event.data if event.type == "raw_response_event" else None


def wrap_tool(tool: FunctionTool, session: Session, *, grace: float = GRACE) -> FunctionTool:
    """Returns a tool whose calls are executed by `run`."""

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        try:
            call = await in_thread(session.call, context.tool_call_id)
        except LookupError as error:
            log.warning("%s: its tool runs unobserved", error)
            return await tool.on_invoke_tool(context, arguments)

        async def execute(args: Any) -> Any:
            edited = args != call.get("tool_args", args)
            return await tool.on_invoke_tool(context, json.dumps(args) if edited else arguments)

        try:
            return await session.run_async(call, execute, grace=grace)
        except (Cancelled, ToolError) as error:
            return str(error)

    wrapped = copy.copy(tool)
    wrapped.on_invoke_tool = invoke
    return wrapped
