// A row of the waterfall: the name of a call, its bar on the time axis, and its
// state and duration.

import { el, icon, setIcon, say, mark } from "./dom.js";
import { terminal } from "./reduce.js";
import { bounds, callsBelow, startOf, endOf, offset } from "./rows.js";
import { phasesOf } from "./select.js";
import { state, telling, duration, elapsed, plural } from "./words.js";

const PHASES = { args: "arguments", waiting: "waiting", running: "running" };
const THIN = 0.15; // percent, minimum width of a bar
const SOON = 10_000; // ms before a deadline in which it is written beside the bar

// barRow returns {node, show(row, shown), move(window, now)}: show draws the row
// of flatten, move places its bar in the window {from, to, room, at} of the axis, of which at
// returns the place of a time. room is the part of it in percent that a text beside a bar needs.
export function barRow(id, { toggle, choose }) {
  const twist = el("button", { type: "button", class: "wf-twist", tabindex: "-1", "aria-hidden": "true", onclick: twisted }, icon("down"));
  const symbol = icon("run");
  const tool = el("span", { class: "wf-tool" });
  const what = el("span", { class: "wf-what" });
  const chip = el("span", { class: "chip", hidden: true });
  const name = el("div", { class: "wf-name", role: "gridcell" }, twist, symbol, tool, what, chip);
  const spoken = el("span", { class: "sr" });
  const due = el("i", { class: "wf-due", hidden: true });
  const soon = el("span", { class: "wf-soon", "aria-hidden": "true", hidden: true });
  const bar = el("span", { class: "wf-bar", "aria-hidden": "true" });
  const track = el("div", { class: "wf-track", role: "gridcell" }, spoken, bar, due, soon);
  const word = el("span", { class: "word" });
  const took = el("span", { class: "wf-took", "aria-hidden": "true" });
  const end = el("div", { class: "wf-end", role: "gridcell" }, word, took);
  const node = el("div", { class: "wf-row", role: "row", id, onclick: () => choose(row) }, name, track, end);
  let row = null;

  function twisted(e) {
    e.stopPropagation();
    toggle(row);
  }

  function show(next, { index, top, selected, critical, origin }) {
    row = next;
    const { node: item, level, position, size, expanded } = row;
    const { call } = item;
    const attributes = { "aria-level": level, "aria-posinset": position, "aria-setsize": size, "aria-rowindex": index + 2, "aria-selected": selected, "aria-expanded": expanded };
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null) node.removeAttribute(key);
      else if (node.getAttribute(key) !== String(value)) node.setAttribute(key, String(value));
    }
    node.style.translate = "0 " + top + "px";
    node.style.setProperty("--level", String(level - 1));
    mark(node, "key", item.key);
    mark(node, "critical", String(critical));
    mark(twist, "leaf", String(expanded === null));
    mark(twist, "open", String(!!expanded));
    if (call) showCall(call, item, origin);
    else showGroup(item);
  }

  function showCall(call, item, origin) {
    const now = state(call);
    mark(node, "state", call.status);
    setIcon(symbol, now.icon);
    say(tool, call.tool || "unknown");
    say(what, telling(call));
    say(word, call.status === "building_args" ? "Arguments" : now.word.split(" for ")[0]);
    const below = row.expanded === false ? callsBelow(item).length - 1 : 0;
    say(chip, below > 0 ? "+" + plural(below, "call") : call.provider ? "provider" : "");
    say(spoken, sentence(call, origin));
  }

  function showGroup({ group, children }) {
    const calls = children.flatMap(callsBelow);
    const open = calls.filter((c) => !terminal(c.status)).length;
    mark(node, "state", "group");
    setIcon(symbol, "tree");
    say(tool, group);
    chip.hidden = what.hidden = true;
    say(word, open > 0 ? open + " open" : "Sub-agent");
    say(spoken, plural(calls.length, "call"));
  }

  // move places the bar. It reads no layout.
  function move(view, now) {
    const { call } = row.node;
    const span = call ? { from: startOf(call), to: endOf(call, now) } : bounds(callsBelow(row.node), now);
    const percent = (time) => ((view.at(time) - view.from) / (view.to - view.from)) * 100;
    const list = call ? phasesOf(call, now) : [{ phase: "group", ...span }];
    if (list.length === 0) list.push({ phase: "args", from: span.from, to: span.from });
    while (bar.children.length > list.length) bar.lastChild.remove();
    while (bar.children.length < list.length) bar.append(el("i"));
    list.forEach((part, i) => placePart(bar.children[i], part, percent));
    say(took, call && !terminal(call.status) ? elapsed(now - span.from) : duration(call?.durationMs ?? span.to - span.from));
    moveDeadline(call, percent, span.to, now, view.room);
  }

  function placePart(part, { phase, from, to }, percent) {
    const left = Math.max(-1, Math.min(101, percent(from)));
    const right = Math.max(-1, Math.min(101, percent(to)));
    mark(part, "phase", phase);
    part.style.left = left.toFixed(3) + "%";
    part.style.width = Math.max(right - left, percent(to) < 0 || percent(from) > 100 ? 0 : THIN).toFixed(3) + "%";
    const title = phase === "group" ? "" : PHASES[phase] + " " + duration(to - from);
    if (part.title !== title) part.title = title;
  }

  function moveDeadline(call, percent, end, now, room) {
    const open = call && !terminal(call.status) && call.deadline > 0;
    const at = open ? call.deadline : call?.status === "timeout" ? call.endedAt : 0;
    const x = at ? percent(at) : -1;
    due.hidden = !(x >= 0 && x <= 100);
    if (!due.hidden) {
      const from = Math.min(x, percent(end));
      due.style.left = from.toFixed(3) + "%";
      due.style.width = (x - from).toFixed(3) + "%";
    }
    due.title = open ? "closes in " + duration(at - now) : "deadline";
    const rest = at - now;
    const start = call ? percent(startOf(call)) : 0, after = due.hidden ? percent(end) : x;
    const text = open && rest < SOON && (after <= 100 - room || start > room) ? (rest > 0 ? "closes in " + Math.ceil(rest / 1_000) + " s" : "its time is up") : "";
    say(soon, text);
    soon.style.left = after > 100 - room ? "auto" : Math.max(0, after) + "%";
    soon.style.right = after > 100 - room ? 100 - Math.min(100, start) + "%" : "auto";
  }

  // sentence returns the bar in words. It changes with the state only.
  function sentence(call, origin) {
    const open = !terminal(call.status);
    const parts = phasesOf(call, endOf(call, startOf(call))).map((p) => PHASES[p.phase] + " " + duration(p.to - p.from));
    return ["starts at " + offset(startOf(call) - origin, 10), ...(open ? [] : parts), open ? "" : "took " + duration(call.durationMs ?? 0),
      open && call.deadline ? "has a deadline" : ""].filter(Boolean).join(", ");
  }

  return { node, show, move };
}
