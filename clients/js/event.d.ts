// Made of docs/events.schema.json by `go test ./clients -update`.

export interface Reason {
  /** For programs. */
  code: "interrupt" | "new_message" | "run_error" | "run_cancelled" | "superseded" | "denied" | "args_timeout" | "args_incomplete" | "result_timeout" | "expired" | "lost" | "run_idle" | "bad_json" | "bad_utf8" | "unknown_format" | "bad_shape" | "bad_session_token" | "over_limit" | "call_closed";
  /** For people. */
  text: string;
  /** The text given by the cause, unchanged; at most 1 KiB of it. */
  detail?: string;
}

export interface Target {
  /** Ids of the provider. */
  tool_call_ids?: string[];
  /** Unique names of calls, as they were sent. */
  calls?: string[];
  /** The message to which the input was limited. */
  message_id?: string;
  /** The run to which the input was limited. */
  run?: string;
  /** The namespace to which the input was limited. */
  namespace?: string;
  /** The interrupt that an answer named. */
  interrupt_id?: string;
  /** Number of further calls; the lists hold the first 16 in all. */
  more?: number;
}

export interface Ref {
  /** Size in bytes. */
  size: number;
  /** Of the whole value, in hex. */
  sha256: string;
  /** The beginning of the value, at most 256 bytes. */
  preview: string;
  /** The SHA-256 of each chunk, in order. */
  chunks: string[];
}

export interface EventBase {
  /** The sequence in the event log, for `after`. */
  seq: number;
  /** Sequence of the input that caused the event, and the position of the event among those that the input caused. The same on every fold. */
  event_id: string;
  /** The session itself, not its token. */
  session: string;
  /** Fold time: when the causing input was stored, never earlier than the previous event. */
  timestamp: string;
}

export interface MessageEvent extends EventBase {
  /** The provider's id of the message; empty if the wire has none. */
  message_id: string;
  /** Of a sub-agent, such as a LangGraph subgraph; empty at the root. */
  namespace: string;
  /** Number of the answer, if the request asked for several. */
  choice: number;
}

export interface ToolCallEvent extends MessageEvent {
  /** Unique name of the call in the session: sequence of the input that first showed it, and its position among the calls that this input opened. */
  call: string;
  /** The provider's id of the call, or a generated one. It can repeat in a session. */
  id: string;
  /** id, or id~call if the session used id before: unique in the session. */
  uid: string;
  /** Index of a call, as on the wire. */
  index?: number | string;
  /** The wire had no id. */
  id_synthesized?: boolean;
  /** Name of the tool; absent if the wire has none. */
  tool_name?: string;
}

export interface RunStarted extends EventBase {
  type: "run_started";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run: string;
}

export interface RunFinished extends EventBase {
  type: "run_finished";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run: string;
  /** Of a result, how the call ended; of run_finished, how the run ended. Of tool_call_progress and tool_call_answered, args_complete where the call waits for a person no longer; of a denial, denied. The other open states of a call occur in no event. */
  status: "completed" | "error" | "cancelled" | "interrupted";
  /** Why a call was closed, a run ended, or an input was rejected. */
  reason?: Reason;
  /** Calls that stay open after the run. */
  pending?: string[];
}

export interface MessageStarted extends MessageEvent {
  type: "message_started";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run: string;
  /** Role of a message. */
  role: string;
  /** In the provider's form. */
  finish_reason?: string;
  /** The token counts in the provider's form. */
  usage?: any;
  /** The message was abandoned. */
  superseded?: boolean;
}

export interface MessageFinished extends MessageEvent {
  type: "message_finished";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run: string;
  /** Role of a message. */
  role: string;
  /** In the provider's form. */
  finish_reason?: string;
  /** The token counts in the provider's form. */
  usage?: any;
  /** The message was abandoned. */
  superseded?: boolean;
}

export interface AgentResponseChunk extends MessageEvent {
  type: "agent_response_chunk";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Of a call: function, custom, mcp, server and the like. Of content: text or reasoning. Of awaiting_input: what the call waits for. Of unmatched: the kind of the input. */
  kind: string;
  /** Number of the content part in its message; absent means 0. */
  part?: number;
  /** Bytes of text before content or args; of part_finished the length of the part; of rejected the position of the fault in the input. */
  offset: number;
  /** A fragment of the model's text, or of a human message. */
  content: string;
}

export interface PartFinished extends MessageEvent {
  type: "part_finished";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Of a call: function, custom, mcp, server and the like. Of content: text or reasoning. Of awaiting_input: what the call waits for. Of unmatched: the kind of the input. */
  kind: string;
  /** Number of the content part in its message; absent means 0. */
  part?: number;
  /** Bytes of text before content or args; of part_finished the length of the part; of rejected the position of the fault in the input. */
  offset: number;
}

export interface HumanMessage extends MessageEvent {
  type: "human_message";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Role of a message. */
  role: string;
  /** Bytes of text before content or args; of part_finished the length of the part; of rejected the position of the fault in the input. */
  offset: number;
  /** A fragment of the model's text, or of a human message. */
  content: string;
}

export interface ToolCallStart extends ToolCallEvent {
  type: "tool_call_start";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Of a call: function, custom, mcp, server and the like. Of content: text or reasoning. Of awaiting_input: what the call waits for. Of unmatched: the kind of the input. */
  kind: string;
  /** Id of the call from which this call was made. */
  parent_call?: string;
  /** The provider executes the tool. */
  provider_executed?: boolean;
  /** When the call is closed if nothing arrives. */
  deadline?: string;
}

export interface ToolCallArgsDelta extends ToolCallEvent {
  type: "tool_call_args_delta";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Bytes of text before content or args; of part_finished the length of the part; of rejected the position of the fault in the input. */
  offset: number;
  /** A fragment of the args text. */
  args: string;
}

export interface ToolCallArgsComplete extends ToolCallEvent {
  type: "tool_call_args_complete";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** When the call is closed if nothing arrives. */
  deadline?: string;
  /** The whole args as the model wrote them. */
  args_text?: string;
  /** The parsed args; absent if they are not valid. Of tool_call_answered: those of an edit. */
  tool_args?: any;
  /** The args are one JSON value, or what the kind of the call requires. */
  args_valid: boolean;
  /** The fault of invalid args, and its position. */
  args_error?: string;
  /** The args were a JSON string that contains an object; tool_args is the object. */
  double_encoded?: boolean;
  /** What completed the args: the provider's end of the call (call), the end of the message (message), the next block (next), a result (result), or the args deadline (idle). Of tool_call_answered: the person, as the answer states. Of unmatched: the person who answered before. */
  by: "call" | "message" | "next" | "result" | "idle";
  /** In place of args_text and tool_args above 64 KiB. */
  args_ref?: Ref;
}

export interface ToolCallAwaitingInput extends ToolCallEvent {
  type: "tool_call_awaiting_input";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Of a call: function, custom, mcp, server and the like. Of content: text or reasoning. Of awaiting_input: what the call waits for. Of unmatched: the kind of the input. */
  kind?: string;
  /** When the call is closed if nothing arrives. */
  deadline?: string;
  /** The id on the wire of the interrupt that the call waits for, or of an approval for which no person is asked. */
  interrupt_id?: string;
  /** What else the wire states of a question, in its form: of an approval of the AI SDK reason, approvalDescriptor, inputSchemaInput, isAutomatic and signature, unchanged. Of tool_call_progress, an approval for which no person is asked. */
  request?: Record<string, any>;
}

export interface ToolCallAnswered extends ToolCallEvent {
  type: "tool_call_answered";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** When the call is closed if nothing arrives. */
  deadline?: string;
  /** The parsed args; absent if they are not valid. Of tool_call_answered: those of an edit. */
  tool_args?: any;
  /** What completed the args: the provider's end of the call (call), the end of the message (message), the next block (next), a result (result), or the args deadline (idle). Of tool_call_answered: the person, as the answer states. Of unmatched: the person who answered before. */
  by?: string;
  /** The id on the wire of the interrupt that the call waits for, or of an approval for which no person is asked. */
  interrupt_id?: string;
  /** What the person decided. Of unmatched: what was decided before. */
  decision: "approve" | "deny" | "edit" | "reply";
  /** What the person said: any JSON. */
  value?: any;
  /** Of a result, how the call ended; of run_finished, how the run ended. Of tool_call_progress and tool_call_answered, args_complete where the call waits for a person no longer; of a denial, denied. The other open states of a call occur in no event. */
  status: "args_complete" | "denied";
  /** Sequence of the rejected or unmatched input, of the answer, of the interrupt, of the resume, or of the erasure. */
  input: number;
}

export interface ToolCallProgress extends ToolCallEvent {
  type: "tool_call_progress";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** When the call is closed if nothing arrives. */
  deadline?: string;
  /** The id on the wire of the interrupt that the call waits for, or of an approval for which no person is asked. */
  interrupt_id?: string;
  /** What else the wire states of a question, in its form: of an approval of the AI SDK reason, approvalDescriptor, inputSchemaInput, isAutomatic and signature, unchanged. Of tool_call_progress, an approval for which no person is asked. */
  request?: Record<string, any>;
  /** The progress message of the tool. */
  message?: string;
  /** The progress of the tool, in per cent, as reported. */
  percent?: number;
  /** Of a result, how the call ended; of run_finished, how the run ended. Of tool_call_progress and tool_call_answered, args_complete where the call waits for a person no longer; of a denial, denied. The other open states of a call occur in no event. */
  status?: "args_complete";
}

export interface ToolCallResult extends ToolCallEvent {
  type: "tool_call_result";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Of a result, how the call ended; of run_finished, how the run ended. Of tool_call_progress and tool_call_answered, args_complete where the call waits for a person no longer; of a denial, denied. The other open states of a call occur in no event. */
  status: "completed" | "error" | "denied" | "cancelled" | "timeout";
  /** No tool returned this result: streamer closed the call. */
  synthetic?: boolean;
  /** Why a call was closed, a run ended, or an input was rejected. */
  reason?: Reason;
  /** A string, or the JSON value of the tool; of a synthetic result, the text of the reason. */
  tool_result?: any;
  /** In place of a tool_result above 64 KiB; the value is JSON text. */
  tool_result_ref?: Ref;
  /** Whether tool_call_args_complete was emitted before. */
  args_complete: boolean;
  /** From the call's first fragment to its end. Absent if the reason is lost, because the time is then not known. */
  duration_ms?: number;
  /** From the call's first fragment to its args being complete. */
  args_ms?: number;
  /** From complete args to the end. */
  run_ms?: number;
}

export interface ToolCallLateResult extends ToolCallEvent {
  type: "tool_call_late_result";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Of a result, how the call ended; of run_finished, how the run ended. Of tool_call_progress and tool_call_answered, args_complete where the call waits for a person no longer; of a denial, denied. The other open states of a call occur in no event. */
  status?: "completed" | "error" | "denied" | "cancelled";
  /** A string, or the JSON value of the tool; of a synthetic result, the text of the reason. */
  tool_result?: any;
  /** In place of a tool_result above 64 KiB; the value is JSON text. */
  tool_result_ref?: Ref;
  /** Another real result of the call precedes this one. */
  conflict?: boolean;
  /** Whether the tool of a closed call stopped, as it reported. Only finished_anyway comes with a result. */
  tool_state?: "stopped" | "finished_anyway" | "unknown";
}

export interface ToolCallParent extends ToolCallEvent {
  type: "tool_call_parent";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Id of the call from which this call was made. */
  parent_call: string;
}

export interface OrphanResult extends EventBase {
  type: "orphan_result";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** The provider's id of the message; empty if the wire has none. */
  message_id?: string;
  /** Of a sub-agent, such as a LangGraph subgraph; empty at the root. */
  namespace?: string;
  /** Number of the answer, if the request asked for several. */
  choice?: number;
  /** The provider's id of the call, or a generated one. It can repeat in a session. */
  id?: string;
  /** Name of the tool; absent if the wire has none. */
  tool_name?: string;
  /** Of a result, how the call ended; of run_finished, how the run ended. Of tool_call_progress and tool_call_answered, args_complete where the call waits for a person no longer; of a denial, denied. The other open states of a call occur in no event. */
  status: "completed" | "error" | "denied" | "cancelled";
  /** A string, or the JSON value of the tool; of a synthetic result, the text of the reason. */
  tool_result?: any;
  /** In place of a tool_result above 64 KiB; the value is JSON text. */
  tool_result_ref?: Ref;
}

export interface Rejected extends EventBase {
  type: "rejected";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Bytes of text before content or args; of part_finished the length of the part; of rejected the position of the fault in the input. */
  offset: number;
  /** Why a call was closed, a run ended, or an input was rejected. */
  reason: Reason;
  /** Sequence of the rejected or unmatched input, of the answer, of the interrupt, of the resume, or of the erasure. */
  input: number;
}

export interface Unmatched extends EventBase {
  type: "unmatched";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Of a call: function, custom, mcp, server and the like. Of content: text or reasoning. Of awaiting_input: what the call waits for. Of unmatched: the kind of the input. */
  kind: string;
  /** What completed the args: the provider's end of the call (call), the end of the message (message), the next block (next), a result (result), or the args deadline (idle). Of tool_call_answered: the person, as the answer states. Of unmatched: the person who answered before. */
  by?: string;
  /** What the person decided. Of unmatched: what was decided before. */
  decision?: "approve" | "deny" | "edit" | "reply";
  /** Of unmatched: what the input named and was not open. Of interrupted: what the interrupt named; absent if it named nothing. */
  target: Target;
  /** Sequence of the rejected or unmatched input, of the answer, of the interrupt, of the resume, or of the erasure. */
  input: number;
}

export interface Interrupted extends EventBase {
  type: "interrupted";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** What completed the args: the provider's end of the call (call), the end of the message (message), the next block (next), a result (result), or the args deadline (idle). Of tool_call_answered: the person, as the answer states. Of unmatched: the person who answered before. */
  by?: string;
  /** Why a call was closed, a run ended, or an input was rejected. */
  reason?: Reason;
  /** Number of calls that an interrupt closed. */
  closed?: number;
  /** The calls that an interrupt closed, the first 100 of them. */
  calls?: string[];
  /** Of unmatched: what the input named and was not open. Of interrupted: what the interrupt named; absent if it named nothing. */
  target?: Target;
  /** Sequence of the rejected or unmatched input, of the answer, of the interrupt, of the resume, or of the erasure. */
  input: number;
  /** Of interrupted: what a tap has seen of what the interrupt of this input stopped. Later ones replace earlier ones. */
  binding?: Record<string, any>;
}

export interface Resumed extends EventBase {
  type: "resumed";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** What completed the args: the provider's end of the call (call), the end of the message (message), the next block (next), a result (result), or the args deadline (idle). Of tool_call_answered: the person, as the answer states. Of unmatched: the person who answered before. */
  by?: string;
  /** Why a call was closed, a run ended, or an input was rejected. */
  reason?: Reason;
  /** Of unmatched: what the input named and was not open. Of interrupted: what the interrupt named; absent if it named nothing. */
  target?: Target;
  /** Sequence of the rejected or unmatched input, of the answer, of the interrupt, of the resume, or of the erasure. */
  input: number;
}

export interface SessionErased extends EventBase {
  type: "session_erased";
  /** The run of the event: the run id on the wire, or the event_id of its run_started. */
  run?: string;
  /** Sequence of the rejected or unmatched input, of the answer, of the interrupt, of the resume, or of the erasure. */
  input: number;
}

/** The types of events by their names. */
export interface EventTypes {
  run_started: RunStarted;
  run_finished: RunFinished;
  message_started: MessageStarted;
  message_finished: MessageFinished;
  agent_response_chunk: AgentResponseChunk;
  part_finished: PartFinished;
  human_message: HumanMessage;
  tool_call_start: ToolCallStart;
  tool_call_args_delta: ToolCallArgsDelta;
  tool_call_args_complete: ToolCallArgsComplete;
  tool_call_awaiting_input: ToolCallAwaitingInput;
  tool_call_answered: ToolCallAnswered;
  tool_call_progress: ToolCallProgress;
  tool_call_result: ToolCallResult;
  tool_call_late_result: ToolCallLateResult;
  tool_call_parent: ToolCallParent;
  orphan_result: OrphanResult;
  rejected: Rejected;
  unmatched: Unmatched;
  interrupted: Interrupted;
  resumed: Resumed;
  session_erased: SessionErased;
}
