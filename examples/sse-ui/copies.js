// Copying calls: the texts that a call can be copied as (JSON, commands that produce
// it, and the messages of a history), and the buttons that copy them.

import { el } from "./dom.js";
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
  if (!call.synthetic || !by) return post(base + "/results", { tool_call_id: idOf(call), content: value ?? "", status: call.status });
  return post(base + "/interrupt", { tool_call_ids: [idOf(call)], reason: by });
}

const idOf = (call) => call.id || "call_1";

function post(url, body) {
  return "curl " + quoted(url) + " \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoted(JSON.stringify(body));
}

// quoted returns a text as one word of a shell.
const quoted = (text) => (/^[\w:/.%-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");

// STYLES are the shapes of histories.
export const STYLES = { openai: "OpenAI", anthropic: "Anthropic" };

// historyOf returns the messages of a history that have the call and its result, as
// JSON. Where the session has a message for a synthetic result, that is the result.
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

// excerptOf returns the text that the preview of a large value shows: the
// preview is the beginning of JSON, and of a string only its content is shown.
export function excerptOf(preview) {
  if (!preview.startsWith('"')) return preview + "…";
  const whole = preview.slice(1).replace(/\\(u[0-9a-fA-F]{0,3})?$/, "");
  for (const end of [whole, whole.slice(0, -1)]) {
    try {
      return JSON.parse('"' + end + '"') + "…";
    } catch {
      // The cut is within an escape.
    }
  }
  return preview + "…";
}

// ---- the buttons

const SHOWN = 1_500; // ms until a button has its own text again

// copyButton returns a button that copies the text of read(), which may be a
// promise. It returns null where the browser has no clipboard for this page.
export function copyButton(text, name, read) {
  if (!navigator.clipboard) return null;
  const button = el("button", { type: "button", class: "copy", "aria-label": name }, text);
  button.addEventListener("click", async () => {
    button.textContent = await copied(read);
    setTimeout(() => (button.textContent = text), SHOWN);
  });
  return button;
}

// copied copies a text and returns the outcome.
export async function copied(read) {
  try {
    await navigator.clipboard.writeText(await read());
    return "copied";
  } catch (err) {
    return err.name === "NotAllowedError" ? "not allowed" : "failed";
  }
}

// copyRow returns the buttons that copy the call that call() returns. actions has
// result(call), a promise of the whole result, session() and address(call).
export function copyRow(call, actions) {
  const value = () => actions.result(call());
  const texts = [
    ["JSON", "Copy as JSON", async () => jsonOf(call(), await value())],
    ["curl", "Copy as curl commands", async () => curlOf(call(), actions.session(), await value())],
    ...Object.entries(STYLES).map(([style, name]) => [name + " messages", "Copy as messages of " + name, async () => historyOf(call(), style, await value())]),
    ["link", "Copy the link to this call", () => actions.address(call())],
  ];
  const buttons = texts.map(([text, name, read]) => copyButton(text, name, read));
  return buttons.includes(null) ? null : el("p", { class: "copies" }, "Copy as ", ...buttons);
}
