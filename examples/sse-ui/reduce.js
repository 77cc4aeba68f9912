// The state of a session as a fold of its events. No DOM, no clock: the same
// events give the same state, and an event seen twice counts once.

const TERMINAL = new Set(["completed", "error", "denied", "cancelled", "timeout"]);
const MAX_NOTICES = 500; // maximum number of rejected and unmatched inputs and orphans kept; later ones are counted
const MAX_ITEMS = 5_000; // maximum length of the timeline; beyond it, the oldest finished items are forgotten
const FORGET = 500; // items forgotten at a time

export const terminal = (status) => TERMINAL.has(status);

// create returns the state before the first event.
//
// timeline holds the items of the page, in the order of their first event, of
// kind run, message, end (of a run) and notice. The blocks of a message are its
// text and reasoning parts and, between them, groups of calls. Items that leave
// the timeline are listed in forgotten, for the view.
export function create() {
  return {
    seq: 0, // of the last event folded
    run: null, // the current run
    runs: new Map(), messages: new Map(), calls: new Map(),
    ids: new Map(), // id → the newest call with it
    open: new Set(), // calls without a terminal event
    rejections: new Map(), // reason → its notice
    timeline: [], forgotten: [],
    tally: { calls: 0, open: 0, completed: 0, error: 0, denied: 0, cancelled: 0, timeout: 0 },
    counts: { events: 0, duplicates: 0, unknown: 0, afterEnd: 0, gaps: 0, notices: 0 },
  };
}

// apply folds the event with the given sequence (0: it has none) into state
// and returns the records it changed: runs, messages, calls and timeline items.
export function apply(state, seq, event) {
  if (seq !== 0) {
    if (seq <= state.seq) {
      state.counts.duplicates++;
      return [];
    }
    state.seq = seq;
  }
  state.counts.events++;
  const rule = Object.hasOwn(rules, event.type) ? rules[event.type] : null;
  if (rule) return rule(state, { ...event, seq, ms: Date.parse(event.timestamp) || 0 }).filter(Boolean);
  state.counts.unknown++;
  return [];
}

const rules = {
  run_started(state, e) {
    const run = runOf(state, e);
    state.run = run;
    return [run];
  },
  run_finished(state, e) {
    const run = runOf(state, e);
    if (run.status) return late(state);
    Object.assign(run, { status: e.status ?? "completed", reason: e.reason, endedAt: e.ms });
    if (state.run === run) state.run = null;
    const pending = (e.pending ?? []).map((id) => state.calls.get(id)).filter(Boolean);
    for (const call of pending) call.outside = true;
    const item = { kind: "end", run, pending: e.pending ?? [] };
    show(state, item);
    return [run, item, ...pending];
  },

  message_started(state, e) {
    return [openMessage(state, e)];
  },
  message_finished(state, e) {
    const message = messageOf(state, e);
    Object.assign(message, { finished: true, finishReason: e.finish_reason ?? "", superseded: !!e.superseded });
    if (e.usage) message.usage = e.usage;
    for (const block of message.blocks) if (block.kind !== "calls") block.done = true;
    return [message];
  },
  agent_response_chunk(state, e) {
    const message = messageOf(state, e);
    const part = partOf(message, e);
    if (!append(part, e.content ?? "", e.offset)) state.counts.gaps++;
    return [message];
  },
  part_finished(state, e) {
    const message = messageOf(state, e);
    partOf(message, e).done = true;
    return [message];
  },

  human_message(state, e) {
    // The rest of a long text has an offset.
    const key = "human " + messageKey(e);
    const message = (e.offset > 0 && state.messages.get(key)) || openMessage(state, { role: "user", ...e }, key);
    message.finished = true;
    const part = partOf(message, { kind: "text" });
    part.done = true;
    if (!append(part, e.content ?? "", e.offset)) state.counts.gaps++;
    return [message];
  },

  tool_call_start(state, e) {
    const call = callOf(state, e);
    call.partial = false;
    return touch(state, call, e, { startedAt: e.ms });
  },
  tool_call_args_delta(state, e) {
    const call = callOf(state, e);
    if (terminal(call.status) || call.argsDone) return late(state);
    if (!append(call.args, e.args ?? "", e.offset)) state.counts.gaps++;
    return [call, call.fresh && call.message];
  },
  tool_call_args_complete(state, e) {
    const call = callOf(state, e);
    if (terminal(call.status)) return late(state);
    call.argsDone = true;
    if (e.args_text !== undefined) call.args = { text: e.args_text, bytes: utf8(e.args_text), missing: 0 };
    if (e.args_ref) call.argsRef = { ...e.args_ref, seq: e.seq };
    Object.assign(call, { argsValid: e.args_valid !== false, argsError: e.args_error ?? "", by: e.by ?? "" });
    return touch(state, call, e, { status: "args_complete", completeAt: e.ms });
  },
  tool_call_awaiting_input(state, e) {
    return touch(state, callOf(state, e), e, { status: "awaiting_input", waitsFor: e.kind ?? "", interrupt: e.interrupt_id ?? "" });
  },
  tool_call_progress(state, e) {
    const call = callOf(state, e);
    const status = e.status ?? call.status; // a wait for a person may have ended
    return touch(state, call, e, { status, progress: { text: e.message ?? "", percent: e.percent } });
  },
  tool_call_result(state, e) {
    const call = callOf(state, e);
    if (terminal(call.status)) return late(state);
    if (e.args_complete !== undefined) call.argsDone = e.args_complete;
    state.open.delete(call);
    state.tally.open--;
    const status = terminal(e.status) ? e.status : "completed";
    state.tally[status]++;
    Object.assign(call, {
      status, endedAt: e.ms, deadline: 0, progress: null, outcome: outcome(e),
      synthetic: !!e.synthetic, reason: e.reason ?? null,
      durationMs: e.duration_ms ?? (call.startedAt ? e.ms - call.startedAt : undefined),
      argsMs: e.args_ms, runMs: e.run_ms,
    });
    return [call, call.fresh && call.message];
  },
  tool_call_late_result(state, e) {
    // Its call has ended, whether or not the event of its end is still stored.
    if (!state.calls.has(e.call ?? "")) return rules.orphan_result(state, e);
    const call = callOf(state, e);
    call.late = { ...outcome(e), at: e.ms, status: e.status ?? "", conflict: !!e.conflict };
    call.lateCount++;
    return [call];
  },
  tool_call_parent(state, e) {
    const call = state.calls.get(e.call ?? "");
    if (!call) return [];
    setParent(state, call, e.parent_call ?? "");
    return [call, call.message];
  },
  orphan_result(state, e) {
    return notice(state, { what: "orphan", id: e.id ?? "", tool: e.tool_name ?? "", outcome: outcome(e), at: e.ms });
  },
  rejected(state, e) {
    // One notice per reason: a stream in an unknown format is rejected at each event.
    const key = JSON.stringify([e.reason?.code, e.reason?.text]);
    const same = state.rejections.get(key);
    if (same) {
      if (e.input === undefined || e.input !== same.last) same.times++;
      same.last = e.input;
      return [same];
    }
    const items = notice(state, { what: "rejected", key, times: 1, reason: e.reason, input: e.input, last: e.input, offset: e.offset, at: e.ms });
    if (items.length > 0) state.rejections.set(key, items[0]);
    return items;
  },
  unmatched(state, e) {
    return notice(state, { what: "unmatched", of: e.kind ?? "", target: e.target ?? {}, input: e.input, at: e.ms });
  },
};

function outcome(e) {
  return { value: e.tool_result, ref: e.tool_result_ref ?? null, seq: e.seq };
}

// late counts an event that arrived after its call or message had ended.
function late(state) {
  state.counts.afterEnd++;
  return [];
}

function notice(state, fields) {
  state.counts.notices++;
  if (state.counts.notices > MAX_NOTICES) return [];
  const item = { kind: "notice", ...fields };
  show(state, item);
  return [item];
}

// show appends to the timeline and bounds its length.
function show(state, item) {
  state.timeline.push(item);
  if (state.timeline.length < MAX_ITEMS + FORGET) return;
  const old = new Set(state.timeline.slice(0, -MAX_ITEMS).filter((i) => i !== state.run && !callsOf(i).some((c) => state.open.has(c))));
  state.timeline = state.timeline.filter((i) => !old.has(i));
  for (const i of old) for (const c of callsOf(i)) forget(state, c);
  for (const i of old) if (i.what === "rejected") state.rejections.delete(i.key);
  for (const [key, m] of state.messages) if (old.has(m)) state.messages.delete(key);
  for (const [key, r] of state.runs) if (old.has(r)) state.runs.delete(key);
  state.forgotten.push(...old);
}

function forget(state, call) {
  state.calls.delete(call.call);
  if (state.ids.get(call.id) === call) state.ids.delete(call.id);
}

const callsOf = (item) => (item.blocks ?? []).flatMap((b) => b.calls ?? []);

function runOf(state, e) {
  const id = e.run ?? "";
  let run = state.runs.get(id);
  if (!run) {
    run = { kind: "run", id, startedAt: e.ms, endedAt: 0, status: "", reason: null };
    state.runs.set(id, run);
    show(state, run);
  }
  return run;
}

const messageKey = (e) => JSON.stringify([e.namespace ?? "", e.message_id ?? "", e.choice ?? 0]);

// openMessage begins a message. Ids repeat in real streams: later events refer
// to the newest message of a key.
function openMessage(state, e, key = messageKey(e)) {
  const message = {
    kind: "message", id: e.message_id ?? "", namespace: e.namespace ?? "", choice: e.choice ?? 0, role: e.role ?? "",
    at: e.ms, blocks: [], finished: false, finishReason: "", superseded: false, usage: null, parentTool: "",
  };
  state.messages.set(key, message);
  show(state, message);
  return message;
}

function messageOf(state, e) {
  return state.messages.get(messageKey(e)) ?? openMessage(state, e);
}

function partOf(message, e) {
  const kind = e.kind === "reasoning" ? "reasoning" : "text";
  const part = e.part ?? 0;
  let block = message.blocks.find((b) => b.kind === kind && b.part === part);
  if (!block) {
    block = { kind, part, text: "", bytes: 0, missing: 0, done: false };
    message.blocks.push(block);
  }
  return block;
}

function callOf(state, e) {
  const key = e.call ?? "";
  let call = state.calls.get(key);
  if (call) {
    call.fresh = false;
    return call;
  }
  const message = messageOf(state, e);
  call = {
    kind: "call", call: key, message, run: e.run ?? "", fresh: true,
    id: e.id ?? "", uid: e.uid ?? "", synthesized: !!e.id_synthesized, tool: e.tool_name ?? "", namespace: e.namespace ?? "",
    parent: "", parentTool: "", provider: !!e.provider_executed, type: e.kind ?? "",
    status: "building_args", partial: true, startedAt: 0, completeAt: 0, endedAt: 0, deadline: 0, seenAt: e.ms,
    args: { text: "", bytes: 0, missing: 0 }, argsDone: false, argsValid: true, argsError: "", argsRef: null, by: "",
    waitsFor: "", interrupt: "", progress: null, outside: false,
    outcome: null, synthetic: false, reason: null, durationMs: undefined, argsMs: undefined, runMs: undefined,
    late: null, lateCount: 0,
  };
  setParent(state, call, e.parent_call ?? "");
  state.calls.set(key, call);
  if (call.id) state.ids.set(call.id, call);
  state.open.add(call);
  state.tally.calls++;
  state.tally.open++;
  const last = message.blocks.at(-1);
  if (last?.kind === "calls") last.calls.push(call);
  else message.blocks.push({ kind: "calls", calls: [call] });
  return call;
}

// setParent sets the call from which a call was made. The messages of a sub-agent are
// shown below that call.
function setParent(state, call, parent) {
  if (!parent) return;
  call.parent = parent;
  call.parentTool = call.message.parentTool = state.ids.get(parent)?.tool || parent;
}

// touch updates an open call; a call that has ended is not changed.
function touch(state, call, e, fields) {
  if (terminal(call.status)) return late(state);
  Object.assign(call, fields);
  if (e.tool_name) call.tool = e.tool_name;
  call.deadline = Date.parse(e.deadline) || 0;
  if (call.deadline) call.deadlineFrom = e.ms;
  return [call, call.fresh && call.message];
}

// append adds text that begins at the given byte offset. It skips bytes that are
// present already. It leaves out text after a gap and records the gap, so that
// the text is always a true prefix. It returns false at the first gap.
function append(into, text, offset = into.bytes) {
  if (offset > into.bytes) {
    const first = into.missing === 0;
    into.missing = offset - into.bytes;
    return !first;
  }
  const rest = offset === into.bytes ? text : cut(text, into.bytes - offset);
  if (rest === "") return true;
  into.text += rest;
  into.bytes += utf8(rest);
  into.missing = 0;
  return true;
}

// cut returns text without its first n bytes.
function cut(text, n) {
  let i = 0;
  for (const c of text) {
    if (n <= 0) break;
    n -= utf8(c);
    i += c.length;
  }
  return text.slice(i);
}

// utf8 returns the length of a text in bytes.
export function utf8(text) {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) continue;
    n += c < 0x800 ? 1 : c >= 0xd800 && c < 0xdc00 ? 2 : c >= 0xdc00 && c < 0xe000 ? 0 : 2;
  }
  return n;
}
