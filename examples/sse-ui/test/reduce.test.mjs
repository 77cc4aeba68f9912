import { test } from "node:test";
import assert from "node:assert/strict";
import { create, reduce } from "../reduce.js";
import { answered } from "../words.js";
import { utf8 } from "../text.js";
import { changes } from "../table.js";
import { childrenOf, phasesOf } from "../select.js";

const at = (s) => new Date(Date.UTC(2026, 2, 2, 10, 0, 0) + s * 1000).toISOString();

// fold applies events in order, numbered from 1 and a second apart.
function fold(...list) {
  return list.reduce((state, e, i) => reduce(state, { timestamp: at(i), ...e }, i + 1), create());
}
const items = (state) => [...state.timeline.values()];
const start = (call, more = {}) => ({ type: "tool_call_start", call, id: "id-" + call, tool_name: "search", message_id: "m", ...more });
const delta = (call, offset, args) => ({ type: "tool_call_args_delta", call, offset, args, message_id: "m" });
const complete = (call, more = {}) => ({ type: "tool_call_args_complete", call, args_valid: true, message_id: "m", ...more });
const result = (call, status, more = {}) => ({ type: "tool_call_result", call, status, message_id: "m", ...more });

test("a call from start to result", () => {
  const s = fold(start("1.0"), delta("1.0", 0, '{"q":'), delta("1.0", 5, '"é"}'), complete("1.0", { args_text: '{"q":"é"}' }), result("1.0", "completed", { tool_result: "ok", duration_ms: 4000 }));
  const c = s.calls.get("1.0");
  assert.deepEqual([c.status, c.args.text, c.args.bytes, c.outcome.value, c.durationMs, c.argsDone], ["completed", '{"q":"é"}', 10, "ok", 4000, true]);
  assert.deepEqual(s.tally, { calls: 1, open: 0, completed: 1, error: 0, denied: 0, cancelled: 0, timeout: 0 });
  assert.deepEqual(s.open, []);
});

test("the states on the way", () => {
  const seen = [];
  let s = create();
  const list = [start("1.0"), complete("1.0"), { type: "tool_call_awaiting_input", call: "1.0", kind: "approval", message_id: "m" }, result("1.0", "denied")];
  list.forEach((e, i) => { s = reduce(s, { timestamp: at(i), ...e }, i + 1); seen.push(s.calls.get("1.0").status); });
  assert.deepEqual(seen, ["building_args", "args_complete", "awaiting_input", "denied"]);
});

test("the args of an edit replace those of the model, which were stored apart", () => {
  const s = fold(start("1.0"), complete("1.0", { args_ref: { size: 70_000, preview: '{"to":"x' }, args_valid: false, args_error: "e" }), { type: "tool_call_awaiting_input", call: "1.0" },
    { type: "tool_call_answered", call: "1.0", decision: "edit", tool_args: { to: "é" }, status: "args_complete" });
  const c = s.calls.get("1.0");
  assert.deepEqual([c.args, c.argsRef, c.argsValid, c.argsError, c.answer.args], [{ text: '{"to":"é"}', bytes: 11, missing: 0 }, null, true, "", { to: "é" }]);
});

test("the first terminal event is the last word", () => {
  const s = fold(start("1.0"), result("1.0", "timeout", { synthetic: true, reason: { code: "result_timeout", text: "t" } }),
    result("1.0", "completed"), complete("1.0", { args_text: "{}" }), delta("1.0", 0, "x"), { type: "tool_call_progress", call: "1.0", message_id: "m" });
  const c = s.calls.get("1.0");
  assert.deepEqual([c.status, c.args.text, c.progress, s.counts.afterEnd, s.tally.timeout, s.tally.completed], ["timeout", "", null, 4, 1, 0]);
});

test("a late result stands beside the end, not in its place", () => {
  const s = fold(start("1.0"), result("1.0", "timeout"), { type: "tool_call_late_result", call: "1.0", message_id: "m", tool_result: "ok", conflict: true });
  const c = s.calls.get("1.0");
  assert.deepEqual([c.status, c.late.value, c.late.conflict, c.lateCount], ["timeout", "ok", true, 1]);
});

test("a late result for a call no longer stored opens none", () => {
  const s = fold({ type: "tool_call_late_result", call: "1.0", message_id: "m", tool_result: "ok" });
  assert.deepEqual([s.open, items(s).map((i) => i.kind)], [[], ["notice"]]);
});

test("an event seen twice counts once", () => {
  let s = create();
  for (const seq of [5, 5, 6, 5, 6]) s = reduce(s, { ...delta("1.0", undefined, "x"), timestamp: at(0) }, seq);
  assert.deepEqual([s.calls.get("1.0").args.text, s.counts.duplicates, s.seq], ["xx", 3, 6]);
});

test("unknown types are counted, hostile ones too", () => {
  const s = fold({ type: "tool_call_dreamt" }, { type: "constructor" }, { type: "__proto__" }, {});
  assert.deepEqual([s.counts.unknown, s.timeline.size], [4, 0]);
});

test("arguments go by their byte offset", () => {
  const overlap = fold(start("1.0"), delta("1.0", 0, "aé🚆"), delta("1.0", 1, "é🚆b"), delta("1.0", 0, "aé"));
  assert.deepEqual(overlap.calls.get("1.0").args, { text: "aé🚆b", bytes: 8, missing: 0 });

  const hole = fold(start("1.0"), delta("1.0", 0, "abc"), delta("1.0", 10, "xyz"), delta("1.0", 13, "!"));
  assert.deepEqual([hole.calls.get("1.0").args, hole.counts.gaps], [{ text: "abc", bytes: 3, missing: 10 }, 1]);

  const healed = fold(start("1.0"), delta("1.0", 5, "x"), complete("1.0", { args_text: "12345x" }));
  assert.deepEqual(healed.calls.get("1.0").args, { text: "12345x", bytes: 6, missing: 0 });
});

test("args_text wins over the deltas; a reference leaves them", () => {
  assert.equal(fold(delta("1.0", 0, "{}"), complete("1.0", { args_text: '{"a":1}' })).calls.get("1.0").args.text, '{"a":1}');
  const ref = fold(delta("1.0", 0, "long"), complete("1.0", { args_ref: { size: 70000, preview: "lo" } })).calls.get("1.0");
  assert.deepEqual([ref.args.text, ref.argsRef.size, ref.argsRef.seq], ["long", 70000, 2]);
});

test("text and parallel calls interleave in the order they were seen", () => {
  const text = (part, offset, content, kind = "text") => ({ type: "agent_response_chunk", message_id: "m", part, offset, content, kind });
  const s = fold({ type: "message_started", message_id: "m", role: "assistant" }, text(0, 0, "hm", "reasoning"), text(1, 0, "I "), text(1, 2, "look"), start("1.0"), start("1.1"), text(2, 0, "and"), start("2.0"));
  const m = s.timeline.at(0);
  assert.deepEqual(m.blocks.map((b) => b.kind === "calls" ? b.calls : b.kind + ":" + b.text), ["reasoning:hm", "text:I look", ["1.0", "1.1"], "text:and", ["2.0"]]);
});

test("a human message is an item of its own, in one piece or in several", () => {
  const human = (content, offset, more = {}) => ({ type: "human_message", role: "user", message_id: "", content, offset, ...more });
  const s = fold({ type: "message_started", message_id: "", role: "assistant" }, human("What ", 0), human("now?", 5), human("And then?", 0),
    { type: "agent_response_chunk", message_id: "", part: 0, offset: 0, content: "This." });
  assert.deepEqual(items(s).map((m) => [m.role, m.finished, m.blocks.map((b) => b.text).join("|")]),
    [["assistant", false, "This."], ["user", true, "What now?"], ["user", true, "And then?"]]);
});

test("a call names the call from which it was made, at its start or later", () => {
  const s = fold(start("1.0", { tool_name: "task" }), start("2.0", { message_id: "n", parent_call: "id-1.0" }), start("3.0", { message_id: "o" }));
  assert.deepEqual(["2.0", "3.0"].map((c) => s.calls.get(c).parentTool), ["task", ""]);
  assert.deepEqual(items(s).map((m) => m.parentTool), ["", "task", ""]);
  const t = reduce(s, { type: "tool_call_parent", call: "3.0", parent_call: "id-1.0", timestamp: at(4) }, 4);
  assert.deepEqual([t.calls.get("3.0").parentTool, t.calls.get("3.0").parentCall, t.timeline.at(2).parentTool], ["task", "1.0", "task"]);
  const u = reduce(t, { type: "tool_call_parent", call: "9.0", parent_call: "x", timestamp: at(5) }, 5);
  assert.deepEqual([u.calls === t.calls, u.timeline === t.timeline], [true, true]);
});

test("a repeated message id is a new message; sub-agents and choices are apart", () => {
  const begin = (more = {}) => ({ type: "message_started", message_id: "m", ...more });
  const s = fold(begin(), start("1.0"), begin(), start("2.0"), begin({ namespace: "sub" }), start("3.0", { namespace: "sub" }), begin({ choice: 1 }), start("4.0", { choice: 1 }));
  assert.deepEqual(items(s).map((m) => m.blocks[0].calls[0]), ["1.0", "2.0", "3.0", "4.0"]);
});

test("a call whose beginning is gone is shown all the same", () => {
  const s = fold(result("9.0", "completed", { tool_name: "search", tool_result: "ok" }));
  const c = s.calls.get("9.0");
  assert.deepEqual([c.partial, c.status, c.tool, s.timeline.at(0).blocks[0].calls[0] === c.call], [true, "completed", "search", true]);
});

test("deadlines come, move and go", () => {
  const d = (call, deadline) => ({ ...complete(call), deadline });
  assert.equal(fold(start("1.0", { deadline: at(120) })).calls.get("1.0").deadline, Date.parse(at(120)));
  assert.equal(fold(start("1.0", { deadline: at(120) }), d("1.0", at(600))).calls.get("1.0").deadline, Date.parse(at(600)));
  assert.equal(fold(start("1.0", { deadline: at(120) }), complete("1.0")).calls.get("1.0").deadline, 0);
  assert.equal(fold(start("1.0", { deadline: at(120) }), result("1.0", "error")).calls.get("1.0").deadline, 0);
});

test("runs begin, end, and name what they leave open", () => {
  const s = fold({ type: "run_started", run: "r" }, start("1.0", { run: "r" }), complete("1.0"), { type: "run_finished", run: "r", status: "completed", pending: ["1.0", "gone"] }, { type: "run_finished", run: "r", status: "error" });
  assert.deepEqual([s.run, s.timeline.at(0).status, s.calls.get("1.0").outside, s.counts.afterEnd], ["", "completed", true, 1]);
  assert.deepEqual(items(s).map((i) => i.kind), ["run", "message", "end"]);
});

test("what an input named and is not open is a notice", () => {
  const s = fold({ type: "unmatched", kind: "interrupt", target: { calls: ["9.9"], run: "7.0" }, input: 3 });
  const [n] = items(s);
  assert.deepEqual([n.kind, n.what, n.of, n.target.calls, s.counts.unknown], ["notice", "unmatched", "interrupt", ["9.9"], 0]);
});

test("what a tap stopped is held until it is resumed", () => {
  const stopped = { type: "interrupted", event_id: "5.0", input: 4, binding: { calls_out: [] } };
  assert.equal(fold({ type: "interrupted", event_id: "4.0", closed: 0, input: 4 }).held, 0);
  assert.equal(fold(stopped).held, 4);
  assert.equal(fold(stopped, { type: "resumed", event_id: "6.0", input: 6 }).held, 0);
  assert.equal(fold(stopped).timeline.size, 0);
});

test("an answer to a call that was answered is a notice with the first", () => {
  const [n] = items(fold({ type: "unmatched", kind: "answer", target: { calls: ["9.9"] }, input: 3, decision: "approve", by: "ann" }));
  assert.deepEqual([n.of, answered(n.answer)], ["answer", "Approved by ann."]);
});

test("an interrupt that found nothing open is a notice, others are not", () => {
  const s = fold({ type: "interrupted", event_id: "3.0", closed: 0, input: 3 }, { type: "interrupted", event_id: "4.2", closed: 1, calls: ["1.0"], input: 4 });
  assert.deepEqual(items(s).map((n) => [n.kind, n.what, n.of, n.input]), [["notice", "unmatched", "interrupt", 3]]);
  assert.equal(s.counts.unknown, 0);
});

test("rejected inputs and orphans are notices, and bounded", () => {
  const s = fold(...Array.from({ length: 600 }, (_, i) => ({ type: "rejected", reason: { code: "bad_json", text: "t" + i }, input: 3 })), { type: "orphan_result", id: "x" });
  assert.deepEqual([s.timeline.size, s.counts.notices], [500, 601]);
});

const rejected = (text, input) => ({ type: "rejected", reason: { code: "bad_json", text }, input, offset: 2 });

test("inputs rejected for one reason are one notice with a count", () => {
  const s = fold(rejected("a", 3), rejected("b", 4), rejected("a", 5), rejected("a", 5), rejected("a", 9));
  assert.deepEqual(items(s).map((n) => [n.reason.text, n.times, n.input, n.last]), [["a", 3, 3, 9], ["b", 1, 4, 4]]);
});

test("a reason whose notice is forgotten gets another", () => {
  const list = [rejected("a", 3)];
  for (let i = 0; i < 6000; i++) list.push({ type: "message_started", message_id: "m" + i });
  const s = fold(...list, rejected("a", 9));
  const last = s.timeline.at(-1);
  assert.deepEqual([last.what, last.times, last.input, s.index.rejections.size], ["rejected", 1, 9, 1]);
});

test("the timeline is bounded; what is open is never forgotten", () => {
  const list = [start("open.0")];
  for (let i = 0; i < 6000; i++) list.push({ type: "message_started", message_id: "m" + i }, start(i + ".0", { message_id: "m" + i }), result(i + ".0", "completed", { message_id: "m" + i }));
  const s = fold(...list);
  assert.ok(s.timeline.size <= 5501, "size " + s.timeline.size);
  assert.deepEqual([s.timeline.at(0).blocks[0].calls[0], s.calls.has("0.0"), s.calls.has("5999.0"), s.tally.calls], ["open.0", false, true, 6001]);
  assert.deepEqual([s.index.ids.has("id-0.0"), s.index.messages.size <= 5501], [false, true]);
});

test("a run that paused no longer waits for a call that has ended", () => {
  const s = fold({ type: "run_started", run: "r" }, start("1.0", { run: "r" }), start("2.0", { run: "r" }),
    { type: "run_finished", run: "r", status: "interrupted", pending: ["1.0", "2.0"] }, result("1.0", "denied", { run: "r" }));
  const end = s.timeline.at(-1);
  assert.deepEqual([end.kind, end.pending, end.waiting], ["end", ["1.0", "2.0"], ["2.0"]]);
});

test("a run id that is used again is another run", () => {
  const s = fold({ type: "run_started", run: "r" }, { type: "run_finished", run: "r", status: "completed" }, { type: "run_started", run: "r" }, { type: "run_finished", run: "r", status: "error" });
  assert.deepEqual([items(s).filter((i) => i.kind === "run").map((r) => r.status), s.run, s.counts.afterEnd], [["completed", "error"], "", 0]);
});

test("a call closed by a human message names it", () => {
  const s = fold(start("1.0"), start("2.0"), result("1.0", "cancelled", { event_id: "9.0", reason: { code: "new_message" } }),
    result("2.0", "cancelled", { event_id: "9.1", reason: { code: "new_message" } }),
    { type: "human_message", event_id: "9.2", role: "user", message_id: "", offset: 0, content: "Stop." },
    { type: "human_message", event_id: "10.0", role: "user", message_id: "", offset: 0, content: "Go on." });
  assert.deepEqual(["1.0", "2.0"].map((key) => s.timeline.get(s.calls.get(key).closedBy).blocks[0].text), ["Stop.", "Stop."]);
});

test("a synthetic message belongs to the call whose result it follows", () => {
  const s = fold(start("1.0"), start("2.0"), result("1.0", "timeout", { synthetic: true }), { type: "synthetic", message: { role: "tool", content: "t" } },
    result("2.0", "timeout", { synthetic: true }), { type: "synthetic", call: "2.0", message: { role: "tool", content: "u" } });
  assert.deepEqual([s.calls.get("1.0").history.content, s.calls.get("2.0").history.content, s.counts.unknown], ["t", "u", 0]);
});

test("all messages of a sub-agent have its parent", () => {
  const ns = { namespace: "tools:5f|agent:77" };
  const s = fold(start("1.0", { tool_name: "task" }), { type: "message_started", message_id: "a", namespace: "tools:5f|agent:12" },
    start("2.0", { message_id: "b", ...ns, parent_call: "id-1.0" }), { type: "message_started", message_id: "c", namespace: "tools:5f|agent:99" }, { type: "message_started", message_id: "d", namespace: "tools:60|agent:1" });
  assert.deepEqual(items(s).map((m) => m.parentCall), ["", "1.0", "1.0", "1.0", ""]);
  assert.deepEqual([...childrenOf(s)].map(([key, calls]) => [key, calls.map((c) => c.call)]), [["", ["1.0"]], ["1.0", ["2.0"]]]);
});

test("a call has three phases, and waits in between", () => {
  const s = fold(start("1.0"), complete("1.0"), { type: "tool_call_awaiting_input", call: "1.0" }, { type: "tool_call_progress", call: "1.0", status: "args_complete" }, result("1.0", "completed"));
  const ms = Date.parse(at(0));
  const seconds = (list) => list.map((p) => [p.phase, (p.from - ms) / 1000, (p.to - ms) / 1000]);
  assert.deepEqual(seconds(phasesOf(s.calls.get("1.0"), 0)), [["args", 0, 1], ["running", 1, 2], ["waiting", 2, 3], ["running", 3, 4]]);
  const open = fold(start("1.0"), complete("1.0"));
  assert.deepEqual(seconds(phasesOf(open.calls.get("1.0"), ms + 7000)), [["args", 0, 1], ["running", 1, 7]]);
  const cut = fold(start("1.0"), result("1.0", "cancelled"));
  assert.deepEqual(seconds(phasesOf(cut.calls.get("1.0"), 0)), [["args", 0, 1]]);
});

test("what an event does not concern is identical before and after it", () => {
  const before = fold(start("1.0"), start("2.0", { message_id: "n" }), { type: "message_started", message_id: "o" });
  const frozen = JSON.stringify(items(before)) + JSON.stringify([...before.calls]);
  const after = reduce(before, { ...delta("2.0", 0, "x"), timestamp: at(9) }, 9);
  assert.deepEqual([after === before, after.calls === before.calls, after.timeline === before.timeline, after.open === before.open, after.tally === before.tally],
    [false, false, true, true, true]);
  assert.deepEqual([after.calls.get("1.0") === before.calls.get("1.0"), after.calls.get("2.0") === before.calls.get("2.0")], [true, false]);
  assert.deepEqual(changes(before.calls, after.calls).set.map(([key]) => key), ["2.0"]);
  assert.equal(JSON.stringify(items(before)) + JSON.stringify([...before.calls]), frozen);
});

test("two states that grew from one are independent", () => {
  const root = fold(start("1.0"));
  const add = (state, call, seq) => reduce(state, { ...start(call), timestamp: at(seq) }, seq);
  const left = add(root, "a.0", 2), right = add(add(root, "b.0", 2), "a.0", 3), again = add(left, "b.0", 3);
  const keys = (s) => [...s.calls.keys()];
  assert.deepEqual([keys(root), keys(left), keys(right), keys(again)], [["1.0"], ["1.0", "a.0"], ["1.0", "b.0", "a.0"], ["1.0", "a.0", "b.0"]]);
  for (const s of [root, left, right, again]) for (const key of ["1.0", "a.0", "b.0"]) assert.equal(s.calls.get(key)?.call, keys(s).includes(key) ? key : undefined);
});

test("10,000 deltas over 1,000 calls, and a reader of each state", (t) => {
  let s = create(), seq = 0, read = 0;
  const begun = performance.now();
  for (let c = 0; c < 1000; c++) s = reduce(s, { timestamp: at(0), ...start(c + ".0") }, ++seq);
  for (let i = 0; i < 10; i++) for (let c = 0; c < 1000; c++) {
    s = reduce(s, { timestamp: at(0), ...delta(c + ".0", i * 4, "abcd") }, ++seq);
    read += s.calls.get(c + ".0").args.text.charCodeAt(i * 4);
  }
  assert.deepEqual([s.calls.get("999.0").args.bytes, read], [40, 97 * 10_000]);
  t.diagnostic(Math.round(performance.now() - begun) + " ms");
});

test("2 MiB of arguments in 5,000 deltas, read at every 16th", (t) => {
  const piece = "x".repeat(420);
  let s = reduce(create(), { timestamp: at(0), ...start("1.0") }, 1), read = 0;
  const begun = performance.now();
  for (let i = 0; i < 5_000; i++) {
    s = reduce(s, { timestamp: at(0), ...delta("1.0", i * 420, piece) }, i + 2);
    if (i % 16 === 0) read += s.calls.get("1.0").args.text.charCodeAt(i);
  }
  assert.deepEqual([s.calls.get("1.0").args.text.length, read], [2_100_000, 120 * 313]);
  t.diagnostic(Math.round(performance.now() - begun) + " ms");
});

test("utf8 is the length in bytes", () => {
  for (const text of ["", "abc", "é", "你好", "🚆", "a\u07ff\u0800\uffff", "x🚆é"]) assert.equal(utf8(text), Buffer.byteLength(text), text);
});

test("a new attempt is linked with the calls that it replaces", () => {
  const closed = { synthetic: true, reason: { code: "superseded", text: "t" } };
  const begin = (id, run = "r") => ({ type: "message_started", run, message_id: id, event_id: id + ".0" });
  const abandon = (id, run = "r") => ({ type: "message_finished", run, message_id: id, superseded: true });
  const of = (id, run = "r") => ({ message_id: id, run });
  const s = fold(
    begin("a"), start("1.0", of("a")), start("1.1", { ...of("a"), tool_name: "read" }),
    result("1.0", "cancelled", { ...of("a"), ...closed }), result("1.1", "cancelled", { ...of("a"), ...closed }), abandon("a"),
    { type: "human_message", role: "user", message_id: "h", content: "?" },
    begin("b"), start("2.0", of("b")), start("2.1", of("b")), result("2.0", "cancelled", { ...of("b"), ...closed }), abandon("b"),
    begin("c"), start("3.0", of("c")), abandon("c"), begin("d", "other run"), start("4.0", of("d", "other run")));
  const links = (key) => ["closedBy", "replacedBy", "replaces"].map((field) => s.calls.get(key)[field]);
  assert.deepEqual(links("1.0"), ["message b.0", "2.0", ""]);
  assert.deepEqual(links("1.1"), ["message b.0", "", ""]); // the tool is not called again
  assert.deepEqual(links("2.0"), ["message c.0", "3.0", "1.0"]);
  assert.deepEqual(links("2.1"), ["", "", ""]);
  assert.deepEqual(links("4.0"), ["", "", ""]);
  assert.deepEqual(items(s).filter((m) => m.kind === "message").map((m) => m.replaces), ["", "", "message a.0", "message b.0", ""]);
});
