// Reads event logs from standard input and checks the states of the page against
// each: after any number of events, no state contradicts the log, and neither cuts,
// repeated frames nor replay make a difference.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { create, reduce, terminal } from "../reduce.js";
import { eventOf, createStore } from "../store.js";
import { createReplay } from "../replay.js";
import { changes } from "../table.js";
import { childrenOf, phasesOf } from "../select.js";

const CUTS = 14; // maximum number of moments at which a log is checked in full

// expect returns what the log says, by the simplest reading of its events.
function expect(log) {
  const calls = new Map(), runs = [], rejected = [];
  let text = "", human = "", last = null, ends = [];
  for (const e of log) {
    const call = calls.get(e.call);
    switch (e.type) {
      case "tool_call_start":
        calls.set(e.call, { status: "building_args", args: "", tool: e.tool_name ?? "", parent: e.parent_call ?? "", late: 0, history: false });
        break;
      case "tool_call_args_delta": call.args += e.args; break;
      case "tool_call_args_complete":
        Object.assign(call, { status: "args_complete", args: e.args_text ?? call.args });
        break;
      case "tool_call_awaiting_input": call.status = "awaiting_input"; break;
      case "tool_call_progress": call.status = e.status ?? call.status; break;
      case "tool_call_result":
        Object.assign(call, { status: e.status, reason: e.reason?.code, value: e.tool_result });
        last = call;
        break;
      case "tool_call_late_result": if (call) call.late++; break;
      case "tool_call_parent": if (call) call.parent = e.parent_call; break;
      case "synthetic": last.history = true; break;
      case "run_started": runs.push({ id: e.run, status: "" }); break;
      case "run_finished":
        runs.findLast((r) => r.id === e.run).status = e.status;
        ends.push(e.pending ?? []);
        break;
      case "agent_response_chunk": text += e.content; break;
      case "human_message": human += e.content; break;
      case "rejected": rejected.push(JSON.stringify([e.reason.code, e.reason.text])); break;
    }
  }
  const open = [...calls].filter(([, c]) => !terminal(c.status)).map(([key]) => key);
  ends = ends.map((pending) => pending.filter((key) => open.includes(key)));
  return { calls, runs, open, ends, text, human, reasons: new Set(rejected).size };
}

// seen returns the same of a state.
function seen(state) {
  const items = [...state.timeline.values()];
  const parts = (kind) => items.filter((i) => i.kind === "message" && (i.role === "user") === (kind === "user")).flatMap((m) => m.blocks).filter((b) => b.kind !== "calls");
  const sum = (list) => [...list.map((b) => b.text).join("")].sort().join("");
  return {
    calls: new Map([...state.calls].map(([key, c]) => [key, { status: c.status, args: c.args.text, tool: c.tool, parent: c.parent, late: c.lateCount, history: c.history !== null,
      ...(terminal(c.status) ? { reason: c.reason?.code, value: c.outcome.value } : {}) }])),
    runs: items.filter((i) => i.kind === "run").map(({ id, status }) => ({ id, status })),
    open: state.open, ends: items.filter((i) => i.kind === "end").map((i) => i.waiting),
    text: sum(parts("agent")), human: sum(parts("user")),
    reasons: items.filter((i) => i.what === "rejected").length,
  };
}

// check compares a state with the log, and the parts of the state with each other.
function check(state, log) {
  const want = expect(log), got = seen(state);
  const sorted = (text) => [...text].sort().join(""); // parallel messages interleave
  assert.deepEqual(got, { ...want, text: sorted(want.text), human: sorted(want.human) });
  const { unknown, duplicates, afterEnd, gaps } = state.counts;
  assert.deepEqual({ unknown, duplicates, afterEnd, gaps }, { unknown: 0, duplicates: 0, afterEnd: 0, gaps: 0 });
  assert.deepEqual([state.tally.calls, state.tally.open], [want.calls.size, want.open.length]);
  const running = [...state.timeline.values()].filter((i) => i.kind === "run" && i.status === "");
  assert.equal(state.run, running.at(-1)?.key ?? "", "the current run");
  checkTree(state);
  for (const call of state.calls.values()) checkPhases(call, state.at);
}

// checkTree checks that each call is in one message and below one parent.
function checkTree(state) {
  const inMessages = [...state.timeline.values()].flatMap((i) => (i.blocks ?? []).flatMap((b) => b.calls ?? []));
  assert.deepEqual(inMessages.sort(), [...state.calls.keys()].sort());
  assert.equal([...childrenOf(state).values()].flat().length, state.calls.size);
}

function checkPhases(call, now) {
  const phases = phasesOf(call, now);
  phases.forEach((p, i) => {
    assert.ok(p.from <= p.to, "a phase ends after it begins");
    assert.equal(p.from, i === 0 ? call.startedAt : phases[i - 1].to, "a phase begins where the one before ends");
  });
  assert.equal(phases.at(-1).to, call.endedAt || Math.max(now, call.startedAt));
}

// freeze makes a later change of anything in a state an error.
function freeze(value) {
  if (value === null || typeof value !== "object" || Object.isFrozen(value) || value instanceof Map) return;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
}

// foldAll returns the states before and after each event.
function foldAll(frames, log) {
  const states = [create()];
  for (const [i, { id, data }] of frames.entries()) {
    const before = states.at(-1), after = reduce(before, log[i], id, data.length);
    for (const [a, b] of [[before.calls, after.calls], [before.timeline, after.timeline]]) for (const [, value] of changes(a, b).set) freeze(value);
    freeze(after);
    states.push(after);
  }
  return states;
}

const plain = (state) => JSON.stringify([{ ...state, timeline: 0, calls: 0, index: 0 }, [...state.timeline], [...state.calls]]);

// checkCuts checks that frames that come in two connections, the second of which
// repeats some, and replay to any moment, lead to the same states.
function checkCuts(frames, log, states, moments) {
  const replay = createReplay(), store = createStore();
  for (const [i, { id, data }] of frames.entries()) replay.push(log[i], id, data.length);
  const want = plain(states.at(-1)).replace(/"counts":\{[^}]*\}/, "");
  for (const n of moments.toReversed()) assert.equal(plain(replay.at(n)), plain(states[n]), "replay to " + n);
  for (const n of moments.filter((_, i) => i % 8 === 0)) {
    store.reset();
    for (const f of [...frames.slice(0, n), ...frames.slice(Math.max(0, n - 3))]) store.receive(f);
    assert.equal(plain(store.getSnapshot()).replace(/"counts":\{[^}]*\}/, ""), want, "cut at " + n);
    assert.equal(store.getSnapshot().counts.duplicates, Math.min(n, 3));
  }
}

let name = "", frames = [], logs = 0, events = 0, moments = 0;

function finish() {
  if (name === "") return;
  const log = frames.map(eventOf), states = foldAll(frames, log);
  const step = Math.max(1, Math.ceil(frames.length / CUTS));
  const cuts = [...frames.keys()].filter((n) => n % step === 0).concat(frames.length);
  try {
    for (const n of cuts) check(states[n], log.slice(0, n));
    checkCuts(frames, log, states, cuts);
  } catch (err) {
    err.message = name + ": " + err.message;
    throw err;
  }
  logs++, events += frames.length, moments += cuts.length;
}

for await (const line of createInterface({ input: process.stdin })) {
  const value = JSON.parse(line);
  if (value.log === undefined) frames.push(value);
  else {
    finish();
    ({ log: name } = value), frames = [];
  }
}
finish();
assert.ok(logs > 0, "no log was read");
console.log(logs + " logs, " + events + " events, checked after " + moments + " of them");
