"""The bodies of events, by their types. docs/events.md describes the fields.

Made of docs/events.schema.json by `go test ./clients -update`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class Reason(TypedDict):
    code: Literal[
        "interrupt",
        "new_message",
        "run_error",
        "run_cancelled",
        "superseded",
        "denied",
        "args_timeout",
        "args_incomplete",
        "result_timeout",
        "expired",
        "lost",
        "run_idle",
        "bad_json",
        "bad_utf8",
        "unknown_format",
        "bad_shape",
        "bad_session_token",
        "over_limit",
        "call_closed",
    ]
    text: str
    detail: NotRequired[str]


class Target(TypedDict):
    tool_call_ids: NotRequired[list[str]]
    calls: NotRequired[list[str]]
    message_id: NotRequired[str]
    run: NotRequired[str]
    namespace: NotRequired[str]
    interrupt_id: NotRequired[str]
    more: NotRequired[int]


class Ref(TypedDict):
    size: int
    sha256: str
    preview: str
    chunks: list[str]


class EventBase(TypedDict):
    event_id: str
    session: str
    timestamp: str


class MessageEvent(EventBase):
    message_id: str
    namespace: str
    choice: int


class ToolCallEvent(MessageEvent):
    call: str
    id: str
    uid: str
    index: NotRequired[float | str]
    id_synthesized: NotRequired[bool]
    tool_name: NotRequired[str]


class RunStarted(EventBase):
    type: Literal["run_started"]
    run: str


class RunFinished(EventBase):
    type: Literal["run_finished"]
    run: str
    status: Literal["completed", "error", "cancelled", "interrupted"]
    reason: NotRequired[Reason]
    pending: NotRequired[list[str]]


class MessageStarted(MessageEvent):
    type: Literal["message_started"]
    run: str
    role: str
    finish_reason: NotRequired[str]
    usage: NotRequired[Any]
    superseded: NotRequired[bool]


class MessageFinished(MessageEvent):
    type: Literal["message_finished"]
    run: str
    role: str
    finish_reason: NotRequired[str]
    usage: NotRequired[Any]
    superseded: NotRequired[bool]


class AgentResponseChunk(MessageEvent):
    type: Literal["agent_response_chunk"]
    run: NotRequired[str]
    kind: str
    part: NotRequired[int]
    offset: int
    content: str


class PartFinished(MessageEvent):
    type: Literal["part_finished"]
    run: NotRequired[str]
    kind: str
    part: NotRequired[int]
    offset: int


class HumanMessage(MessageEvent):
    type: Literal["human_message"]
    run: NotRequired[str]
    role: str
    offset: int
    content: str


class ToolCallStart(ToolCallEvent):
    type: Literal["tool_call_start"]
    run: NotRequired[str]
    kind: str
    parent_call: NotRequired[str]
    provider_executed: NotRequired[bool]
    deadline: NotRequired[str]


class ToolCallArgsDelta(ToolCallEvent):
    type: Literal["tool_call_args_delta"]
    run: NotRequired[str]
    offset: int
    args: str


class ToolCallArgsComplete(ToolCallEvent):
    type: Literal["tool_call_args_complete"]
    run: NotRequired[str]
    deadline: NotRequired[str]
    args_text: NotRequired[str]
    tool_args: NotRequired[Any]
    args_valid: bool
    args_error: NotRequired[str]
    double_encoded: NotRequired[bool]
    by: Literal["call", "message", "next", "result", "idle"]
    args_ref: NotRequired[Ref]


class ToolCallAwaitingInput(ToolCallEvent):
    type: Literal["tool_call_awaiting_input"]
    run: NotRequired[str]
    kind: NotRequired[str]
    deadline: NotRequired[str]
    interrupt_id: NotRequired[str]
    request: NotRequired[dict[str, Any]]


class ToolCallAnswered(ToolCallEvent):
    type: Literal["tool_call_answered"]
    run: NotRequired[str]
    deadline: NotRequired[str]
    tool_args: NotRequired[Any]
    by: NotRequired[str]
    interrupt_id: NotRequired[str]
    decision: Literal["approve", "deny", "edit", "reply"]
    value: NotRequired[Any]
    status: Literal["args_complete", "denied"]
    input: int


class ToolCallProgress(ToolCallEvent):
    type: Literal["tool_call_progress"]
    run: NotRequired[str]
    deadline: NotRequired[str]
    interrupt_id: NotRequired[str]
    request: NotRequired[dict[str, Any]]
    message: NotRequired[str]
    percent: NotRequired[float]
    status: NotRequired[Literal["args_complete"]]


class ToolCallResult(ToolCallEvent):
    type: Literal["tool_call_result"]
    run: NotRequired[str]
    status: Literal["completed", "error", "denied", "cancelled", "timeout"]
    synthetic: NotRequired[bool]
    reason: NotRequired[Reason]
    tool_result: NotRequired[Any]
    tool_result_ref: NotRequired[Ref]
    args_complete: bool
    duration_ms: NotRequired[int]
    args_ms: NotRequired[int]
    run_ms: NotRequired[int]


class ToolCallLateResult(ToolCallEvent):
    type: Literal["tool_call_late_result"]
    run: NotRequired[str]
    status: NotRequired[Literal["completed", "error", "denied", "cancelled"]]
    tool_result: NotRequired[Any]
    tool_result_ref: NotRequired[Ref]
    conflict: NotRequired[bool]
    tool_state: NotRequired[Literal["stopped", "finished_anyway", "unknown"]]


class ToolCallParent(ToolCallEvent):
    type: Literal["tool_call_parent"]
    run: NotRequired[str]
    parent_call: str


class OrphanResult(EventBase):
    type: Literal["orphan_result"]
    run: NotRequired[str]
    message_id: NotRequired[str]
    namespace: NotRequired[str]
    choice: NotRequired[int]
    id: NotRequired[str]
    tool_name: NotRequired[str]
    status: Literal["completed", "error", "denied", "cancelled"]
    tool_result: NotRequired[Any]
    tool_result_ref: NotRequired[Ref]


class Rejected(EventBase):
    type: Literal["rejected"]
    run: NotRequired[str]
    offset: int
    reason: Reason
    input: int


class Unmatched(EventBase):
    type: Literal["unmatched"]
    run: NotRequired[str]
    kind: str
    by: NotRequired[str]
    decision: NotRequired[Literal["approve", "deny", "edit", "reply"]]
    target: Target
    input: int


class Interrupted(EventBase):
    type: Literal["interrupted"]
    run: NotRequired[str]
    by: NotRequired[str]
    reason: NotRequired[Reason]
    closed: NotRequired[int]
    calls: NotRequired[list[str]]
    target: NotRequired[Target]
    input: int
    binding: NotRequired[dict[str, Any]]


class Resumed(EventBase):
    type: Literal["resumed"]
    run: NotRequired[str]
    by: NotRequired[str]
    reason: NotRequired[Reason]
    target: NotRequired[Target]
    input: int


class SessionErased(EventBase):
    type: Literal["session_erased"]
    run: NotRequired[str]
    input: int


Body = Union[
    RunStarted,
    RunFinished,
    MessageStarted,
    MessageFinished,
    AgentResponseChunk,
    PartFinished,
    HumanMessage,
    ToolCallStart,
    ToolCallArgsDelta,
    ToolCallArgsComplete,
    ToolCallAwaitingInput,
    ToolCallAnswered,
    ToolCallProgress,
    ToolCallResult,
    ToolCallLateResult,
    ToolCallParent,
    OrphanResult,
    Rejected,
    Unmatched,
    Interrupted,
    Resumed,
    SessionErased,
]
