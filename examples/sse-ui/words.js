// Texts for states, times and sizes, and the icon of each state.

const STATES = {
  building_args: ["Arguments streaming", "pen"],
  args_complete: ["Running", "run"],
  awaiting_input: ["Waiting for you", "hand"],
  completed: ["Succeeded", "check"],
  error: ["Failed", "cross"],
  denied: ["Denied", "deny"],
  cancelled: ["Cancelled", "stop"],
  timeout: ["Timed out", "clock"],
};

const BECAUSE = {
  interrupt: "stopped",
  new_message: "another message came",
  run_error: "the run failed",
  run_cancelled: "the run was cancelled",
  superseded: "it was abandoned",
  denied: "a person denied it",
  args_timeout: "its arguments never ended",
  args_incomplete: "the model ended in its arguments",
  result_timeout: "no result came",
  expired: "too old to keep open",
  lost: "its inputs were lost",
};

// state returns {word, icon, because} for a call.
export function state(call) {
  const [word, icon] = STATES[call.status] ?? [call.status, "run"];
  const replaced = call.closedBy && call.reason?.code === "superseded";
  const because = replaced ? "a new attempt replaced it" : call.reason ? BECAUSE[call.reason.code] ?? call.reason.code ?? "" : call.status === "awaiting_input" ? call.waitsFor : "";
  if (call.reason?.code === "args_incomplete" || (call.cut && call.status === "building_args")) return { word: "Cut off", icon: "stop", because };
  if (call.status === "args_complete" && call.outside) return { word: "Waiting for a result", icon: "hand", because };
  return { word, icon, because };
}

let told = new WeakMap(); // call → what telling returns, once its args are complete
let teller = () => ""; // of the renderers, once they are loaded
const LONG = 60, SHORT = 200, FIRST = 2_000; // characters that are shown, of a short text, and of the args that are searched

// tellBy sets what returns the text of telling first, "" for the usual one.
export function tellBy(f) { told = new WeakMap(), teller = f; }

// telling returns the text that tells a call from others of its tool: the first short text in
// its args, or else the first text, and of an address the host.
export function telling(call) {
  if (told.has(call)) return told.get(call);
  const texts = [teller(call).split("\n")[0]].filter(Boolean);
  for (const [whole] of (call.args.text || call.argsRef?.preview || "").slice(0, FIRST).matchAll(/(?<=[:[,]\s*)"(?:[^"\\]|\\.)+"(?!\s*:)/g)) {
    try {
      texts.push(JSON.parse(whole).trim().replace(/^https?:\/\/(?:www\.)?([^/?#]+).*$/s, "$1").replace(/\s+/g, " "));
    } catch {
      // Not JSON.
    }
  }
  const all = texts.find((t) => t !== "" && t.length <= SHORT) ?? texts[0] ?? "";
  const text = all.length > LONG ? all.slice(0, LONG - 1) + "…" : all;
  if (call.argsDone) told.set(call, text);
  return text;
}

// duration formats milliseconds: 840 ms, 3.2 s, 41 s, 2 min 05 s.
export function duration(ms) {
  ms = Math.max(0, ms);
  if (ms < 1_000) return Math.round(ms) + " ms";
  if (ms < 9_950) return (ms / 1_000).toFixed(1) + " s";
  const s = Math.round(ms / 1_000);
  if (s < 60) return s + " s";
  if (s < 3_600) return Math.floor(s / 60) + " min " + String(s % 60).padStart(2, "0") + " s";
  return Math.floor(s / 3_600) + " h " + String(Math.floor((s % 3_600) / 60)).padStart(2, "0") + " min";
}

// elapsed formats a running timer, without milliseconds, which would flicker.
export function elapsed(ms) {
  return ms < 9_950 ? (Math.max(0, ms) / 1_000).toFixed(1) + " s" : duration(ms);
}

export function bytes(n) {
  if (n < 1_024) return n + " B";
  if (n < 1_024 * 1_024) return (n / 1_024).toFixed(n < 10_240 ? 1 : 0) + " KB";
  return (n / 1_024 / 1_024).toFixed(1) + " MB";
}

export function ago(ms) {
  if (ms < 5_000) return "just now";
  if (ms < 60_000) return Math.floor(ms / 1_000) + " s ago";
  if (ms < 3_600_000) return Math.floor(ms / 60_000) + " min ago";
  if (ms < 86_400_000) return Math.floor(ms / 3_600_000) + " h ago";
  return Math.floor(ms / 86_400_000) + " d ago";
}

const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export function time(ms) {
  return ms ? CLOCK.format(ms) : "";
}

export const plural = (n, one, many = one + "s") => n + " " + (n === 1 ? one : many);

// tally returns the number of calls of a session in each state.
export function tally(t) {
  const parts = [
    [t.open, "open"], [t.completed, "succeeded"], [t.error, "failed"],
    [t.timeout, "timed out"], [t.cancelled, "cancelled"], [t.denied, "denied"],
  ];
  return parts.filter(([n]) => n > 0).map(([n, word]) => n + " " + word);
}

const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g; // controls that change the order of what follows
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const escape = (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");

// visible returns a text with its controls as escapes: a name can then not look like
// another one.
export const visible = (text) => text.replace(CONTROLS, escape);

// ordered returns a value with only those controls as escapes that reorder it.
export const ordered = (text) => text.replace(DIRECTION, escape);

const DECISIONS = { approve: "Approved", deny: "Denied", edit: "Approved with other arguments", reply: "Answered" };

// answered returns a text about an answer, "" if there is none.
export function answered(answer) {
  if (!answer) return "";
  const text = answer.value === undefined ? "" : typeof answer.value === "string" ? answer.value : JSON.stringify(answer.value);
  return (DECISIONS[answer.decision] ?? answer.decision) + (answer.by ? " by " + answer.by : "") + (text ? ": “" + text + "”." : ".");
}
