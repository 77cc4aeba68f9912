// The card of one tool call.

import { el, icon, setIcon, say, mark } from "./dom.js";
import { terminal } from "./reduce.js";
import { looksLikeJSON } from "./json.js";
import { valueBox } from "./value.js";
import { state, duration, elapsed, bytes, time } from "./words.js";

const ARGS_SHOWN = 16 << 10; // characters before a button
const RESULT_SHOWN = 4 << 10;

// where returns a namespace for display: the names of the graph, without the
// ids that LangGraph appends to them.
export function where(namespace) {
  return namespace.split("|").map((step) => step.split(":")[0]).join(" › ");
}

// agentOf returns the sub-agent of a namespace, "" for the root graph. The last
// step is the node that produces the message.
export const agentOf = (namespace) => where(namespace.split("|").slice(0, -1).join("|"));

// createCard returns {node, update(call), tick(now)}. actions has stopCall(call),
// stopping (the set of keys of calls whose stop was requested) and link(seq, what).
export function createCard(call, actions) {
  const title = "card-" + call.call;
  const symbol = icon("run");
  const name = el("h3", { id: title });
  const word = el("span", { class: "word" });
  const because = el("span", { class: "because" });
  const chips = el("span", { class: "chips" });
  const timer = el("span", { class: "elapsed", "aria-hidden": "true" });
  const exact = el("span", { class: "sr" });
  const stop = el("button", { type: "button", class: "stop-call", onclick: () => actions.stopCall(call) }, icon("stop"));
  const body = el("div", { class: "body" });
  const left = el("div", { class: "left", "aria-hidden": "true", hidden: true }, el("i"));
  const node = el("article", { class: "card", "data-call": call.call, "aria-labelledby": title },
    el("header", {}, el("span", { class: "badge" }, symbol),
      el("div", { class: "title" }, name, el("p", { class: "state" }, word, because)),
      el("div", { class: "side" }, timer, exact, stop)),
    chips, body, left);

  // The parts of the body are created when they have content.
  const parts = {};
  const order = ["args", "argsNote", "progress", "countdown", "reason", "result", "late", "details"];
  function part(which, make) {
    if (parts[which]) return parts[which];
    const made = make();
    const root = made.node ?? made;
    const next = order.slice(order.indexOf(which) + 1).map((n) => parts[n]?.node ?? parts[n]).find(Boolean);
    body.insertBefore(root, next ?? null);
    return (parts[which] = made);
  }
  const note = (which, text, cls = which) => {
    if (text !== "" || parts[which]) say(part(which, () => el("p", { class: "note " + cls })), text);
  };

  function update(next = call) {
    call = next;
    const now = state(call);
    const open = !terminal(call.status);
    mark(node, "state", call.status);
    mark(node, "tool", call.tool);
    mark(node, "open", String(open));
    say(name, call.tool || "unnamed tool");
    setIcon(symbol, now.icon);
    say(word, now.word);
    say(because, now.because);
    stop.hidden = !open;
    stop.disabled = actions.stopping.has(call.call);
    const stopLabel = actions.stopping.has(call.call) ? "Stop of " + call.tool + " requested" : "Stop " + call.tool;
    if (stop.title !== stopLabel) {
      stop.title = stopLabel;
      stop.setAttribute("aria-label", stopLabel);
    }
    updateChips();
    updateArgs();
    updateProgress();
    updateOutcome();
    updateLate();
    if (!open) {
      say(timer, call.durationMs === undefined ? "" : duration(call.durationMs));
      say(exact, call.durationMs === undefined ? "" : "after " + duration(call.durationMs));
      left.hidden = true;
      if (parts.countdown) parts.countdown.hidden = true;
    }
    part("details", details).show(call);
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
    const text = call.args.text || call.argsRef?.preview || "";
    if (text !== "") part("args", () => valueBox("Arguments of " + call.tool, ARGS_SHOWN)).show(text, looksLikeJSON(text));
    const cut = terminal(call.status) && !call.argsDone;
    mark(body, "args", call.argsDone ? "complete" : cut ? "cut" : "live");
    let say = "";
    if (call.args.missing > 0) say = "Some of the arguments were missed; what follows is left out.";
    else if (cut && text === "") say = "No arguments had arrived.";
    else if (cut) say = "The arguments were cut off here.";
    else if (!call.argsValid) say = "The arguments are not valid JSON" + (call.argsError ? ": " + call.argsError : ".");
    else if (call.argsRef && !call.args.text) say = "The beginning of " + bytes(call.argsRef.size) + " of arguments.";
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
    if (!call.synthetic || !text) showResult("result", call.status === "error" ? "Error" : "Result", outcome, "result");
  }

  function updateLate() {
    if (!call.late) return;
    const again = call.lateCount > 1 ? ", the last of " + call.lateCount : "";
    const title = "Arrived late" + (call.late.at ? " at " + time(call.late.at) : "") + again + (call.late.conflict ? "; it differs from the result above" : "");
    showResult("late", title, call.late, "result late");
  }

  function showResult(which, title, outcome, cls) {
    const text = outcome.ref ? outcome.ref.preview : typeof outcome.value === "string" ? outcome.value : outcome.value === undefined ? "" : JSON.stringify(outcome.value);
    const box = part(which, () => {
      const value = valueBox(title + " of " + call.tool, RESULT_SHOWN);
      const head = el("p", { class: "label" });
      return { node: el("div", { class: cls }, head, value.node), head, value };
    });
    box.value.node.hidden = text === "";
    box.value.show(text, looksLikeJSON(text));
    const heading = text === "" ? title + ": empty" : title;
    if (box.head.firstChild?.data !== heading) box.head.replaceChildren(heading);
    if (outcome.ref && box.head.children.length === 0) {
      box.head.append(el("a", { href: actions.link(outcome.seq, "result"), target: "_blank", rel: "noopener" }, "open all " + bytes(outcome.ref.size)));
    }
  }

  function tick(now) {
    if (terminal(call.status)) return;
    if (call.startedAt) say(timer, elapsed(now - call.startedAt));
    const rest = call.deadline - now;
    left.hidden = !call.deadline;
    if (!call.deadline) {
      if (parts.countdown) parts.countdown.hidden = true;
      return;
    }
    const whole = call.deadline - (call.deadlineFrom || call.startedAt);
    left.firstChild.style.setProperty("--left", Math.max(0, Math.min(1, rest / whole)).toFixed(3));
    mark(left, "near", String(rest < 10_000));
    const text = rest > 0 ? "Closes in " + duration(Math.ceil(rest / 1_000) * 1_000) + (call.argsDone ? " without a result" : " if nothing more comes") : "Its time is up";
    say(part("countdown", () => el("p", { class: "note countdown", "aria-hidden": "true" })), text);
  }

  update();
  return { node, update, tick };
}

// details returns the ids and times of a call, filled when it is opened.
function details() {
  const list = el("dl");
  const node = el("details", { class: "details", ontoggle: refresh }, el("summary", {}, "Details"), list);
  let shown = "", call = null;
  node.show = (next) => {
    call = next;
    refresh();
  };
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
    list.replaceChildren(...rows.flatMap(([term, value, copy]) => [el("dt", {}, term), row(term, value, copy)]));
  }
  return node;
}

function row(term, value, copy) {
  const dd = el("dd", {}, copy === "copy" ? bytes(value.length) : copy ? el("code", {}, value) : value);
  if (!copy || !navigator.clipboard) return dd;
  const button = el("button", { type: "button", class: "copy", "aria-label": "Copy " + term.toLowerCase() }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(value);
      button.textContent = "copied";
    } catch {
      button.textContent = "not allowed";
    }
    setTimeout(() => (button.textContent = "copy"), 1_500);
  });
  dd.append(button);
  return dd;
}
