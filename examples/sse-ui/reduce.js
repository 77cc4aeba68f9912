// The state of a session as a fold of its events. No DOM, no clock: the same
// events give the same state, and an event seen twice counts once. A state is
// never changed: reduce returns another one, and what an event does not concern
// is identical in both.

import { Table } from "./table.js";
import { EMPTY, whole, grow } from "./text.js";

const TERMINAL = new Set(["completed", "error", "denied", "cancelled", "timeout"]);
const MAX_NOTICES = 500; // maximum number of rejected and unmatched inputs and orphans kept; later ones are counted
const MAX_ITEMS = 5_000; // maximum length of the timeline; beyond it, the oldest finished items are forgotten
const FORGET = 500; // items forgotten at a time

export const terminal = (status) => TERMINAL.has(status);

// create returns the state before the first event.
//
// timeline has the items of the page by key, in the order of their first event,
// of kind run, message, end (of a run) and notice. The blocks of a message are its
// text and reasoning parts and, between them, groups of calls, by their keys in
// calls. reduce.d.ts describes each field.
export function create() {
  return {
    session: "", seq: 0, at: 0, run: "", held: 0,
    timeline: Table.empty, calls: Table.empty, open: [],
    tally: { calls: 0, open: 0, completed: 0, error: 0, denied: 0, cancelled: 0, timeout: 0 },
    counts: { events: 0, bytes: 0, duplicates: 0, unknown: 0, afterEnd: 0, gaps: 0, notices: 0 },
    index: { runs: Table.empty, messages: Table.empty, ids: Table.empty, agents: Table.empty, rejections: Table.empty, abandoned: Table.empty, closed: null, ended: "" },
  };
}

// reduce returns the state after an event. seq is its sequence in the event log,
// 0 if it has none; an event whose sequence is not after that of the state counts
// as a duplicate. bytes is the size of the event on the wire.
export function reduce(state, event, seq = 0, bytes = 0) {
  const counts = { ...state.counts, bytes: state.counts.bytes + bytes };
  if (seq !== 0 && seq <= state.seq) return { ...state, counts: { ...counts, duplicates: counts.duplicates + 1 } };
  counts.events++;
  const rule = Object.hasOwn(rules, event.type) ? rules[event.type] : unknown;
  const at = Date.parse(event.timestamp) || state.at;
  const next = { ...state, seq: seq || state.seq, at, session: state.session || event.session || "", counts };
  rule(next, event);
  return next;
}

// The rules change the copy of the state that they receive, and nothing that the
// state before shares with it.
const rules = {
  session_erased(s) {
    const { session, seq, at, counts } = s;
    Object.assign(s, create(), { session, seq, at, counts });
  },
  run_started(s, e) {
    const known = runOf(s, e);
    // An id that is used again is another run.
    s.run = known.status ? openRun(s, e).key : known.key;
  },
  run_finished(s, e) {
    const run = runOf(s, e);
    if (run.status) return late(s);
    const pending = e.pending ?? [];
    const waiting = pending.filter((key) => s.calls.has(key) && !terminal(s.calls.get(key).status));
    const ended = { status: e.status ?? "completed", reason: e.reason ?? null, startedAt: run.startedAt, endedAt: s.at };
    put(s, run, ended);
    if (s.run === run.key) s.run = "";
    const end = show(s, { kind: "end", key: keyOf(s, e, "end"), run: run.key, ...ended, pending, waiting });
    for (const key of waiting) {
      const call = s.calls.get(key);
      set(s, call, { outside: true, outsideAt: call.outsideAt || s.at, ends: [...call.ends, end.key] });
    }
  },

  message_started(s, e) {
    openMessage(s, e);
  },
  message_finished(s, e) {
    const message = messageOf(s, e);
    const blocks = message.blocks.map((b) => (b.kind === "calls" || b.done ? b : { ...b, done: true }));
    const usage = e.usage ?? message.usage;
    put(s, message, { finished: true, finishReason: e.finish_reason ?? "", superseded: !!e.superseded, usage, blocks });
    const keys = message.blocks.flatMap((b) => b.calls ?? []);
    for (const call of keys.map((key) => s.calls.get(key))) if (call && !terminal(call.status) && !call.argsDone) set(s, call, { cut: true });
    if (e.superseded) s.index = { ...s.index, abandoned: s.index.abandoned.set(attemptName(e), message.key) };
  },
  agent_response_chunk(s, e) {
    setPart(s, messageOf(s, e), e, (part) => growIn(s, part, e.content, e.offset));
  },
  part_finished(s, e) {
    setPart(s, messageOf(s, e), e, (part) => ({ ...part, done: true }));
  },

  human_message(s, e) {
    // The rest of a long text has an offset.
    const name = "human " + messageName(e);
    const known = e.offset > 0 && s.timeline.get(s.index.messages.get(name));
    const message = known || openMessage(s, { role: "user", ...e }, name);
    setPart(s, message, { kind: "text" }, (part) => ({ ...growIn(s, part, e.content, e.offset), done: true }));
    put(s, s.timeline.get(message.key), { finished: true });
    if (known || s.index.closed?.input !== inputOf(e)) return;
    for (const key of s.index.closed.calls) if (s.calls.has(key)) set(s, s.calls.get(key), { closedBy: message.key });
    s.index = { ...s.index, closed: null };
  },

  tool_call_start(s, e) {
    const call = callOf(s, e);
    touch(s, call, e, { startedAt: s.at, partial: false });
  },
  tool_call_args_delta(s, e) {
    const call = callOf(s, e);
    if (terminal(call.status) || call.argsDone) return late(s);
    const args = growIn(s, call.args, e.args, e.offset);
    if (args !== call.args) s.calls = s.calls.set(call.call, { ...call, args });
  },
  tool_call_args_complete(s, e) {
    const call = callOf(s, e);
    if (terminal(call.status)) return late(s);
    touch(s, call, e, {
      status: "args_complete", completeAt: s.at, argsDone: true,
      args: e.args_text === undefined ? call.args : whole(e.args_text),
      argsRef: e.args_ref ? { ...e.args_ref, seq: s.seq } : null,
      argsValid: e.args_valid !== false, argsError: e.args_error ?? "", by: e.by ?? "",
    });
  },
  tool_call_awaiting_input(s, e) {
    const call = callOf(s, e);
    const waits = call.status === "awaiting_input" ? call.waits : [...call.waits, { from: s.at, to: 0 }];
    touch(s, call, e, { status: "awaiting_input", waitsFor: e.kind ?? "", interrupt: e.interrupt_id ?? "", waits });
  },
  tool_call_answered(s, e) {
    const call = callOf(s, e);
    if (terminal(call.status)) return late(s);
    const answer = { decision: e.decision ?? "", by: e.by ?? "", value: e.value, args: e.tool_args };
    const edited = e.tool_args !== undefined && { args: whole(JSON.stringify(e.tool_args)), argsRef: null, argsValid: true, argsError: "" };
    // The result of a denied call follows.
    touch(s, call, e, { status: terminal(e.status) ? call.status : e.status, waits: endWait(call.waits, s.at), answer, ...edited });
  },
  tool_call_progress(s, e) {
    const call = callOf(s, e);
    const status = e.status ?? call.status; // a wait for a person may have ended
    const waits = status === "awaiting_input" ? call.waits : endWait(call.waits, s.at);
    touch(s, call, e, { status, waits, progress: { text: e.message ?? "", percent: e.percent } });
  },
  tool_call_result(s, e) {
    const call = callOf(s, e);
    if (terminal(call.status)) return late(s);
    const status = terminal(e.status) ? e.status : "completed";
    s.open = s.open.filter((key) => key !== call.call);
    s.tally = { ...s.tally, open: s.tally.open - 1, [status]: s.tally[status] + 1 };
    set(s, call, {
      status, tool: e.tool_name || call.tool, endedAt: s.at, deadline: 0, progress: null, outcome: outcome(s, e),
      argsDone: e.args_complete ?? call.argsDone, waits: endWait(call.waits, s.at),
      synthetic: !!e.synthetic, reason: e.reason ?? null,
      durationMs: e.duration_ms ?? (call.startedAt ? s.at - call.startedAt : undefined), argsMs: e.args_ms, runMs: e.run_ms,
    });
    answerEnds(s, call);
    s.index = { ...s.index, ended: call.call, closed: closedBy(s, e, call) };
  },
  tool_call_late_result(s, e) {
    // Its call has ended, whether or not the event of its end is still stored.
    const call = s.calls.get(e.call ?? "");
    if (!call) return rules.orphan_result(s, e);
    const lateResult = { ...outcome(s, e), at: s.at, status: e.status ?? "", conflict: !!e.conflict, tool: e.tool_state ?? "" };
    set(s, call, { late: lateResult, lateCount: call.lateCount + 1 });
  },
  tool_call_parent(s, e) {
    const call = s.calls.get(e.call ?? "");
    if (call) setParent(s, call, e.parent_call ?? "");
  },
  synthetic(s, e) {
    // The message for the history follows the result of its call.
    const call = s.calls.get(e.call ?? s.index.ended);
    if (call) set(s, call, { history: e.message ?? null });
  },

  orphan_result(s, e) {
    notice(s, e, { what: "orphan", id: e.id ?? "", tool: e.tool_name ?? "", outcome: outcome(s, e) });
  },
  rejected(s, e) {
    // One notice per reason: a stream in an unknown format is rejected at each event.
    const name = JSON.stringify([e.reason?.code, e.reason?.text]);
    const same = s.timeline.get(s.index.rejections.get(name));
    if (same) return put(s, same, { last: e.input, times: same.times + (e.input === undefined || e.input !== same.last ? 1 : 0) });
    const item = notice(s, e, { what: "rejected", times: 1, reason: e.reason, input: e.input, last: e.input, offset: e.offset });
    if (item) s.index = { ...s.index, rejections: s.index.rejections.set(name, item.key) };
  },
  unmatched(s, e) {
    notice(s, e, { what: "unmatched", of: e.kind ?? "", target: e.target ?? {}, input: e.input, answer: e.decision && e });
  },
  interrupted(s, e) {
    if (e.binding) return void (s.held = e.input ?? 0);
    // The other events of an interrupt say what it closed, or did not find open.
    if (e.event_id?.endsWith(".0")) rules.unmatched(s, { kind: "interrupt", ...e });
  },
  resumed(s) {
    s.held = 0;
  },
};

function unknown(s) {
  s.counts.unknown++;
}

// late counts an event that arrived after its call or run had ended.
function late(s) {
  s.counts.afterEnd++;
}

const outcome = (s, e) => ({ value: e.tool_result, ref: e.tool_result_ref ?? null, seq: s.seq });

const inputOf = (e) => (e.event_id ?? "").split(".")[0];

// keyOf returns a key for the item that an event opens. The event_id is the same on
// every fold.
const keyOf = (s, e, kind) => kind + " " + (e.event_id ?? "#" + s.counts.events);

// ---- items of the timeline

// put replaces fields of an item.
function put(s, item, fields) {
  s.timeline = s.timeline.set(item.key, { ...item, ...fields });
}

// show appends an item to the timeline and bounds its length.
function show(s, item) {
  s.timeline = s.timeline.set(item.key, item);
  if (s.timeline.size >= MAX_ITEMS + FORGET) forget(s);
  return item;
}

// forget removes the oldest items that have neither ended last nor an open call.
function forget(s) {
  const open = new Set(s.open);
  let rest = s.timeline.size - MAX_ITEMS;
  const gone = new Set(), calls = new Set();
  for (const item of s.timeline.values()) {
    if (rest-- <= 0) break;
    const keys = callKeys(item);
    if (item.key === s.run || keys.some((key) => open.has(key))) continue;
    gone.add(item.key);
    for (const key of keys) calls.add(key);
  }
  s.timeline = s.timeline.filter((_, key) => !gone.has(key));
  s.calls = s.calls.filter((_, key) => !calls.has(key));
  const { runs, messages, rejections, abandoned, ids, agents } = s.index;
  const kept = (key) => !gone.has(key);
  const named = new Set(Array.from(s.timeline.values(), (item) => agentOf(item.namespace ?? "")));
  s.index = {
    ...s.index, runs: runs.filter(kept), messages: messages.filter(kept), rejections: rejections.filter(kept), abandoned: abandoned.filter(kept),
    ids: ids.filter((key) => !calls.has(key)), agents: agents.filter((_, agent) => named.has(agent)),
  };
}

const callKeys = (item) => (item.blocks ?? []).flatMap((b) => b.calls ?? []);

function notice(s, e, fields) {
  s.counts.notices++;
  return s.counts.notices > MAX_NOTICES ? null : show(s, { kind: "notice", key: keyOf(s, e, "notice"), at: s.at, ...fields });
}

function runOf(s, e) {
  return s.timeline.get(s.index.runs.get(e.run ?? "")) ?? openRun(s, e);
}

function openRun(s, e) {
  const id = e.run ?? "";
  const run = show(s, { kind: "run", key: keyOf(s, e, "run"), id, startedAt: s.at, endedAt: 0, status: "", reason: null });
  s.index = { ...s.index, runs: s.index.runs.set(id, run.key) };
  return run;
}

// ---- messages

const messageName = (e) => JSON.stringify([e.namespace ?? "", e.message_id ?? "", e.choice ?? 0]);

// attemptName returns the name under which an abandoned message waits for the next
// attempt.
const attemptName = (e) => JSON.stringify([e.run ?? "", e.namespace ?? "", e.choice ?? 0]);

// openMessage begins a message. Ids repeat in real streams: later events refer
// to the newest message of a name.
function openMessage(s, e, name = messageName(e)) {
  const namespace = e.namespace ?? "", key = keyOf(s, e, "message");
  const message = show(s, {
    kind: "message", key, replaces: e.role === "user" ? "" : replace(s, e, key), id: e.message_id ?? "", run: e.run ?? "", namespace, choice: e.choice ?? 0,
    role: e.role ?? "", at: s.at, blocks: [], finished: false, finishReason: "", superseded: false, usage: null,
    ...(s.index.agents.get(agentOf(namespace)) ?? NO_PARENT),
  });
  s.index = { ...s.index, messages: s.index.messages.set(name, message.key) };
  return message;
}

// replace links the calls of the abandoned message, if there is one, to the message with
// the given key, the next attempt, and returns the key of the abandoned one.
function replace(s, e, key) {
  const name = attemptName(e), before = s.index.abandoned.get(name) ?? "";
  if (before === "") return "";
  s.index = { ...s.index, abandoned: s.index.abandoned.set(name, "") };
  for (const call of supersededIn(s, before)) set(s, call, { closedBy: key });
  return before;
}

// supersededIn returns the calls of a message that were closed because it was abandoned.
const supersededIn = (s, key) => callKeys(s.timeline.get(key) ?? {}).map((k) => s.calls.get(k)).filter((c) => c?.reason?.code === "superseded");

function messageOf(s, e) {
  return s.timeline.get(s.index.messages.get(messageName(e))) ?? openMessage(s, e);
}

// setPart replaces the text or reasoning part that an event names by make(part).
function setPart(s, message, e, make) {
  const kind = e.kind === "reasoning" ? "reasoning" : "text";
  const part = e.part ?? 0;
  const at = message.blocks.findIndex((b) => b.kind === kind && b.part === part);
  const blocks = message.blocks.slice();
  if (at < 0) blocks.push(make({ kind, part, done: false, ...EMPTY }));
  else blocks[at] = make(blocks[at]);
  put(s, message, { blocks });
}

// growIn returns what has the text fields of part with a piece added, and counts
// the first piece after a gap.
function growIn(s, part, piece = "", offset) {
  const grown = grow(part, piece, offset);
  if (grown === part) return part;
  if (grown.missing > 0 && part.missing === 0) s.counts.gaps++;
  return { ...part, ...grown };
}

// ---- calls

// set replaces fields of a call.
function set(s, call, fields) {
  s.calls = s.calls.set(call.call, { ...call, ...fields });
}

// touch updates an open call; a call that has ended is not changed.
function touch(s, call, e, fields) {
  if (terminal(call.status)) return late(s);
  const deadline = Date.parse(e.deadline) || 0;
  set(s, call, { ...fields, tool: e.tool_name || call.tool, deadline, deadlineFrom: deadline ? s.at : call.deadlineFrom });
}

function callOf(s, e) {
  return s.calls.get(e.call ?? "") ?? openCall(s, e);
}

function openCall(s, e) {
  const message = messageOf(s, e);
  const before = message.replaces && supersededIn(s, message.replaces).find((c) => c.tool === e.tool_name && c.replacedBy === "");
  const call = {
    kind: "call", call: e.call ?? "", message: message.key, messageId: message.id, run: e.run ?? "",
    id: e.id ?? "", uid: e.uid ?? "", synthesized: !!e.id_synthesized, tool: e.tool_name ?? "", namespace: e.namespace ?? "",
    parent: "", ...NO_PARENT, provider: !!e.provider_executed, type: e.kind ?? "",
    status: "building_args", partial: true, seenAt: s.at, startedAt: 0, completeAt: 0, endedAt: 0, deadline: 0, deadlineFrom: 0,
    args: EMPTY, argsDone: false, cut: false, argsValid: true, argsError: "", argsRef: null, by: "",
    waitsFor: "", interrupt: "", waits: [], answer: null, progress: null, outside: false, outsideAt: 0, ends: [],
    outcome: null, synthetic: false, reason: null, closedBy: "", replacedBy: "", replaces: before?.call ?? "", history: null,
    durationMs: undefined, argsMs: undefined, runMs: undefined, late: null, lateCount: 0,
  };
  s.calls = s.calls.set(call.call, call);
  if (before) set(s, before, { replacedBy: call.call });
  s.open = [...s.open, call.call];
  s.tally = { ...s.tally, calls: s.tally.calls + 1, open: s.tally.open + 1 };
  const blocks = message.blocks.slice(), last = blocks.at(-1);
  if (last?.kind === "calls") blocks[blocks.length - 1] = { ...last, calls: [...last.calls, call.call] };
  else blocks.push({ kind: "calls", calls: [call.call] });
  put(s, message, { blocks });
  if (e.parent_call) setParent(s, call, e.parent_call);
  if (call.id) s.index = { ...s.index, ids: s.index.ids.set(call.id, call.call) };
  return s.calls.get(call.call);
}

const endWait = (waits, at) => (waits.at(-1)?.to === 0 ? [...waits.slice(0, -1), { ...waits.at(-1), to: at }] : waits);

// answerEnds removes a call that has ended from the ends of runs that wait for it.
function answerEnds(s, call) {
  for (const key of call.ends) {
    const end = s.timeline.get(key);
    if (end) put(s, end, { waiting: end.waiting.filter((k) => k !== call.call) });
  }
}

// closedBy returns the calls that an input has closed by a human message, which
// follows in the same input.
function closedBy(s, e, call) {
  const input = inputOf(e), before = s.index.closed;
  if (e.reason?.code !== "new_message" || input === "") return before;
  return { input, calls: [...(before?.input === input ? before.calls : []), call.call] };
}

// ---- sub-agents

const NO_PARENT = Object.freeze({ parentCall: "", parentTool: "" });

// agentOf returns the part of a namespace that all messages of a sub-agent share. The
// last step of several is the node that produces a message.
const agentOf = (namespace) => namespace.slice(0, Math.max(namespace.lastIndexOf("|"), 0)) || namespace;

// setParent sets the call from which a call was made. All messages of the
// sub-agent have this parent.
function setParent(s, call, id) {
  if (!id) return;
  const parentCall = s.index.ids.get(id) ?? "";
  const parent = { parentCall, parentTool: s.calls.get(parentCall)?.tool || id };
  set(s, call, { parent: id, ...parent });
  const agent = agentOf(call.namespace);
  const own = s.timeline.get(call.message);
  if (own && own.parentCall !== parentCall || own?.parentTool === "") put(s, own, parent);
  const known = s.index.agents.get(agent);
  if (agent === "" || (known?.parentCall === parentCall && known.parentTool === parent.parentTool)) return;
  s.index = { ...s.index, agents: s.index.agents.set(agent, parent) };
  for (const m of s.timeline.values()) if (m.kind === "message" && m.key !== call.message && agentOf(m.namespace) === agent) put(s, m, parent);
}
