// The search in the calls of a session: which calls it shows, and its bar.

import { el, say } from "./dom.js";
import { terminal } from "./reduce.js";
import { plural } from "./words.js";

const SETTLED = 300; // ms without another key until the number of calls is announced

// searchBar returns {active(), parts(), set(parts), draw(state, list, now), focus(), clear()};
// parts are those of a place. changed(byReader)
// is called when the search has changed. draw hides the calls in list that the search
// leaves out, and the items without others.
export function searchBar(root, { changed }) {
  const text = el("input", { type: "search", id: "find", autocomplete: "off", spellcheck: "false", placeholder: "Search calls", "aria-label": "Search calls", oninput: update });
  const status = el("select", { "aria-label": "Status", onchange: update }, el("option", { value: "" }, "Any status"),
    ...Object.entries(STATUSES).map(([value, label]) => el("option", { value }, label)));
  const tool = el("select", { "aria-label": "Tool", onchange: update }, el("option", { value: "" }, "Any tool"));
  const least = el("input", { type: "number", min: "0", step: "0.5", id: "find-least", "aria-label": "Minimum duration in seconds", placeholder: "min. s", oninput: update });
  const reset = el("button", { type: "button", class: "quiet", hidden: true, onclick: clear }, "Clear");
  const found = el("p", { class: "found", hidden: true });
  const spoken = el("p", { class: "sr", role: "status", id: "found" });
  root.prepend(el("div", { class: "search-row" }, text, status, tool, least, reset), found, spoken);
  let search = NONE, shows = matcher(NONE), timer = 0, tools = "", hidden = false, wanted = ""; // wanted: a tool without a call yet

  function update(byReader) {
    search = { text: text.value, status: status.value, tool: tool.value, least: Number(least.value) * 1_000 || 0 };
    shows = matcher(search);
    reset.hidden = isNone(search);
    clearTimeout(timer);
    timer = setTimeout(() => say(spoken, isNone(search) ? "" : found.textContent), SETTLED);
    changed(!!byReader);
  }

  function set(parts, byReader = false) {
    text.value = parts.find, status.value = parts.status, least.value = parts.least, tool.value = wanted = parts.tool;
    update(byReader);
  }

  function clear() {
    set({ find: "", status: "", least: "", tool: "" }, true);
    text.focus();
  }

  function drawTools(state) {
    const names = [...new Set(Array.from(state.calls.values(), (c) => c.tool))].filter(Boolean).sort();
    const key = JSON.stringify(names);
    if (key === tools) return;
    tools = key;
    const chosen = tool.value || wanted;
    tool.replaceChildren(el("option", { value: "" }, "Any tool"), ...names.map((name) => el("option", { value: name }, name)));
    tool.value = names.includes(chosen) ? chosen : "";
    if (tool.value !== search.tool) update();
  }

  return {
    active: () => !isNone(search),
    parts: () => ({ find: text.value, status: status.value, tool: tool.value || wanted, least: least.value }),
    set,
    shows: (call, now) => shows(call, now),
    draw(state, list, now) {
      drawTools(state);
      if (isNone(search) && !hidden) return;
      hidden = !isNone(search);
      let n = 0;
      for (const card of list.querySelectorAll(".card")) {
        const call = state.calls.get(card.dataset.call);
        card.hidden = call !== undefined && !shows(call, now);
      }
      // Without a call that is shown, an item would only be an empty frame.
      for (const item of list.children) item.hidden = hidden && !item.querySelector(".card:not([hidden])");
      for (const call of state.calls.values()) if (shows(call, now)) n++;
      say(found, !hidden ? "" : n > 0 ? n + " of " + plural(state.tally.calls, "call") : "No call " + (text.value ? "with “" + text.value + "” " : "") + "is shown by this search");
    },
    focus() { text.focus(), text.select(); },
    clear,
  };
}

// ---- which calls a search shows

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

// readable returns the texts of a call that are searched, its names first.
export function readable(call) {
  const { outcome, late, reason } = call;
  return [
    call.session, call.id, call.call, call.tool, call.namespace, call.args.text || call.argsRef?.preview || "",
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
