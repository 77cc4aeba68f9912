// The card of one tool call.

import { el, icon, setIcon, say, mark } from "./dom.js";
import { terminal } from "./reduce.js";
import { looksLikeJSON, valueBox } from "./value.js";
import { copyButton, copyRow, excerptOf } from "./copies.js";
import { shield } from "./keys.js";
import { state, telling, answered, duration, elapsed, bytes, time, visible } from "./words.js";

const ARGS_SHOWN = 16 << 10; // characters before a button
const RESULT_SHOWN = 4 << 10;

// RICH values are hard to read as JSON: edits, commands, lists of objects, images, long texts. Others
// are rendered when their call is chosen.
const RICH = /\[\s*\{|"(?:old_?[st]|patch|diff|command|cmd)\w*"\s*:|data:image\/|^(?:diff --git |--- |\*\*\* Begin)|\\n/;

// TOOLS are texts about the tool of a call that was closed.
const TOOLS = { stopped: "The tool stopped", finished_anyway: "The tool ran on to its end", unknown: "The tool may still be running, reported" };

// where returns a namespace for display: the names of the graph, without the
// ids that LangGraph appends to them.
export function where(namespace) {
  return namespace.split("|").map((step) => step.split(":")[0]).join(" › ");
}

// agentOf returns the sub-agent of a namespace, "" for the root graph. The last
// step is the node that produces the message.
export const agentOf = (namespace) => where(namespace.split("|").slice(0, -1).join("|"));

// createCard returns {node, update(call, folded), tick(now, lost)}. A folded card has only its
// first lines, and lost is the time for which its state has been unknown. actions has stopCall(call),
// answer(call, body), a promise of when the answer of a person is stored,
// stopping (the set of keys of calls whose stop was requested), frames(call), which
// shows the frames of a call, message(key) and call(key), which show a message and the card of
// another call, args(call) and result(call), promises of the whole
// values, later(), a promise of answerForm, and what copyRow needs. Of several cards with roving, the tab key
// reaches only one.
export function createCard(call, actions, roving = false) {
  const symbol = icon("run");
  const name = el("h3");
  const word = el("span", { class: "word" });
  const what = el("span", { class: "what" });
  const because = el("span", { class: "because" });
  const countdown = el("span", { class: "countdown because", "aria-hidden": "true", hidden: true });
  const chips = el("span", { class: "chips" });
  const timer = el("span", { class: "elapsed", "aria-hidden": "true" });
  const exact = el("span", { class: "sr" });
  const stop = el("button", { type: "button", class: "stop-call", onclick: askStop, onblur: () => (stop.hidden = terminal(call.status)) }, icon("stop"));
  const body = el("div", { class: "body" });
  const more = details(actions);
  const left = el("div", { class: "left", "aria-hidden": "true", hidden: true }, el("i"));
  const node = el("article", { class: "card", tabindex: roving && "-1", "data-call": call.call },
    el("header", {}, symbol,
      el("div", { class: "title" }, name, what, el("p", { class: "state" }, word, because)),
      timer, exact));
  symbol.classList.add("badge");
  const base = el("div", { class: "base" }, more.node, chips);

  // The parts of the body are created when they have content.
  let parts = {};
  const order = ["before", "args", "argsNote", "progress", "ask", "answered", "reason", "tool", "message", "result", "late"];
  let fresh = true; // there are new controls
  function part(which, make) {
    if (parts[which]) return parts[which];
    fresh = true;
    const made = make();
    const root = made.node ?? made;
    const next = order.slice(order.indexOf(which) + 1).map((n) => parts[n]?.node ?? parts[n]).find(Boolean);
    body.insertBefore(root, next ?? null);
    return (parts[which] = made);
  }
  const note = (which, text, cls = which) => {
    if (text !== "" || parts[which]) say(part(which, () => el("p", { class: "note " + cls })), text);
  };

  const link = (text, onclick) => el("button", { type: "button", class: "link", onclick }, text);

  function askStop() {
    if (!terminal(call.status) && !actions.stopping.has(call.call)) actions.stopCall(call);
  }

  function updateStop(open) {
    // A button that has the focus stays until it loses it.
    stop.hidden = !open && document.activeElement !== stop;
    const asked = actions.stopping.has(call.call), name = call.tool || "unnamed tool";
    stop.setAttribute("aria-disabled", String(asked || !open));
    const label = visible(!open ? name + " has ended" : asked ? "Stop of " + name + " requested" : "Stop " + name);
    if (stop.title === label) return;
    stop.title = label;
    stop.setAttribute("aria-label", label);
  }

  // render shows a whole value as the renderers of the page make it.
  async function render(which, side, text) {
    const { value } = parts[which], args = call.args.text;
    if (value.rendered === text || !(node.dataset.chosen === "true" || RICH.test(text) || (side === "result" && RICH.test(args)))) return;
    value.rendered = text;
    const made = (await actions.renderers())?.draw(side, text, call);
    if (!made || parts[which]?.value !== value || value.rendered !== text) return;
    value.view(made);
    if (roving) shield(node);
  }

  // fold removes all but the first lines, or adds it.
  function fold(folded) {
    if (String(folded) === node.dataset.folded) return;
    mark(node, "folded", String(folded));
    if (!folded) return void (because.after(countdown), node.firstChild.append(stop), node.append(body, base, left));
    for (const part of [countdown, stop, body, base, left]) part.remove();
    body.replaceChildren();
    parts = {};
  }

  function update(next = call, folded = false) {
    call = next;
    const now = state(call);
    const open = !terminal(call.status);
    fold(folded);
    mark(node, "state", call.status);
    mark(node, "tool", call.tool);
    mark(node, "open", String(open));
    say(name, call.tool || "unnamed tool");
    say(what, telling(call));
    if (node.getAttribute("aria-label") !== name.textContent) node.setAttribute("aria-label", name.textContent);
    setIcon(symbol, now.icon);
    say(word, now.word);
    say(because, now.because);
    if (!open) {
      say(timer, call.durationMs === undefined ? "" : duration(call.durationMs));
      say(exact, call.durationMs === undefined ? "" : "after " + duration(call.durationMs));
      left.hidden = true;
      say(countdown, "");
    }
    if (folded) return;
    updateStop(open);
    updateChips();
    if (call.replaces) part("before", () => link("Show the attempt before", () => actions.call(call.replaces)));
    updateArgs();
    updateProgress();
    if (call.status === "awaiting_input" || parts.ask) part("ask", () => ask(actions)).show(call);
    note("answered", answered(call.answer));
    updateOutcome();
    updateLate();
    more.show(call);
    if (roving && (fresh || more.node.open)) shield(node);
    fresh = false;
  }

  let chipText = "";
  function updateChips() {
    const list = [];
    const agent = agentOf(call.namespace);
    if (agent) list.push(["sub-agent " + agent, call.namespace]);
    if (call.parentTool) list.push(["from " + call.parentTool, call.parent]);
    if (call.provider) list.push(["run by the provider", ""]);
    if (call.type && call.type !== "function" && call.type !== "server") list.push([call.type, ""]);
    if (actions.stopping.has(call.call) && !terminal(call.status)) list.push(["stop requested", ""]);
    if (call.partial) list.push(["its beginning is no longer stored", ""]);
    const text = list.join("\n");
    if (text === chipText) return;
    chipText = text;
    chips.replaceChildren(...list.map(([t, title]) => el("span", { class: "chip", title: title || null }, t)));
  }

  function updateArgs() {
    const beginning = call.argsRef && !call.args.text; // only the beginning is known
    const text = beginning ? excerptOf(call.argsRef.preview) : call.args.text;
    const rest = beginning ? { size: call.argsRef.size, load: () => actions.args(call) } : null;
    if (text !== "") part("args", () => boxOf("Arguments of " + call.tool, ARGS_SHOWN)).value.show(text, looksLikeJSON(text), rest);
    if (text !== "" && call.argsDone && !rest) render("args", "args", text);
    const cut = (terminal(call.status) || call.cut) && !call.argsDone;
    mark(body, "args", call.argsDone ? "complete" : cut ? "cut" : "live");
    let say = "";
    if (call.args.missing > 0) say = "Some of the arguments were missed; what follows is left out.";
    else if (cut && text === "") say = "No arguments had arrived.";
    else if (cut) say = "The arguments were cut off here.";
    else if (!call.argsValid) say = "The arguments are not valid JSON" + (call.argsError ? ": " + call.argsError : ".");
    note("argsNote", say, "warn");
  }

  function updateProgress() {
    if (!call.progress && !parts.progress) return;
    const box = part("progress", () => el("div", { class: "progress" }, el("progress", { max: "100", "aria-label": "Progress" }), el("span")));
    box.hidden = !call.progress;
    if (!call.progress) return;
    const { text, percent } = call.progress;
    const [bar, words] = box.children;
    if (percent === undefined) bar.removeAttribute("value");
    else bar.value = percent;
    say(words, [text, percent === undefined ? "" : Math.round(percent) + " %"].filter(Boolean).join(", "));
  }

  function updateOutcome() {
    const { outcome } = call;
    if (!outcome) return;
    const text = call.reason?.text ?? "";
    note("reason", [text, call.reason?.detail ? "Reason given: “" + call.reason.detail + "”." : ""].filter(Boolean).join(" "));
    // A synthetic result repeats the text of the reason.
    if (call.closedBy) part("message", () => link(call.reason?.code === "superseded" ? "Show the new attempt" : "Show the message",
      () => (call.replacedBy ? actions.call(call.replacedBy) : actions.message(call.closedBy))));
    if (!call.synthetic || !text) showResult("result", call.status === "error" ? "Error" : "Result", outcome, "result");
  }

  function updateLate() {
    if (call.status === "cancelled" || parts.tool) {
      note("tool", call.late || call.status !== "cancelled" ? "" : call.argsDone ? "Whether the tool stopped is not known." : "The tool was not started.", "warn");
    }
    if (!call.late) return;
    const again = call.lateCount > 1 ? ", the last of " + call.lateCount : "";
    const title = TOOLS[call.late.tool] ?? "Arrived late" + (call.late.at ? " at " + time(call.late.at) : "") + again + (call.late.conflict ? "; it differs from the result above" : "");
    showResult("late", title, call.late, "result late");
  }

  function showResult(which, title, outcome, cls) {
    const text = outcome.ref ? excerptOf(outcome.ref.preview) : textOf(outcome.value);
    const rest = outcome.ref ? { size: outcome.ref.size, load: () => whole(outcome) } : null;
    const box = part(which, () => {
      const value = valueBox(title + " of " + call.tool, RESULT_SHOWN);
      const heading = el("span");
      const copy = copyButton("copy", "Copy the result of " + call.tool, () => whole(outcome));
      return { node: el("div", { class: cls }, el("p", { class: "label" }, heading, copy), value.node), heading, value, copy };
    });
    box.value.node.hidden = text === "";
    box.copy.hidden = text === "" && !!outcome.tool; // the tool reported no result
    box.value.show(text, looksLikeJSON(text), rest);
    if (text !== "" && !rest) render(which, "result", text);
    say(box.heading, text === "" && !outcome.tool ? title + ": empty" : title);
  }

  const whole = async (outcome) => textOf(await actions.result({ outcome }));

  function tick(now, lost = 0) {
    if (terminal(call.status)) return;
    if (lost > 0) return say(countdown, "since " + elapsed(lost));
    if (call.startedAt) say(timer, elapsed(now - call.startedAt));
    const rest = call.deadline - now;
    left.hidden = !call.deadline;
    if (!call.deadline) return say(countdown, "");
    const whole = call.deadline - (call.deadlineFrom || call.startedAt);
    left.firstChild.style.setProperty("--left", Math.max(0, Math.min(1, rest / whole)).toFixed(3));
    mark(left, "near", String(rest < 10_000));
    say(countdown, rest > 0 ? duration(Math.ceil(rest / 1_000) * 1_000) + " left" : "its time is up");
  }

  update();
  return { node, update, tick };
}

// ask returns {node, show(call)}, the form of an answer, which is loaded when it is needed.
function ask(actions) {
  const node = el("div");
  let call, form;
  actions.later().then(({ answerForm }) => {
    node.append((form = answerForm(actions.answer)).node);
    form.show(call);
  });
  return {
    node,
    show(next) {
      call = next;
      form?.show(call);
    },
  };
}

const boxOf = (label, limit) => {
  const value = valueBox(label, limit);
  return { node: value.node, value };
};

const textOf = (value) => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));

// details returns the ids and times of a call, and the buttons that copy it, filled
// when it is opened.
function details(actions) {
  const list = el("dl");
  const node = el("details", { class: "details", ontoggle: refresh }, el("summary", {}, "Details"), list);
  let shown = "", call, more;
  function refresh() {
    if (!node.open) return;
    const rows = [
      ["Call", call.call, true], ["Id", call.id, true], ["Unique id", call.uid !== call.id ? call.uid : "", true],
      ["", call.synthesized ? "The provider gave no id; this one was made up." : "", false],
      ["Message", call.messageId, true], ["Run", call.run, true], ["Namespace", call.namespace, true], ["Parent call", call.parent, true],
      ["Started", time(call.startedAt), false], ["Arguments took", call.argsMs === undefined ? "" : duration(call.argsMs), false],
      ["Ran for", call.runMs === undefined ? "" : duration(call.runMs), false],
      ["Waits for", call.waitsFor, false], ["Interrupt", call.interrupt, true],
      ["Arguments", call.args.text, "copy"],
    ].filter(([, value]) => value);
    if (shown === (shown = JSON.stringify(rows))) return;
    more ??= addActions(node, () => call, actions);
    list.replaceChildren(...rows.flatMap(([term, value, copy]) => [el("dt", {}, term), row(term, value, copy)]));
  }
  return {
    node,
    show(next) {
      call = next;
      refresh();
    },
  };
}

function addActions(node, call, actions) {
  const frames = el("button", { type: "button", class: "copy", onclick: () => actions.frames(call()) }, "show its frames");
  node.append(copyRow(call, actions) ?? "", frames);
  return frames;
}

function row(term, value, copy) {
  const dd = el("dd", {}, copy === "copy" ? bytes(value.length) : copy ? el("code", {}, value) : value);
  const button = copy ? copyButton("copy", "Copy " + term.toLowerCase(), () => value) : null;
  if (button) dd.append(button);
  return dd;
}
