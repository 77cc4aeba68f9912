// The history: the sessions with their first message, calls, tokens and runs, how these ended
// and how long they took, and a search in the calls of all of them, with numbers per tool.

import { el, icon, say } from "./dom.js";
import { scan, searchSessions } from "./scan.js";
import { ask } from "./sessions.js";
import { STATUSES, matcher, readable } from "./search.js";
import { terminal } from "./reduce.js";
import { linkTo } from "./place.js";
import { ago, duration, plural, state, time } from "./words.js";

const READ = 100; // maximum number of sessions whose runs are read
const LISTED = 1_000; // maximum number of sessions that the server lists
const JUDGED = 30; // newest sessions whose results are read, which can be large, to count the failures
const MAX_HITS = 200;
const READS = "run_started,run_finished,human_message,tool_call_start,message_finished";
const TITLE = 120; // characters
const RUNS = { completed: ["Completed", "check"], error: ["Failed", "cross"], cancelled: ["Cancelled", "stop"], interrupted: ["Paused", "hand"], "": ["Open", "run"] };

// history fills root. It returns {show(sessions)}, which draws the list of the
// server: [{session, last, open}].
export function history(root) {
  const field = el("input", { type: "search", placeholder: "Tool, text or session", "aria-label": "Search", autocomplete: "off", spellcheck: "false", oninput: filter });
  const status = el("select", { "aria-label": "State of calls" }, el("option", { value: "" }, "Any status"),
    ...Object.entries(STATUSES).map(([value, label]) => el("option", { value }, label)));
  const least = el("input", { type: "number", min: "0", step: "0.1", placeholder: "0", "aria-label": "Minimum duration in seconds" });
  const form = el("form", { class: "hi-form", role: "search", onsubmit: submit }, field, status,
    el("label", { class: "hi-least" }, "at least", least, "s"), el("button", {}, "Search calls"));
  const found = el("p", { class: "hi-found", role: "status", hidden: true });
  const halt = el("button", { type: "button", hidden: true, onclick: () => end(true) }, "Stop searching");
  const hits = el("ol", { class: "hi-hits", hidden: true });
  const list = el("ul", { class: "hi-list" });
  root.replaceChildren(form, found, halt, hits, list);
  const tools = el("div", { class: "hi-tools", role: "region", "aria-label": "Numbers per tool", tabindex: "0", hidden: true });
  root.insertBefore(tools, list);
  const known = new Map(); // session → {last, title, calls, failed, tokens, runs: Map(id → run)}
  let sessions = [], reading = null, searching = null; // searching: {close, report(over)} of the search under way

  // ---- the list

  function show(next) {
    sessions = next;
    draw();
    readRuns();
  }

  function filter() {
    if (field.value === "") clear();
    draw();
  }

  let drawn = "";
  function draw() {
    const text = field.value.trim().toLowerCase();
    const rows = sessions.filter((s) => (s.session + " " + (known.get(s.session)?.title ?? "")).toLowerCase().includes(text)).map((s) => ({ ...s, when: ago(Date.now() - Date.parse(s.last)), ...known.get(s.session), last: s.last, runs: [...(known.get(s.session)?.runs.values() ?? [])] }));
    const key = JSON.stringify(rows);
    if (key === drawn) return;
    drawn = key;
    const open = new Set([...list.querySelectorAll("details[open]")].map((d) => d.dataset.session));
    list.replaceChildren(...rows.map((row) => rowOf(row, open.has(row.session))));
  }

  function rowOf({ session, when, open, about: plan, title, calls, failed, tokens, runs: all }, expanded) {
    const last = all.at(-1);
    const [word, symbol] = RUNS[open > 0 ? "" : last?.status ?? ""] ?? RUNS.completed;
    const seen = last || open > 0;
    const about = [title || plan ? session : "", calls ? plural(calls, "call") : "", failed ? failed + " failed" : "", tokens ? tokens.toLocaleString("en") + " tokens" : ""].filter(Boolean).join(" · ");
    const link = el("a", { href: linkTo({ session }), "data-status": open > 0 ? "open" : last?.status || (last ? "open" : "") },
      icon(seen ? symbol : plan ? "play" : "info"), el("span", { class: "hi-title" }, el("span", { class: "name" }, title || plan || session), about ? el("small", {}, about) : null),
      open > 0 ? el("span", { class: "chip" }, open + " open") : null,
      el("span", { class: "hi-outcome" }, seen ? word : plan ? "Starts when opened" : "", last?.endedAt ? " · " + duration(last.endedAt - last.startedAt) : ""),
      plan ? null : el("span", { class: "when" }, when));
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
    const changed = sessions.filter((s) => !s.about && known.get(s.session)?.last !== s.last).slice(0, READ);
    if (changed.length === 0) return;
    const fresh = new Map(changed.map((s) => [s.session, { last: s.last, title: "", calls: 0, failed: known.get(s.session)?.failed ?? 0, tokens: 0, runs: new Map() }]));
    const end = () => {
      for (const [session, entry] of fresh) known.set(session, entry);
      draw();
      const judged = [...fresh].slice(0, JUDGED).filter(([, entry]) => entry.calls > 0);
      const failed = new Map(judged.map(([session]) => [session, 0]));
      const count = (e) => ["error", "timeout"].includes(e.status) && failed.set(e.session, failed.get(e.session) + 1);
      const counted = () => {
        reading = null;
        for (const [session, entry] of judged) entry.failed = failed.get(session);
        draw();
      };
      if (judged.length === 0) counted();
      else reading = scan([...failed.keys()], "tool_call_result", count, counted);
    };
    reading = scan(changed.map((s) => s.session), READS, (e) => add(fresh.get(e.session), e), end);
  }

  function add(entry, e) {
    if (!entry) return;
    const u = e.usage ?? {};
    if (e.type === "human_message") entry.title ||= (e.content ?? "").trim().replace(/\s+/g, " ").slice(0, TITLE);
    else if (e.type === "tool_call_start") entry.calls++;
    else if (e.type === "message_finished") entry.tokens += (u.input_tokens ?? u.prompt_tokens ?? 0) + (u.output_tokens ?? u.completion_tokens ?? 0);
    else addRun(entry.runs, e);
  }

  function addRun(known, e) {
    const at = Date.parse(e.timestamp) || 0, id = e.run ?? "";
    if (e.type === "run_started") known.set(id, { id, startedAt: at, endedAt: 0, status: "" });
    else known.set(id, { startedAt: at, ...known.get(id), id, endedAt: at, status: e.status ?? "completed" });
  }

  // ---- the search

  function clear() {
    end();
    say(found, "");
    hits.hidden = true;
    hits.replaceChildren();
    tools.hidden = true;
  }

  // end ends the search under way. With report, what it found is described.
  function end(report = false) {
    const ended = searching;
    searching = null;
    halt.hidden = true;
    ended?.close();
    if (report) ended?.report(true);
  }

  async function submit(e) {
    e.preventDefault();
    clear();
    const search = { text: field.value, tool: "", status: status.value, least: Number(least.value) * 1_000 || 0 };
    const shows = matcher(search);
    const mine = (searching = { close() {}, report() {} });
    halt.hidden = false;
    say(found, "Searching…");
    const all = ((await ask(LISTED)).sessions ?? sessions).map((s) => s.session);
    if (mine !== searching) return;
    let seen = { done: 0, unread: 0, calls: [] };
    mine.report = (over) => describe(seen, all.length, over);
    const reading = searchSessions(all, (call) => shows(call, Date.now()), (next) => {
      seen = next;
      if (mine !== searching) return;
      showHits(seen.calls, search);
      if (seen.done === all.length) end(true);
      else mine.report(false);
    });
    mine.close = reading.close;
    if (all.length === 0) end(true);
  }

  function describe({ done, unread, calls }, all, over) {
    const where = " in " + (done < all ? done + " of " : "") + plural(all, "session");
    const shown = calls.length > MAX_HITS ? "; the newest " + MAX_HITS + " are shown" : "";
    const failed = unread > 0 ? ". " + plural(unread, "session") + " could not be read" : "";
    const older = over && done === LISTED ? ". Older sessions are not listed" : "";
    say(found, (calls.length === 0 ? "No calls" : plural(calls.length, "call")) + " found" + where + shown + failed + older + (over ? "." : "…"));
  }

  function showHits(calls, search) {
    hits.replaceChildren(...calls.slice(0, MAX_HITS).map((call) => hitOf(call, search.text)));
    hits.hidden = tools.hidden = calls.length === 0;
    tools.replaceChildren(toolTable(calls));
  }

  function hitOf(call, text) {
    const { word, icon: symbol } = state(call);
    return el("li", {}, el("a", { href: linkTo({ session: call.session, call: call.call }), "data-status": call.status }, icon(symbol),
      el("span", { class: "name" }, el("code", {}, call.tool || "unknown"), " ", excerpt(call, text)),
      el("span", { class: "hi-outcome" }, terminal(call.status) ? word + " · " + duration(call.durationMs ?? 0) : "Open"), el("span", { class: "when" }, call.session)));
  }

  // excerpt returns the text around the first word that was searched.
  function excerpt(call, searched) {
    const text = readable(call).slice(4).filter(Boolean).join(" "); // after the name and the ids
    const at = text.toLowerCase().indexOf(searched.trim().toLowerCase().split(/\s+/)[0]);
    const from = Math.max(0, at - 24);
    return el("small", {}, (from > 0 ? "…" : "") + text.slice(from, from + 90).trim());
  }

  return { show };
}

// toolTable returns the table of the tools of calls: their number, the median and the 95th
// percentile of their duration, and how many failed and were cancelled.
function toolTable(calls) {
  const byTool = Map.groupBy(calls, (call) => call.tool || "unknown");
  const rows = [...byTool].sort((a, b) => b[1].length - a[1].length).map(([tool, list]) => {
    const took = list.map((c) => c.durationMs).filter((ms) => ms !== undefined).sort((a, b) => a - b);
    const at = (part) => (took.length > 0 ? duration(took[Math.min(took.length - 1, Math.ceil(part * took.length) - 1)]) : "–");
    const count = (...states) => list.filter((c) => states.includes(c.status)).length;
    return [tool, list.length, at(0.5), at(0.95), count("error", "timeout"), count("cancelled")];
  });
  return el("table", {}, el("caption", { class: "sr" }, "Calls found, by tool"),
    el("thead", {}, el("tr", {}, ...["Tool", "Calls", "Median", "95 %", "Failed", "Cancelled"].map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...rows.map(([tool, ...cells]) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, tool)), ...cells.map((c) => el("td", {}, String(c)))))));
}
