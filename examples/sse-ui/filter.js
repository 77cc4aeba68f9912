// Which calls a search shows. No DOM.

import { terminal } from "./reduce.js";

// STATUSES are the groups of states to choose from, with their labels.
export const STATUSES = {
  open: "open", completed: "succeeded", error: "failed", timeout: "timed out", cancelled: "cancelled", denied: "denied", awaiting_input: "waiting for you",
};

// NONE is the search that shows every call.
export const NONE = Object.freeze({ text: "", tool: "", status: "", least: 0 });

export const isNone = (search) => search.text.trim() === "" && search.tool === "" && search.status === "" && !(search.least > 0);

// matcher returns the function that reports whether a search shows a call at the
// time now. The text of a call is read once: calls that change are other objects.
export function matcher(search) {
  const words = search.text.toLowerCase().split(/\s+/).filter(Boolean);
  return (call, now) => inStatus(call, search.status) &&
    (search.tool === "" || call.tool === search.tool) &&
    !(lasted(call, now) < search.least) &&
    words.every((word) => textOf(call).includes(word));
}

const texts = new WeakMap(); // call → its text in lower case

function textOf(call) {
  let text = texts.get(call);
  if (text === undefined) texts.set(call, (text = readable(call).join("\n").toLowerCase()));
  return text;
}

function readable(call) {
  const { outcome, late, reason } = call;
  return [
    call.tool, call.id, call.call, call.namespace, call.args.text || call.argsRef?.preview || "",
    valueText(outcome), valueText(late), reason?.text ?? "", reason?.detail ?? "", call.argsError, call.progress?.text ?? "",
  ];
}

function valueText(outcome) {
  if (!outcome) return "";
  if (outcome.ref) return outcome.ref.preview ?? "";
  return typeof outcome.value === "string" ? outcome.value : JSON.stringify(outcome.value) ?? "";
}

function inStatus(call, status) {
  if (status === "") return true;
  return status === "open" ? !terminal(call.status) : call.status === status;
}

function lasted(call, now) {
  return call.durationMs ?? Math.max(0, now - (call.startedAt || now));
}
