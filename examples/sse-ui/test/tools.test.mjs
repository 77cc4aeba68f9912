import assert from "node:assert/strict";
import { test } from "node:test";
import { execFileSync } from "node:child_process";
import { create, reduce } from "../reduce.js";
import { excerptOf } from "../copies.js";
import { jsonOf, curlOf, historyOf } from "../written.js";
import { matcher, isNone, NONE } from "../search.js";
import { recorder, callOf, mentions } from "../frames.js";

const HOSTILE = "it's $(id) `x` \"q\" \\ \u202e</script>\n";

// fold returns the calls after events of one call, "1.0" with the id c1.
function fold(...events) {
  let state = create(), seq = 0;
  for (const e of events) {
    const at = new Date(1_700_000_000_000 + 1_000 * seq).toISOString();
    state = reduce(state, { session: "s", run: "1.0", message_id: "m", call: "1.0", id: "c1", uid: "c1", timestamp: at, ...e }, ++seq);
  }
  return state.calls.get("1.0");
}

const begun = { type: "tool_call_start", tool_name: "search", kind: "function" };
const args = (text) => ({ type: "tool_call_args_complete", tool_name: "search", args_text: text, args_valid: true });
const ended = (fields) => ({ type: "tool_call_result", tool_name: "search", status: "completed", args_complete: true, ...fields });

// commands returns the words of each command that a shell would run as curl.
function commands(script) {
  const curl = 'curl() { for w; do [ "$w" = @- ] && cat || printf %s "$w"; printf "\\0"; done; printf "\\001"; }\n';
  const out = execFileSync("sh", { input: curl + script }).toString();
  return out.split("\x01").filter(Boolean).map((c) => c.split("\0").slice(0, -1));
}

test("the commands send the call and its result as they were", () => {
  const call = fold(begun, args(JSON.stringify({ q: HOSTILE })), ended({ tool_result: HOSTILE }));
  const [deltas, results, ...more] = commands(curlOf(call, "a/b " + HOSTILE, HOSTILE, "http://127.0.0.1:1"));
  assert.equal(more.length, 0);
  assert.equal(deltas[0], "http://127.0.0.1:1/v1/sessions/" + encodeURIComponent("a/b " + HOSTILE) + "/deltas");
  const [chunk, end] = JSON.parse(deltas.at(-1));
  assert.deepEqual(JSON.parse(chunk.choices[0].delta.tool_calls[0].function.arguments), { q: HOSTILE });
  assert.equal(end.choices[0].finish_reason, "tool_calls");
  assert.deepEqual(JSON.parse(results.at(-1)), { tool_call_id: "c1", content: HOSTILE, status: "completed" });
});

test("what is too long for an argument is sent from the input, and a denied call is denied", () => {
  const long = HOSTILE.repeat(5_000);
  const call = fold(begun, args(JSON.stringify({ q: long })), ended({ status: "denied", synthetic: true, tool_result: "no", reason: { code: "denied", text: "no" } }));
  const script = curlOf(call, "s", "no", "http://h");
  const [deltas, end] = commands(script);
  assert.match(script, /-d @- <<'EOF'\n/);
  assert.deepEqual(JSON.parse(JSON.parse(deltas.at(-1))[0].choices[0].delta.tool_calls[0].function.arguments), { q: long });
  assert.deepEqual([end[0], JSON.parse(end.at(-1))], ["http://h/v1/sessions/s/results", { tool_call_id: "c1", content: "no", status: "denied" }]);
});

test("the commands of a stopped call stop it, and those of an open call do not end it", () => {
  const stopped = fold(begun, ended({ status: "cancelled", synthetic: true, args_complete: false, reason: { code: "interrupt", text: "cancelled" } }));
  const [deltas, stop] = commands(curlOf(stopped, "s", undefined, "http://h"));
  assert.equal(JSON.parse(deltas.at(-1)).length, 1, "the args were not complete, so the message does not end");
  assert.match(stop[0], /\/interrupt$/);
  assert.deepEqual(JSON.parse(stop.at(-1)).tool_call_ids, ["c1"]);
  assert.equal(commands(curlOf(fold(begun, args("{}")), "s", undefined, "http://h")).length, 1);
});

test("messages of a history", () => {
  const failed = fold(begun, args('{"q":1}'), ended({ status: "error", tool_result: { code: 7 } }));
  const [ask, answer] = JSON.parse(historyOf(failed, "openai", { code: 7 }));
  assert.equal(ask.tool_calls[0].function.arguments, '{"q":1}');
  assert.deepEqual(answer, { role: "tool", tool_call_id: "c1", content: '{"code":7}' });
  const [use, result] = JSON.parse(historyOf(failed, "anthropic", { code: 7 }));
  assert.deepEqual(use.content[0], { type: "tool_use", id: "c1", name: "search", input: { q: 1 } });
  assert.deepEqual(result.content[0], { type: "tool_result", tool_use_id: "c1", content: '{"code":7}', is_error: true });

  const invalid = fold(begun, args('{"q":'));
  assert.deepEqual(JSON.parse(historyOf(invalid, "anthropic"))[0].content[0].input, { arguments: '{"q":' });
  assert.equal(JSON.parse(historyOf(invalid, "openai")).length, 1, "an open call has no result");

  const reason = { code: "result_timeout", text: "it timed out" };
  const timeout = fold(begun, args("{}"), ended({ status: "timeout", synthetic: true, reason }));
  assert.equal(JSON.parse(historyOf(timeout, "openai", undefined))[1].content, "it timed out");
});

test("JSON has the result as a value", () => {
  const call = fold(begun, args("[1]"), ended({ tool_result: { a: 1 }, duration_ms: 5 }));
  const got = JSON.parse(jsonOf(call, { a: 1 }));
  assert.deepEqual([got.tool_name, got.args_text, got.tool_result, got.duration_ms], ["search", "[1]", { a: 1 }, 5]);
});

test("the beginning of a large value has no raw quote, and ends with an ellipsis", () => {
  const whole = 'line\n"two" \\ \u00e9\u{1f600}' + "x".repeat(20);
  const preview = JSON.stringify(whole).replace("\u00e9", "\\u00e9");
  for (let n = 1; n < preview.length; n++) {
    const got = excerptOf(preview.slice(0, n));
    assert.ok(got.endsWith("…") && whole.startsWith(got.slice(0, -1).replace(/[\ud800-\udbff]$/, "")), preview.slice(0, n) + " → " + got);
  }
  assert.equal(excerptOf('{"a":1'), '{"a":1…');
});

test("a search shows calls by text, tool, status and duration", () => {
  const call = fold(begun, args('{"q":"Oslo"}'), ended({ tool_result: { sky: "Clear" }, duration_ms: 1_500 }));
  const open = fold(begun);
  const shows = (search, c = call, now = 0) => matcher({ ...NONE, ...search })(c, now);
  assert.ok(isNone(NONE) && isNone({ ...NONE, text: "  " }) && !isNone({ ...NONE, least: 1 }));
  for (const search of [{}, { text: "OSLO clear" }, { text: "sea" }, { text: "c1" }, { tool: "search" }, { status: "completed" }, { least: 1_500 }]) {
    assert.ok(shows(search), JSON.stringify(search));
  }
  for (const search of [{ text: "oslo rain" }, { tool: "sea" }, { status: "open" }, { status: "error" }, { least: 1_501 }]) {
    assert.ok(!shows(search), JSON.stringify(search));
  }
  assert.ok(shows({ status: "open" }, open) && !shows({ text: "oslo" }, open));
  assert.ok(shows({ least: 2_000 }, open, open.startedAt + 2_000) && !shows({ least: 2_000 }, open, open.startedAt + 1_999));
});

test("the frames have sizes, gaps and duplicates", () => {
  const r = recorder();
  r.add({ event: "stream.open", data: "{}", id: "" }, 100);
  r.add({ event: "tool_call_start", data: '{"call":"1.0"}', id: "7" }, 130);
  r.add({ event: "stream.live", data: '{"é":1}', id: "7" }, 131);
  r.add({ event: "tool_call_start", data: '{"call":"1.0"}', id: "7" }, 140);
  assert.deepEqual(r.list.map((f) => [f.n, f.id, f.gap, f.size, f.repeated]), [[1, "", 0, 2, false], [2, 7, 30, 14, false], [3, "", 1, 8, false], [4, 7, 9, 14, true]]);
  assert.deepEqual(r.counts, { frames: 4, comments: 0, bytes: 38, repeated: 1, dropped: 0 });
  assert.deepEqual([r.add({ event: "", data: " hb", id: "" }, 150).n, r.counts.frames, r.counts.comments], [5, 4, 1]);
  assert.equal(callOf(r.list[1]), "1.0");
  assert.ok(mentions({ data: '{"toolCallId":"c\\"1"}' }, { call: "2.0", id: 'c"1' }) && !mentions({ data: '{"run":"2.0"}' }, { call: "2.0", id: "x" }));
});

test("the recording is bounded", () => {
  const r = recorder();
  for (let i = 1; i <= 25_000; i++) r.add({ event: "e", data: "x", id: String(i) }, i);
  assert.ok(r.list.length <= 20_000 && r.list.length > 10_000);
  assert.equal(r.list.length + r.counts.dropped, 25_000);
  assert.equal(r.list.at(-1).id, 25_000);
  r.clear();
  const megabyte = "y".repeat(1 << 20);
  for (let i = 0; i < 40; i++) r.add({ event: "e", data: megabyte, id: "" }, i);
  assert.ok(r.list.length <= 32 && r.list.length > 20, String(r.list.length));
});
