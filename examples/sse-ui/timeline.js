// The conversation: runs, messages and notices in order. Each is drawn once, and
// again only if its record has changed.

import { el, icon, say, mark } from "./dom.js";
import { createCard, where, agentOf } from "./card.js";
import { agentKey } from "./rows.js";
import { create, terminal } from "./reduce.js";
import { changes } from "./table.js";
import { isMarkdown, markdown } from "./markdown.js";
import { duration, time, plural, tally, answered } from "./words.js";

const ROLES = { assistant: "Assistant", ai: "Assistant", "": "Assistant", human: "You", user: "You", system: "System", tool: "Tool" };
const RUN_ENDS = { completed: "Run completed", error: "Run failed", cancelled: "Run cancelled", interrupted: "Run paused" };
const RUN_ICONS = { completed: "check", error: "cross", cancelled: "stop", interrupted: "hand" };
const LONG = 100; // items or calls from which only those near the window are drawn
const GROUP = 24; // calls of a message that are one grid, full in 2, 3 or 4 columns
const MANY = 20; // calls above which those that have ended are folded
const USUAL_ENDS = new Set(["", "stop", "tool_calls", "tool_use", "end_turn", "function_call", "completed", "STOP"]);

// timeline draws into root. draw(state, until, now) draws what differs from the
// state drawn before, until the given time of performance.now(), and returns
// whether all is drawn. now is the time of timers. touched names calls that are
// drawn again although their state is the same. node(key) returns the element of
// an item.
export function timeline(root, actions) {
  const views = new Map(); // key of an item → {node, update}
  const cards = new Map(); // key of a call → card
  const touched = new Set(), outdated = new Set(); // keys of calls, and of items whose view is made again
  const groups = agentGroups(root, (key) => views.get(key)?.node);
  const visible = new Set(), byNode = new WeakMap(); // groups of cards in the window, the only ones with timers
  let drawn = create(), queue = [], time = 0, many = false, chosen = "";

  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const group = byNode.get(target);
      if (!isIntersecting) visible.delete(group);
      else visible.add(group), group.forEach((card) => card.tick(time));
    }
  });

  function cardOf(key) {
    let card = cards.get(key);
    if (card) return card;
    cards.set(key, (card = createCard(drawn.calls.get(key), actions, true)));
    updateCard(key);
    card.tick(time); // or its height would change when it is seen
    return card;
  }

  // gridOf returns the node of a group of cards.
  function gridOf(group) {
    const node = el("div", { class: "calls" });
    byNode.set(node, group);
    watch.observe(node);
    return node;
  }

  function updateCard(key) {
    const call = drawn.calls.get(key);
    if (call) cards.get(key)?.update(call, many && key !== chosen && terminal(call.status));
  }

  function make(item) {
    if (item.kind === "run") return runStart(item);
    if (item.kind === "message") return messageView(item, cardOf, gridOf);
    if (item.kind === "end") return runEnd(item, (key) => drawn.calls.get(key));
    return noticeView(item);
  }

  function forget(key) {
    views.get(key)?.node.remove();
    views.delete(key);
    groups.leave(key);
  }

  // compare queues what differs between the state drawn before and the next.
  function compare(state) {
    const earlier = state.counts.events < drawn.counts.events;
    if (earlier && state.timeline.at(0)?.key !== drawn.timeline.at(0)?.key) clear();
    const items = changes(drawn.timeline, state.timeline), calls = changes(drawn.calls, state.calls);
    drawn = state;
    if (earlier) rewind(items, calls);
    for (const key of items.gone) forget(key);
    for (const key of calls.gone) cards.delete(key);
    queue = [...new Set([...queue, ...items.set.map(([key]) => key), ...calls.set.flatMap(([, call]) => call.ends)])];
    for (const [key, call] of calls.set) {
      touched.add(key);
      groups.changed(call.message);
    }
  }

  // rewind makes new views of what differs in an earlier state, because views only grow.
  function rewind(items, calls) {
    const messages = calls.set.map(([, call]) => [call.message, drawn.timeline.get(call.message)]);
    items.set.push(...messages.filter(([, message]) => message));
    for (const [key] of items.set) {
      outdated.add(key);
      for (const block of drawn.timeline.get(key).blocks ?? []) for (const call of block.calls ?? []) cards.delete(call);
    }
  }

  // drawItem returns whether all of an item is drawn: a message can have many calls.
  function drawItem(key, until) {
    const item = drawn.timeline.get(key), before = views.get(key);
    if (!item) return true;
    if (!before || outdated.delete(key)) {
      views.set(key, make(item));
      before?.node.replaceWith(views.get(key).node);
    }
    const view = views.get(key);
    groups.place(item, view.node, drawn);
    return view.update(item, until) !== false;
  }

  function clear() {
    root.replaceChildren();
    views.clear(), cards.clear(), touched.clear(), outdated.clear(), groups.clear();
    drawn = create(), queue = [];
  }

  return {
    touched,
    // choose unfolds the card of a call, and folds the one chosen before.
    choose(key) {
      const before = chosen;
      chosen = key;
      for (const one of [before, key]) {
        const card = cards.get(one);
        if (card) mark(card.node, "chosen", String(one === key)), updateCard(one);
      }
    },
    node: (key) => views.get(key)?.node,
    draw(state, until, now) {
      time = now;
      if (state !== drawn) compare(state);
      if (many !== (many = drawn.calls.size > MANY)) for (const key of cards.keys()) touched.add(key);
      mark(root, "long", String(drawn.timeline.size > LONG || drawn.calls.size > LONG));
      let at = 0;
      while (at < queue.length && performance.now() <= until && drawItem(queue[at], until)) at++;
      queue = queue.slice(at);
      groups.describe(drawn);
      for (const key of touched) {
        if (performance.now() > until) return false;
        touched.delete(key);
        updateCard(key);
        cards.get(key)?.tick(now);
      }
      return queue.length === 0;
    },
    // tick updates the timers in the window, and all for print.
    tick(now, all = false, lost = 0) {
      time = now;
      for (const card of all ? cards.values() : [...visible].flat()) card.tick(now, lost);
    },
    clear,
  };
}

function runStart(run) {
  const node = el("li", { class: "run", "data-run": run.id },
    el("h2", {}, "Run"), el("time", {}, time(run.startedAt)), el("code", {}, run.id));
  return { node, update() {} };
}

// runEnd shows the end of a run, which changes with the calls that wait: callOf(key) returns one.
function runEnd(end, callOf) {
  const took = end.startedAt && end.endedAt > end.startedAt ? " after " + duration(end.endedAt - end.startedAt) : "";
  const how = el("strong"), waiting = el("span", { class: "why" });
  const node = el("li", { class: "run-end", "data-status": end.status },
    icon(RUN_ICONS[end.status] ?? "check"), how, took,
    end.reason?.text ? el("span", { class: "why" }, end.reason.text) : null, waiting);
  function update(next) {
    const yours = next.waiting.filter((key) => callOf(key)?.status === "awaiting_input").length, n = next.waiting.length - yours;
    const person = yours > 0 || (next.status === "interrupted" && next.pending.length === 0);
    say(how, (RUN_ENDS[next.status] ?? "Run ended") + (person ? ", waiting for you" : ""));
    say(waiting, n > 0 ? plural(n, "call") + " still waiting for a result from outside" : "");
  }
  update(end);
  return { node, update };
}

function noticeView(notice) {
  const said = el("span"), more = el("code");
  const node = el("li", { class: "notice", "data-notice": notice.what }, icon("info"), said, more);
  function update(next) {
    const [text, detail] = noticeOf(next);
    say(said, text);
    say(more, detail);
  }
  update(notice);
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
  if (n.what === "unmatched") return [n.answer ? "Answered already: " + answered(n.answer) : "An input (" + n.of + ") found nothing open", targetOf(n.target)];
  return ["A result came for an unknown call" + (n.tool ? ": " + n.tool : ""), n.id];
}

// targetOf returns the text for the target of an input.
function targetOf(t) {
  const names = [...(t.tool_call_ids ?? []), ...(t.calls ?? [])];
  if (t.more) names.push(t.more + " more");
  if (t.message_id) names.push("message " + t.message_id);
  if (t.run) names.push("run " + t.run);
  return names.join(", ");
}

function messageView(message, cardOf, gridOf) {
  const role = el("span", { class: "role", title: message.namespace || null });
  const head = el("header", {}, role, el("time", {}, time(message.at)));
  if (message.choice > 0) head.append(el("span", { class: "chip" }, "choice " + (message.choice + 1)));
  const foot = el("p", { class: "foot", hidden: true });
  const node = el("li", { class: "message", "data-message": message.id, "data-role": message.role || "assistant" }, head, foot);
  const blocks = [];

  function update(next, until) {
    message = next;
    say(role, speaker(message));
    for (let i = blocks.length; i < message.blocks.length; i++) {
      const block = message.blocks[i];
      blocks.push(block.kind === "calls" ? callsView(cardOf, gridOf) : textView(block));
      node.insertBefore(blocks[i].node, foot);
    }
    mark(node, "superseded", String(message.superseded));
    mark(node, "calls", String(message.blocks.some((b) => b.kind === "calls")));
    say(foot, footOf(message));
    return blocks.every((b, i) => b.update(message.blocks[i], until) !== false);
  }
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

// callsView draws calls in groups: to lay out a grid takes time for each of its items.
function callsView(cardOf, gridOf) {
  const node = el("div", { class: "groups" });
  let shown = 0, group = null, grid = null;
  return {
    node,
    update({ calls }, until) {
      while (shown < calls.length) {
        if (shown % GROUP === 0) node.append((grid = gridOf((group = []))));
        const card = cardOf(calls[shown++]);
        group.push(card);
        grid.append(card.node);
        if (performance.now() > until) break;
      }
      if (grid) mark(grid, "few", shown === 1 || shown === 4 ? String(shown) : "");
      return shown === calls.length;
    },
  };
}

function textView({ kind }) {
  const text = document.createTextNode("");
  const thought = kind === "reasoning";
  const p = el("div", { class: "text", dir: "auto" }, text);
  const title = el("summary");
  const node = thought ? el("details", { class: "reasoning" }, title, p) : p;
  let marked = ""; // the text that is shown as Markdown
  return {
    node,
    update(block) {
      // Text only grows, except when an earlier state is shown.
      const shown = block.done && isMarkdown(block.text) ? block.text : "";
      if (shown !== marked) p.replaceChildren(...(shown ? markdown(shown) : [text]));
      marked = shown;
      if (block.text.length > text.length) text.appendData(block.text.slice(text.length));
      else if (block.text.length < text.length) text.data = block.text;
      node.classList.toggle("live", !block.done);
      if (thought) say(title, block.done ? "Reasoning" : "Reasoning…");
      node.title = block.missing > 0 ? "Some of this text was missed" : "";
    },
  };
}

// ---- sub-agents

// groupOf returns the key of the group of a message, "" for a message of the root.
function groupOf(message) {
  if (message.parentCall) return "call " + message.parentCall;
  return agentOf(message.namespace) === "" && !message.parentTool ? "" : "agent " + message.run + " " + agentKey(message);
}

// agentGroups places items in root: the messages of a sub-agent in a group below the
// call that started it, which can be collapsed. nodeOf(key) returns the element of an item of
// the timeline.
function agentGroups(root, nodeOf) {
  const groups = new Map(); // key → group
  const members = new Map(); // key of a message → group
  const outdated = new Set();

  function create(key, item, state) {
    const name = el("span", { class: "agent-name" }), counts = el("span", { class: "agent-counts" });
    const list = el("ol");
    const node = el("li", { class: "agent" }, el("details", { open: true }, el("summary", {}, icon("tree"), name, counts), list));
    const group = { key, node, list, name, counts, messages: new Set() };
    groups.set(key, group);
    const caller = item.parentCall && state.calls.get(item.parentCall);
    const before = caller && nodeOf(caller.message);
    if (before?.isConnected) insertAfter(before, node);
    else (members.get(caller?.message)?.list ?? root).append(node);
    return group;
  }

  // insertAfter puts a group behind a message and behind the groups that it has.
  function insertAfter(before, node) {
    while (before.nextElementSibling?.classList.contains("agent")) before = before.nextElementSibling;
    before.after(node);
  }

  function leave(key) {
    const group = members.get(key);
    members.delete(key);
    group?.messages.delete(key);
    if (group) outdated.add(group);
  }

  return {
    // place puts the element of an item where it belongs.
    place(item, node, state) {
      const key = item.kind === "message" ? groupOf(item) : "";
      if (members.get(item.key)?.key === key && node.isConnected) return;
      if (key === "" && !members.has(item.key) && node.isConnected) return;
      leave(item.key);
      if (key === "") return root.append(node);
      const group = groups.get(key) ?? create(key, item, state);
      members.set(item.key, group);
      group.messages.add(item.key);
      group.list.append(node);
      outdated.add(group);
    },
    leave,
    // changed notes that a call of a message has changed.
    changed(message) {
      const group = members.get(message);
      if (group) outdated.add(group);
    },
    // describe draws the headings of the groups that have changed.
    describe(state) {
      for (const group of outdated) describe(group, state);
      outdated.clear();
    },
    clear() {
      groups.clear(), members.clear(), outdated.clear();
    },
  };

  function describe(group, state) {
    const messages = [...group.messages].map((key) => state.timeline.get(key)).filter(Boolean);
    if (messages.length === 0) {
      group.node.remove();
      groups.delete(group.key);
      return;
    }
    const calls = messages.flatMap((m) => m.blocks).flatMap((b) => b.calls ?? []).map((key) => state.calls.get(key)).filter(Boolean);
    const counts = { open: 0, completed: 0, error: 0, timeout: 0, cancelled: 0, denied: 0 };
    for (const call of calls) counts[terminal(call.status) ? call.status : "open"]++;
    const agent = agentOf(messages[0].namespace), tool = messages[0].parentTool;
    say(group.name, agent && tool ? agent + ", started by " + tool : agent || tool);
    say(group.counts, calls.length === 0 ? "" : plural(calls.length, "call") + ": " + tally(counts).join(", "));
    mark(group.node, "open", String(counts.open > 0));
  }
}
