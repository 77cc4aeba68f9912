// The rows of the waterfall: the calls of a session as a tree, and the numbers
// of its time axis. No DOM, no clock.

import { terminal } from "./reduce.js";

// startOf and endOf return the bounds of a call. An open call ends now.
export const startOf = (call) => call.startedAt || call.seenAt;
export const endOf = (call, now) => Math.max(startOf(call), terminal(call.status) ? call.endedAt : now);

// tree returns the roots of the calls in the order of their start:
// {key, call, children, group}. A call is below the call that started it. Calls of
// a sub-agent without such a call are below a group, which has the name of the
// sub-agent and no call.
export function tree(calls, agentOf) {
  const nodes = new Map(calls.map((call) => [call.call, { key: call.call, call, group: "", children: [] }]));
  const parents = parentsOf(calls);
  const groups = new Map();
  const roots = [];
  for (const call of calls) {
    const node = nodes.get(call.call);
    const parent = nodes.get(parents.get(call.call));
    const agent = parent ? "" : agentOf(call.namespace);
    if (parent) parent.children.push(node);
    else if (!agent) roots.push(node);
    else groupOf(groups, roots, call, agent).children.push(node);
  }
  return roots;
}

function groupOf(groups, roots, call, agent) {
  const key = "agent " + call.run + " " + agentKey(call);
  let group = groups.get(key);
  if (!group) {
    groups.set(key, (group = { key, call: null, group: agent, children: [] }));
    roots.push(group);
  }
  return group;
}

// parentsOf returns the call above each call. A parent is named by its id, which
// can repeat: the newest call before the child counts. The other calls of a
// sub-agent have the parent of the first that names one. A cycle is cut.
export function parentsOf(calls) {
  const parents = new Map(), ids = new Map(), agents = new Map();
  for (const call of calls) {
    if (call.parent && call.namespace) agents.set(agentKey(call), call.parent);
    if (!ids.has(call.id)) ids.set(call.id, []);
    ids.get(call.id).push(call);
  }
  for (const call of calls) {
    const candidates = ids.get(call.parent || agents.get(agentKey(call))) ?? [];
    const parent = candidates.findLast((c) => startOf(c) <= startOf(call)) ?? candidates[0];
    if (parent && !isAbove(parents, parent.call, call.call)) parents.set(call.call, parent.call);
  }
  return parents;
}

// agentKey returns the part of a namespace that the calls of a sub-agent share. The
// last step of several is the node that made the call.
export const agentKey = ({ namespace }) => namespace.slice(0, Math.max(namespace.lastIndexOf("|"), 0)) || namespace;

function isAbove(parents, from, key) {
  for (let at = from; at !== undefined; at = parents.get(at)) if (at === key) return true;
  return false;
}

// flatten returns the rows that are shown: {node, level, position, size, bounds}.
// The children of collapsed nodes are left out.
export function flatten(roots, collapsed) {
  const rows = [];
  const visit = (nodes, level, parent) => nodes.forEach((node, i) => {
    const row = { node, level, parent, position: i + 1, size: nodes.length, expanded: node.children.length > 0 ? !collapsed.has(node.key) : null };
    rows.push(row);
    if (row.expanded) visit(node.children, level + 1, rows.length - 1);
  });
  visit(roots, 1, -1);
  return rows;
}

// callsBelow returns the calls of a node and of all nodes below it.
export function callsBelow(node) {
  return [...(node.call ? [node.call] : []), ...node.children.flatMap(callsBelow)];
}

// bounds returns the first start and the last end of calls.
export function bounds(calls, now) {
  let from = Infinity, to = -Infinity;
  for (const call of calls) {
    from = Math.min(from, startOf(call));
    to = Math.max(to, endOf(call, now));
  }
  return from > to ? { from: now, to: now } : { from, to };
}

// concurrency returns the number of open calls over time as steps [time, count],
// and its maximum.
export function concurrency(calls, now) {
  const changes = calls.flatMap((c) => [[startOf(c), 1], [endOf(c, now), -1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const steps = [];
  let count = 0, max = 0;
  for (const [at, by] of changes) {
    count += by;
    max = Math.max(max, count);
    if (steps.at(-1)?.[0] === at) steps.at(-1)[1] = count;
    else steps.push([at, count]);
  }
  return { steps, max };
}

// criticalPath returns the keys of the calls that decide how long the roots took:
// the call that ended last, before it the call that ended last before its start,
// and so on, and the same within each of these calls.
export function criticalPath(roots, now) {
  const path = new Set();
  const visit = (nodes) => {
    const spans = nodes.map((node) => ({ node, ...bounds(callsBelow(node), now) })).sort((a, b) => b.to - a.to);
    let before = Infinity;
    for (const { node, from, to } of spans) {
      if (to > before) continue;
      before = from;
      if (node.call) path.add(node.key);
      visit(node.children);
    }
  };
  visit(roots);
  return path;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000];

// ticks returns the times at which the places from..to of an axis, counted from origin, have at
// most n lines, and the distance of two lines. A break has none.
export function ticks(axis, from, to, origin, n) {
  const step = STEPS.find((s) => (to - from) / s <= n) ?? Math.ceil((to - from) / n / 86_400_000) * 86_400_000;
  const list = [], end = axis.time(to);
  let start = axis.time(from);
  for (const piece of [...axis.breaks, { from: end, to: end }]) {
    for (let at = origin + Math.ceil((start - origin) / step) * step; at <= Math.min(piece.from, end); at += step) list.push(at);
    start = Math.max(start, piece.to);
  }
  return { step, list };
}

// offset formats a time since the beginning of the axis: 0, 250 ms, 1.5 s, 2:05.
export function offset(ms, step) {
  const sign = ms < 0 ? "−" : "";
  ms = Math.abs(ms);
  if (ms === 0) return "0";
  if (step < 1_000 && ms < 1_000) return sign + Math.round(ms) + " ms";
  const digits = step < 10 ? 3 : step < 100 ? 2 : step < 1_000 ? 1 : 0;
  if (ms < 60_000) return sign + (ms / 1_000).toFixed(digits) + " s";
  const m = Math.floor(ms / 60_000), s = ((ms % 60_000) / 1_000).toFixed(digits);
  if (m < 60) return sign + m + ":" + s.padStart(digits ? digits + 3 : 2, "0");
  return sign + Math.floor(m / 60) + ":" + String(m % 60).padStart(2, "0") + ":" + s.padStart(digits ? digits + 3 : 2, "0");
}
