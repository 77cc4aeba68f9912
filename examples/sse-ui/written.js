// The texts that a call can be copied as: JSON, commands that produce it, and the messages of a
// history.

import { terminal } from "./reduce.js";

// jsonOf returns a call as JSON, with its fields as events name them. value is the
// whole result.
export function jsonOf(call, value) {
  const { outcome } = call;
  return JSON.stringify({
    call: call.call, id: call.id, tool_name: call.tool, status: call.status, kind: call.type || undefined,
    parent_call: call.parent || undefined, namespace: call.namespace || undefined, run: call.run || undefined,
    message_id: messageOf(call) || undefined, args_text: call.args.text, args_valid: call.argsValid,
    started: stamp(call.startedAt), ended: stamp(call.endedAt), duration_ms: call.durationMs,
    tool_result: outcome ? value : undefined, synthetic: call.synthetic || undefined, reason: call.reason ?? undefined,
  }, null, 2);
}

const stamp = (ms) => (ms ? new Date(ms).toISOString() : undefined);
const messageOf = (call) => call.messageId ?? call.message?.id ?? "";

// curlOf returns the commands that produce a call in a session: its delta, and how
// it ended.
export function curlOf(call, session, value, origin = location.origin) {
  const base = origin + "/v1/sessions/" + encodeURIComponent(session);
  const chunk = (delta, finish_reason) => ({ id: messageOf(call) || "msg_1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
  const fragment = { index: 0, id: idOf(call), function: { name: call.tool, arguments: call.args.text } };
  const deltas = [chunk({ role: "assistant", tool_calls: [fragment] }, null)];
  if (call.argsDone) deltas.push(chunk({}, "tool_calls"));
  const commands = [post(base + "/deltas", deltas)];
  if (terminal(call.status)) commands.push(endOf(call, base, value));
  return commands.join("\n");
}

function endOf(call, base, value) {
  const by = call.reason?.code;
  if (!call.synthetic || !by || call.status === "denied") return post(base + "/results", { tool_call_id: idOf(call), content: value ?? "", status: call.status });
  return post(base + "/interrupt", { tool_call_ids: [idOf(call)], reason: by });
}

const idOf = (call) => call.id || "call_1";

const LONG = 40_000; // characters of a body, above which it may be more than the 128 KiB that Linux allows for an argument

function post(url, body) {
  const text = JSON.stringify(body); // one line
  return "curl " + quoted(url) + " \\\n  -H 'Content-Type: application/json' \\\n  -d " + (text.length > LONG ? "@- <<'EOF'\n" + text + "\nEOF" : quoted(text));
}

// quoted returns a text as one word of a shell.
const quoted = (text) => (/^[\w:/.%-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");

// historyOf returns the messages of a history that have the call and its result, as
// JSON, in the style openai or anthropic. Where the session has a message for a synthetic result, that is the result.
export function historyOf(call, style, value) {
  const messages = style === "anthropic" ? anthropic(call, value) : openai(call, value);
  return JSON.stringify(messages, null, 2);
}

function openai(call, value) {
  const messages = [{ role: "assistant", content: null, tool_calls: [{ id: idOf(call), type: "function", function: { name: call.tool, arguments: call.args.text || "{}" } }] }];
  if (terminal(call.status)) messages.push({ role: "tool", tool_call_id: idOf(call), content: textOf(value, call) });
  return messages;
}

function anthropic(call, value) {
  const messages = [{ role: "assistant", content: [{ type: "tool_use", id: idOf(call), name: call.tool, input: inputOf(call) }] }];
  if (!terminal(call.status)) return messages;
  const block = { type: "tool_result", tool_use_id: idOf(call), content: textOf(value, call) };
  if (call.status !== "completed") block.is_error = true;
  messages.push({ role: "user", content: [block] });
  return messages;
}

// inputOf returns the arguments as an object, which Anthropic's API requires.
function inputOf(call) {
  try {
    const value = JSON.parse(call.args.text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  } catch {
    // The arguments are no JSON.
  }
  return call.args.text === "" ? {} : { arguments: call.args.text };
}

function textOf(value, call) {
  if (value === undefined || value === null) return call.reason?.text ?? "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
