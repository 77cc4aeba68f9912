// The messages of sub-agents, grouped below the call that started them. A group
// can be collapsed.

import { el, icon, say, mark } from "./dom.js";
import { agentOf } from "./card.js";
import { agentKey } from "./rows.js";
import { terminal } from "./reduce.js";
import { plural, tally } from "./words.js";

// groupOf returns the key of the group of a message, "" for a message of the root.
function groupOf(message) {
  if (message.parentCall) return "call " + message.parentCall;
  return agentOf(message.namespace) === "" && !message.parentTool ? "" : "agent " + message.run + " " + agentKey(message);
}

// agentGroups places items in root. nodeOf(key) returns the element of an item of
// the timeline.
export function agentGroups(root, nodeOf) {
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
