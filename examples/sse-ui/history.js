// The history: the sessions with their runs, how these ended and how long they
// took, and a search in the calls of all of them.

import { el, icon, say } from "./dom.js";
import { subscribe } from "./sse.js";
import { linkTo } from "./place.js";
import { ago, duration, plural, state, time } from "./words.js";

const MAX_SESSIONS = 100; // of one stream
const MAX_HITS = 200;
const RUNS = { completed: ["Completed", "check"], error: ["Failed", "cross"], cancelled: ["Cancelled", "stop"], interrupted: ["Paused", "hand"], "": ["Open", "run"] };
const STATES = ["completed", "error", "timeout", "cancelled", "denied"];

// history fills root. It returns {show(sessions)}, which draws the list of the
// server: [{session, last, open}].
export function history(root) {
  const field = el("input", { type: "search", placeholder: "Tool, text or session", "aria-label": "Search", autocomplete: "off", spellcheck: "false", oninput: filter });
  const status = el("select", { "aria-label": "State of calls" }, el("option", { value: "" }, "Any state"),
    ...["open", ...STATES].map((s) => el("option", { value: s }, s === "open" ? "Open" : state({ status: s }).word)));
  const least = el("input", { type: "number", min: "0", step: "0.1", placeholder: "0", "aria-label": "Minimum duration in seconds" });
  const form = el("form", { class: "hi-form", role: "search", onsubmit: submit }, field, status,
    el("label", { class: "hi-least" }, "at least", least, "s"), el("button", {}, "Search calls"));
  const found = el("p", { class: "hi-found", role: "status", hidden: true });
  const hits = el("ol", { class: "hi-hits", hidden: true });
  const list = el("ul", { class: "hi-list" });
  root.replaceChildren(form, found, hits, list);
  const runs = new Map(); // session → {last, runs: Map(id → run)}
  let sessions = [], reading = null, searching = null;

  // ---- the list

  function show(next) {
    sessions = next;
    draw();
    readRuns();
  }

  function filter() {
    if (field.value === "") stopSearch();
    draw();
  }

  let drawn = "";
  function draw() {
    const text = field.value.trim().toLowerCase();
    const rows = sessions.filter((s) => s.session.toLowerCase().includes(text)).map((s) => ({ ...s, when: ago(Date.now() - Date.parse(s.last)), runs: [...(runs.get(s.session)?.runs.values() ?? [])] }));
    const key = JSON.stringify(rows);
    if (key === drawn) return;
    drawn = key;
    const open = new Set([...list.querySelectorAll("details[open]")].map((d) => d.dataset.session));
    list.replaceChildren(...rows.map((row) => rowOf(row, open.has(row.session))));
  }

  function rowOf({ session, when, open, runs: all }, expanded) {
    const last = all.at(-1);
    const [word, symbol] = RUNS[open > 0 ? "" : last?.status ?? ""] ?? RUNS.completed;
    const known = last || open > 0;
    const link = el("a", { href: linkTo({ session }), "data-status": open > 0 ? "open" : last?.status || (last ? "open" : "") },
      icon(known ? symbol : "info"), el("span", { class: "name" }, session),
      open > 0 ? el("span", { class: "chip" }, open + " open") : null,
      el("span", { class: "hi-outcome" }, known ? word : "", last?.endedAt ? " · " + duration(last.endedAt - last.startedAt) : ""),
      el("span", { class: "when" }, when));
    if (all.length < 2) return el("li", {}, link);
    return el("li", {}, link, el("details", { open: expanded, "data-session": session }, el("summary", {}, plural(all.length, "run")),
      el("ol", {}, ...[...all].reverse().map((run) => el("li", {}, runLink(session, run))))));
  }

  function runLink(session, run) {
    const [word, symbol] = RUNS[run.status] ?? RUNS.completed;
    return el("a", { href: linkTo({ session, run: run.id }), "data-status": run.status || "open" }, icon(symbol), el("span", { class: "name" }, time(run.startedAt)),
      el("span", { class: "hi-outcome" }, word, run.endedAt ? " · " + duration(run.endedAt - run.startedAt) : ""));
  }

  // readRuns reads the runs of the sessions that have new events.
  function readRuns() {
    if (reading) return;
    const changed = sessions.filter((s) => runs.get(s.session)?.last !== s.last).slice(0, MAX_SESSIONS);
    if (changed.length === 0) return;
    const fresh = new Map(changed.map((s) => [s.session, { last: s.last, runs: new Map() }]));
    const end = () => {
      reading = null;
      for (const [session, entry] of fresh) runs.set(session, entry);
      draw();
    };
    reading = scan(changed, "run_started,run_finished", (e) => addRun(fresh.get(e.session)?.runs, e), end);
  }

  function addRun(known, e) {
    if (!known) return;
    const at = Date.parse(e.timestamp) || 0, id = e.run ?? "";
    if (e.type === "run_started") known.set(id, { id, startedAt: at, endedAt: 0, status: "" });
    else known.set(id, { startedAt: at, ...known.get(id), id, endedAt: at, status: e.status ?? "completed" });
  }

  // ---- the search

  function stopSearch() {
    searching?.close();
    searching = null;
    say(found, "");
    hits.hidden = true;
    hits.replaceChildren();
  }

  function submit(e) {
    e.preventDefault();
    stopSearch();
    const wanted = { text: field.value.trim().toLowerCase(), status: status.value, least: Number(least.value) * 1_000 || 0 };
    const calls = new Map();
    const some = sessions.slice(0, MAX_SESSIONS);
    const left = sessions.length - some.length;
    say(found, "Searching " + plural(some.length, "session") + "…");
    const end = () => {
      searching = null;
      const list_ = [...calls.values()].filter((call) => matches(call, wanted)).reverse();
      showHits(list_, left);
    };
    searching = scan(some, "tool_call_start,tool_call_args_complete,tool_call_result", (event) => addCall(calls, event), end);
  }

  function addCall(calls, e) {
    const key = e.session + " " + e.call;
    const call = calls.get(key) ?? { session: e.session, call: e.call, tool: "", status: "open", ms: 0, at: Date.parse(e.timestamp) || 0, text: "" };
    calls.set(key, call);
    call.tool = e.tool_name || call.tool;
    call.text += " " + [e.args_text ?? e.args_ref?.preview, said(e.tool_result) ?? e.tool_result_ref?.preview, e.type === "tool_call_result" && e.id].filter(Boolean).join(" ");
    if (e.type === "tool_call_result") call.status = e.status ?? "completed", call.ms = e.duration_ms ?? 0;
  }

  const said = (value) => (value === undefined || typeof value === "string" ? value : JSON.stringify(value));

  function matches(call, { text, status: wanted, least: ms }) {
    if (wanted && call.status !== wanted) return false;
    if (call.ms < ms) return false;
    return (call.tool + " " + call.session + " " + call.text).toLowerCase().includes(text);
  }

  function showHits(list_, left) {
    const more = list_.length > MAX_HITS ? ", the newest " + MAX_HITS + " are shown" : "";
    say(found, (list_.length === 0 ? "No calls found" : plural(list_.length, "call") + " found" + more) + (left > 0 ? ". " + plural(left, "older session") + " not searched" : "") + ".");
    hits.replaceChildren(...list_.slice(0, MAX_HITS).map(hitOf));
    hits.hidden = list_.length === 0;
  }

  function hitOf(call) {
    const { word, icon: symbol } = state({ status: call.status === "open" ? "args_complete" : call.status });
    const open = call.status === "open";
    return el("li", {}, el("a", { href: linkTo(call), "data-status": call.status }, icon(symbol), el("span", { class: "name" }, el("code", {}, call.tool || "unknown"), " ", excerpt(call)),
      el("span", { class: "hi-outcome" }, open ? "Open" : word + " · " + duration(call.ms)), el("span", { class: "when" }, call.session)));
  }

  // excerpt returns the text around the first place that matches.
  function excerpt({ text }) {
    const at = text.toLowerCase().indexOf(field.value.trim().toLowerCase());
    const from = Math.max(0, at - 24);
    return el("small", {}, (from > 0 ? "…" : "") + text.slice(from, from + 90).trim());
  }

  return { show };
}

// scan reads the stored events of some types of sessions, calls each(event) for
// every one, and end() after the last, or if they cannot be read.
function scan(sessions, types, each, end) {
  const query = sessions.map((s) => "session=" + encodeURIComponent(s.session)).join("&") + "&types=" + types;
  let over = false;
  const stop = () => {
    if (over) return;
    over = true;
    stream.close();
    end();
  };
  const stream = subscribe({
    url: "/v1/events?" + query,
    onFrame({ event, data }) {
      if (event.startsWith("stream.") || over) return;
      try {
        each(JSON.parse(data));
      } catch {
        // An unreadable event is left out.
      }
    },
    onState: ({ name }) => ["live", "gone", "refused", "reconnecting"].includes(name) && stop(),
  });
  return { close() { over = true, stream.close(); } };
}
