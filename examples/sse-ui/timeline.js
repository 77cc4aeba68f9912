// The conversation: runs, messages and notices in order. Each is drawn once, and
// again only if its record has changed.

import { el, icon, say, mark } from "./dom.js";
import { createCard, where, agentOf } from "./card.js";
import { duration, time, plural } from "./words.js";

const ROLES = { assistant: "Assistant", ai: "Assistant", "": "Assistant", human: "You", user: "You", system: "System", tool: "Tool" };
const RUN_ENDS = { completed: "Run completed", error: "Run failed", cancelled: "Run cancelled", interrupted: "Run paused, waiting for you" };
const RUN_ICONS = { completed: "check", error: "cross", cancelled: "stop", interrupted: "hand" };
const USUAL_ENDS = new Set(["", "stop", "tool_calls", "tool_use", "end_turn", "function_call", "completed", "STOP"]);

// timeline draws into root. draw(state, changed, until) draws new and changed
// items until the given time of performance.now(). It removes drawn items from
// changed and returns whether all are drawn.
export function timeline(root, actions) {
  const views = new Map(); // record → {node, update}
  const cards = new Map(); // call → card
  let drawn = 0;

  function cardOf(call) {
    let card = cards.get(call);
    if (!card) cards.set(call, (card = createCard(call, actions)));
    return card;
  }

  function make(item) {
    if (item.kind === "run") return runStart(item);
    if (item.kind === "message") return messageView(item, cardOf);
    if (item.kind === "end") return runEnd(item);
    return noticeView(item);
  }

  function forget(item) {
    const view = views.get(item);
    if (!view) return;
    view.node.remove();
    views.delete(item);
    drawn--;
    for (const block of item.blocks ?? []) for (const call of block.calls ?? []) cards.delete(call);
  }

  return {
    draw(state, changed, until) {
      for (const item of state.forgotten.splice(0)) forget(item);
      while (drawn < state.timeline.length) {
        if (performance.now() > until) return false;
        const item = state.timeline[drawn++];
        const view = make(item);
        views.set(item, view);
        changed.delete(item);
        root.append(view.node);
      }
      for (const record of changed) {
        if (performance.now() > until) return false;
        changed.delete(record);
        (cards.get(record) ?? views.get(record))?.update();
      }
      return true;
    },
    // tick updates the timers of the given calls.
    tick(calls, now) {
      for (const call of calls) cards.get(call)?.tick(now);
    },
    clear() {
      root.replaceChildren();
      views.clear(), cards.clear();
      drawn = 0;
    },
  };
}

function runStart(run) {
  const node = el("li", { class: "run", "data-run": run.id },
    el("h2", {}, "Run"), el("time", {}, time(run.startedAt)), el("code", {}, run.id));
  return { node, update() {} };
}

function runEnd({ run, pending }) {
  const took = run.startedAt && run.endedAt > run.startedAt ? " after " + duration(run.endedAt - run.startedAt) : "";
  const node = el("li", { class: "run-end", "data-status": run.status },
    icon(RUN_ICONS[run.status] ?? "check"), el("strong", {}, RUN_ENDS[run.status] ?? "Run ended"), took,
    run.reason?.text ? el("span", { class: "why" }, run.reason.text) : null,
    pending.length > 0 ? el("span", { class: "why" }, plural(pending.length, "call") + " still waiting for a result from outside") : null);
  return { node, update() {} };
}

function noticeView(n) {
  const said = el("span"), more = el("code");
  const node = el("li", { class: "notice", "data-notice": n.what }, icon("info"), said, more);
  function update() {
    const [text, detail] = noticeOf(n);
    say(said, text);
    say(more, detail);
  }
  update();
  return { node, update };
}

// noticeOf returns the text of a notice and its detail.
function noticeOf(n) {
  if (n.what === "rejected") {
    const inputs = n.times > 1 ? n.times + " inputs were" : "An input was";
    const which = n.input === undefined ? "" : n.last === n.input ? "input " + n.input : "inputs " + n.input + " to " + n.last;
    return [
      inputs + " rejected: " + (n.reason?.text || n.reason?.code || "no reason given"),
      [n.reason?.code, which, n.offset === undefined || n.times > 1 ? "" : "byte " + n.offset].filter(Boolean).join(", "),
    ];
  }
  if (n.what === "unmatched") return [(n.of === "progress" ? "A progress report" : "A stop") + " named nothing that is open", targetOf(n.target)];
  return ["A result came for a call that was never seen" + (n.tool ? ": " + n.tool : ""), n.id];
}

// targetOf returns the text for the target of an input.
function targetOf(t) {
  const names = [...(t.tool_call_ids ?? []), ...(t.calls ?? [])];
  if (t.more) names.push(t.more + " more");
  if (t.message_id) names.push("message " + t.message_id);
  if (t.run) names.push("run " + t.run);
  return names.join(", ");
}

function messageView(message, cardOf) {
  const role = el("span", { class: "role", title: message.namespace || null });
  const head = el("header", {}, role, el("time", {}, time(message.at)));
  if (message.choice > 0) head.append(el("span", { class: "chip" }, "choice " + (message.choice + 1)));
  const foot = el("p", { class: "foot", hidden: true });
  const node = el("li", { class: "message", "data-message": message.id, "data-role": message.role || "assistant" }, head, foot);
  const blocks = [];

  function update() {
    say(role, speaker(message));
    node.classList.toggle("nested", message.parentTool !== "" || agentOf(message.namespace) !== "");
    for (let i = blocks.length; i < message.blocks.length; i++) {
      const block = message.blocks[i];
      blocks.push(block.kind === "calls" ? callsView(block, cardOf) : textView(block));
      node.insertBefore(blocks[i].node, foot);
    }
    for (const b of blocks) b.update();
    mark(node, "superseded", String(message.superseded));
    say(foot, footOf(message));
  }
  update();
  return { node, update };
}

// speaker returns the name above a message. Some namespaces are only the id of the call
// that started the sub-agent.
function speaker({ namespace, role, parentTool }) {
  const who = ROLES[role] ?? role;
  if (role === "user" || !namespace) return who;
  return parentTool && !agentOf(namespace) ? parentTool : where(namespace);
}

function footOf(m) {
  const said = [];
  if (m.superseded) said.push("Cut off before its end");
  if (!USUAL_ENDS.has(m.finishReason)) said.push("Ended by “" + m.finishReason + "”");
  const u = m.usage ?? {};
  const taken = u.input_tokens ?? u.prompt_tokens, given = u.output_tokens ?? u.completion_tokens;
  if (taken !== undefined && given !== undefined) said.push(taken + " tokens in, " + given + " out");
  return said.join(" · ");
}

function callsView(block, cardOf) {
  const node = el("div", { class: "calls" });
  let shown = 0;
  return {
    node,
    update() {
      while (shown < block.calls.length) node.append(cardOf(block.calls[shown++]).node);
    },
  };
}

function textView(block) {
  const text = document.createTextNode("");
  const thought = block.kind === "reasoning";
  const p = el("p", { class: "text" }, text);
  const title = el("summary");
  const node = thought ? el("details", { class: "reasoning" }, title, p) : p;
  return {
    node,
    update() {
      // Text only grows.
      if (block.text.length > text.length) text.appendData(block.text.slice(text.length));
      node.classList.toggle("live", !block.done);
      if (thought) say(title, block.done ? "Reasoning" : "Reasoning…");
      if (block.missing > 0) node.title = "Some of this text was missed";
    },
  };
}
