import { test } from "node:test";
import assert from "node:assert/strict";
import { create, apply, utf8 } from "../reduce.js";

const at = (s) => new Date(Date.UTC(2026, 2, 2, 10, 0, 0) + s * 1000).toISOString();

// fold applies events in order, numbered from 1 and a second apart.
function fold(...list) {
  const state = create();
  list.forEach((e, i) => apply(state, i + 1, { timestamp: at(i), ...e }));
  return state;
}
const start = (call, more = {}) => ({ type: "tool_call_start", call, id: "id-" + call, tool_name: "search", message_id: "m", ...more });
const delta = (call, offset, args) => ({ type: "tool_call_args_delta", call, offset, args, message_id: "m" });
const complete = (call, more = {}) => ({ type: "tool_call_args_complete", call, args_valid: true, message_id: "m", ...more });
const result = (call, status, more = {}) => ({ type: "tool_call_result", call, status, message_id: "m", ...more });

test("a call from start to result", () => {
  const s = fold(start("1.0"), delta("1.0", 0, '{"q":'), delta("1.0", 5, '"é"}'), complete("1.0", { args_text: '{"q":"é"}' }), result("1.0", "completed", { tool_result: "ok", duration_ms: 4000 }));
  const c = s.calls.get("1.0");
  assert.deepEqual([c.status, c.args.text, c.args.bytes, c.outcome.value, c.durationMs, c.argsDone], ["completed", '{"q":"é"}', 10, "ok", 4000, true]);
  assert.deepEqual(s.tally, { calls: 1, open: 0, completed: 1, error: 0, denied: 0, cancelled: 0, timeout: 0 });
  assert.equal(s.open.size, 0);
});

test("the states on the way", () => {
  const seen = [];
  const s = create();
  const list = [start("1.0"), complete("1.0"), { type: "tool_call_awaiting_input", call: "1.0", kind: "approval", message_id: "m" }, result("1.0", "denied")];
  list.forEach((e, i) => { apply(s, i + 1, { timestamp: at(i), ...e }); seen.push(s.calls.get("1.0").status); });
  assert.deepEqual(seen, ["building_args", "args_complete", "awaiting_input", "denied"]);
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
  assert.deepEqual([s.open.size, s.timeline.map((i) => i.kind)], [0, ["notice"]]);
});

test("an event seen twice counts once", () => {
  const s = create();
  for (const seq of [5, 5, 6, 5, 6]) apply(s, seq, { ...delta("1.0", undefined, "x"), timestamp: at(0) });
  assert.deepEqual([s.calls.get("1.0").args.text, s.counts.duplicates, s.seq], ["xx", 3, 6]);
});

test("unknown types are counted, hostile ones too", () => {
  const s = fold({ type: "tool_call_dreamt" }, { type: "constructor" }, { type: "__proto__" }, {});
  assert.deepEqual([s.counts.unknown, s.timeline.length], [4, 0]);
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
  const m = s.timeline[0];
  assert.deepEqual(m.blocks.map((b) => b.kind === "calls" ? b.calls.map((c) => c.call) : b.kind + ":" + b.text), ["reasoning:hm", "text:I look", ["1.0", "1.1"], "text:and", ["2.0"]]);
});

test("a human message is an item of its own, in one piece or in several", () => {
  const human = (content, offset, more = {}) => ({ type: "human_message", role: "user", message_id: "", content, offset, ...more });
  const s = fold({ type: "message_started", message_id: "", role: "assistant" }, human("What ", 0), human("now?", 5), human("And then?", 0),
    { type: "agent_response_chunk", message_id: "", part: 0, offset: 0, content: "This." });
  assert.deepEqual(s.timeline.map((m) => [m.role, m.finished, m.blocks.map((b) => b.text).join("|")]),
    [["assistant", false, "This."], ["user", true, "What now?"], ["user", true, "And then?"]]);
});

test("a call names the call from which it was made, at its start or later", () => {
  const s = fold(start("1.0", { tool_name: "task" }), start("2.0", { message_id: "n", parent_call: "id-1.0" }), start("3.0", { message_id: "o" }));
  assert.deepEqual(["2.0", "3.0"].map((c) => s.calls.get(c).parentTool), ["task", ""]);
  assert.deepEqual(s.timeline.map((m) => m.parentTool), ["", "task", ""]);
  const changed = apply(s, 4, { type: "tool_call_parent", call: "3.0", parent_call: "id-1.0", timestamp: at(4) });
  assert.deepEqual([changed.map((r) => r.kind), s.calls.get("3.0").parentTool, s.timeline[2].parentTool], [["call", "message"], "task", "task"]);
  assert.deepEqual(apply(s, 5, { type: "tool_call_parent", call: "9.0", parent_call: "x", timestamp: at(5) }), []);
});

test("a repeated message id is a new message; sub-agents and choices are apart", () => {
  const begin = (more = {}) => ({ type: "message_started", message_id: "m", ...more });
  const s = fold(begin(), start("1.0"), begin(), start("2.0"), begin({ namespace: "sub" }), start("3.0", { namespace: "sub" }), begin({ choice: 1 }), start("4.0", { choice: 1 }));
  assert.deepEqual(s.timeline.map((m) => m.blocks[0].calls[0].call), ["1.0", "2.0", "3.0", "4.0"]);
});

test("a call whose beginning is gone is shown all the same", () => {
  const s = fold(result("9.0", "completed", { tool_name: "search", tool_result: "ok" }));
  const c = s.calls.get("9.0");
  assert.deepEqual([c.partial, c.status, c.tool, s.timeline[0].blocks[0].calls[0] === c], [true, "completed", "search", true]);
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
  assert.deepEqual([s.run, s.runs.get("r").status, s.calls.get("1.0").outside, s.counts.afterEnd], [null, "completed", true, 1]);
  assert.deepEqual(s.timeline.map((i) => i.kind), ["run", "message", "end"]);
});

test("what an input named and is not open is a notice", () => {
  const s = fold({ type: "unmatched", kind: "interrupt", target: { calls: ["9.9"], run: "7.0" }, input: 3 });
  const [n] = s.timeline;
  assert.deepEqual([n.kind, n.what, n.of, n.target.calls, s.counts.unknown], ["notice", "unmatched", "interrupt", ["9.9"], 0]);
});

test("rejected inputs and orphans are notices, and bounded", () => {
  const s = fold(...Array.from({ length: 600 }, (_, i) => ({ type: "rejected", reason: { code: "bad_json", text: "t" + i }, input: 3 })), { type: "orphan_result", id: "x" });
  assert.deepEqual([s.timeline.length, s.counts.notices], [500, 601]);
});

const rejected = (text, input) => ({ type: "rejected", reason: { code: "bad_json", text }, input, offset: 2 });

test("inputs rejected for one reason are one notice with a count", () => {
  const s = fold(rejected("a", 3), rejected("b", 4), rejected("a", 5), rejected("a", 5), rejected("a", 9));
  assert.deepEqual(s.timeline.map((n) => [n.reason.text, n.times, n.input, n.last]), [["a", 3, 3, 9], ["b", 1, 4, 4]]);
});

test("the notice of a repeated reason is drawn again", () => {
  const s = create();
  const [first] = apply(s, 1, { timestamp: at(1), ...rejected("a", 3) });
  assert.deepEqual(apply(s, 2, { timestamp: at(2), ...rejected("a", 4) }), [first]);
});

test("a reason whose notice is forgotten gets another", () => {
  const list = [rejected("a", 3)];
  for (let i = 0; i < 6000; i++) list.push({ type: "message_started", message_id: "m" + i });
  const s = fold(...list, rejected("a", 9));
  const last = s.timeline.at(-1);
  assert.deepEqual([last.what, last.times, last.input, s.rejections.size], ["rejected", 1, 9, 1]);
});

test("the timeline is bounded; what is open is never forgotten", () => {
  const list = [start("open.0")];
  for (let i = 0; i < 6000; i++) list.push({ type: "message_started", message_id: "m" + i }, start(i + ".0", { message_id: "m" + i }), result(i + ".0", "completed", { message_id: "m" + i }));
  const s = fold(...list);
  assert.ok(s.timeline.length <= 5501, "length " + s.timeline.length);
  assert.equal(s.timeline.length + s.forgotten.length, 6001);
  assert.deepEqual([s.timeline[0].blocks[0].calls[0].call, s.calls.has("0.0"), s.calls.has("5999.0"), s.tally.calls], ["open.0", false, true, 6001]);
});

test("every record changed is named, so that nothing else need be drawn", () => {
  const s = create();
  const names = (seq, e) => apply(s, seq, { timestamp: at(seq), ...e }).map((r) => r.kind);
  assert.deepEqual(names(1, start("1.0")), ["call", "message"]);
  assert.deepEqual(names(2, delta("1.0", 0, "x")), ["call"]);
  assert.deepEqual(names(3, result("1.0", "completed")), ["call"]);
});

test("10,000 deltas over 1,000 calls take no time", () => {
  const s = create();
  let seq = 0;
  const begun = performance.now();
  for (let c = 0; c < 1000; c++) apply(s, ++seq, { timestamp: at(0), ...start(c + ".0") });
  for (let i = 0; i < 10; i++) for (let c = 0; c < 1000; c++) apply(s, ++seq, { timestamp: at(0), ...delta(c + ".0", i * 4, "abcd") });
  assert.equal(s.calls.get("999.0").args.bytes, 40);
  assert.ok(performance.now() - begun < 2000);
});

test("utf8 is the length in bytes", () => {
  for (const text of ["", "abc", "é", "你好", "🚆", "a\u07ff\u0800\uffff", "x🚆é"]) assert.equal(utf8(text), Buffer.byteLength(text), text);
});
