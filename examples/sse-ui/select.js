// What views derive from a state.

import { terminal } from "./reduce.js";

// runsOf, messagesOf and callsOf return the items of a kind in order.
export const runsOf = (state) => ofKind(state, "run");
export const messagesOf = (state) => ofKind(state, "message");
export const callsOf = (state) => [...state.calls.values()];
export const openCalls = (state) => state.open.map((key) => state.calls.get(key));

const ofKind = (state, kind) => [...state.timeline.values()].filter((item) => item.kind === kind);

// childrenOf returns the calls by the key of the call from which they were made, ""
// for those that were not made from a call of the state.
export function childrenOf(state) {
  const children = new Map();
  for (const call of state.calls.values()) {
    const parent = call.parentCall === call.call || !state.calls.has(call.parentCall) ? "" : call.parentCall;
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(call);
  }
  return children;
}

// phasesOf returns the phases of a call in order, as [{phase, from, to}] in ms:
// "args" while its arguments arrive, "waiting" while it waits for a person or for
// a result from outside the run, "running" while the tool runs. now is the end
// of the last phase of an open call.
export function phasesOf(call, now) {
  const from = call.startedAt || call.seenAt, end = terminal(call.status) ? call.endedAt : Math.max(now, from);
  const waits = call.waits.map((w) => ({ from: w.from, to: w.to || end }));
  if (call.outside && call.outsideAt < end && !waits.some((w) => w.to > call.outsideAt)) waits.push({ from: call.outsideAt, to: end });
  const complete = call.completeAt || (waits[0]?.from ?? end);
  const phases = [{ phase: "args", from, to: Math.min(complete, end) }];
  let at = phases[0].to;
  for (const wait of waits) {
    if (wait.from > at) phases.push({ phase: "running", from: at, to: wait.from });
    phases.push({ phase: "waiting", from: Math.max(wait.from, at), to: wait.to });
    at = wait.to;
  }
  if (at < end) phases.push({ phase: "running", from: at, to: end });
  return phases;
}
