// What the server refuses over HTTP, and what is stored without a check over NATS.

import { refused } from "./errors.js";

const TYPES = [
  "run_started", "run_finished", "message_started", "message_finished", "agent_response_chunk", "part_finished", "human_message",
  "tool_call_start", "tool_call_args_delta", "tool_call_args_complete", "tool_call_awaiting_input", "tool_call_answered", "tool_call_progress", "tool_call_result",
  "tool_call_late_result", "tool_call_parent", "orphan_result", "rejected", "unmatched", "interrupted", "session_erased", "synthetic",
];
const TARGETS = ["tool_call_ids", "tool_call_id", "calls", "call", "message_id", "run"];

/** Throws the error with which HTTP refuses types. */
export function checkTypes(types = []) {
  if (types.length > 32) throw refused(400, "types has more than 32 names");
  const unknown = types.find((type) => !TYPES.includes(type));
  if (unknown !== undefined) throw refused(400, `types has ${JSON.stringify(unknown)}, which is not an event type; the types are ${TYPES.join(", ")}`);
}

/** Throws the error with which HTTP refuses the fields of an input. */
export function checkInput(kind, body) {
  const fault = faults[kind]?.(body);
  if (fault) throw refused(400, fault);
}

/** By kind of input: returns what is wrong with its fields, or a value that is not truthy. */
const faults = {
  answer: ({ call, interrupt_id, decision, args, value }) =>
    notOneOf("decision", decision, "approve", "deny", "edit", "reply") ||
    (!call && !interrupt_id && "the answer names no call: call, tool_call_id and interrupt_id are missing") ||
    ((args !== undefined) !== (decision === "edit") && "args and the decision edit belong together") ||
    (decision === "reply" && (value ?? null) === null && "a reply needs a value"),
  results: ({ call, status }) => nameless("result", call) || (status && notOneOf("status", status, "success", "error", "denied")),
  progress: ({ call, percent = 0 }) => nameless("progress", call) || (!(percent >= 0 && percent <= 100) && `percent is ${percent}, not a number from 0 to 100`),
  end: ({ reason }) => notOneOf("reason", reason, "completed", "error", "cancelled"),
  interrupt({ reason, ...targets }) {
    for (const [field, value] of Object.entries(targets)) {
      if (!TARGETS.includes(field)) return `the interrupt has no field ${JSON.stringify(field)}. Its fields are reason, ${TARGETS.join(", ")}`;
      if (value === null || value?.length === 0) return `${field} is empty; it must name what to close, or be left out`;
    }
  },
};

const nameless = (kind, call) => !call && `the ${kind} names no call: tool_call_id is missing or empty`;

function notOneOf(field, value = "", ...allowed) {
  if (!allowed.includes(value)) return `${field} is ${JSON.stringify(value)}, not one of [${allowed.map((word) => JSON.stringify(word)).join(" ")}]`;
}
