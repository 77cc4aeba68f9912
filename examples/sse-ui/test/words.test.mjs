import { test } from "node:test";
import assert from "node:assert/strict";
import { duration, elapsed, bytes, ago, state, tally } from "../words.js";
import { clock } from "../clock.js";

test("durations", () => {
  const want = { 0: "0 ms", 840: "840 ms", 1000: "1.0 s", 3240: "3.2 s", 9949: "9.9 s", 9960: "10 s", 59400: "59 s", 65000: "1 min 05 s", 3600000: "1 h 00 min" };
  for (const [ms, text] of Object.entries(want)) assert.equal(duration(Number(ms)), text, ms);
  assert.equal(duration(-5), "0 ms");
  assert.equal(elapsed(840), "0.8 s");
});

test("sizes and ages", () => {
  assert.deepEqual([1023, 1024, 4300, 70000, 1258291].map(bytes), ["1023 B", "1.0 KB", "4.2 KB", "68 KB", "1.2 MB"]);
  assert.deepEqual([0, 59000, 60000, 3600000, 90000000].map(ago), ["just now", "59 s ago", "1 min ago", "1 h ago", "1 d ago"]);
});

test("every state has a word and an icon, and a close says why", () => {
  for (const status of ["building_args", "args_complete", "awaiting_input", "completed", "error", "denied", "cancelled", "timeout"]) {
    const { word, icon } = state({ status });
    assert.ok(word !== status && icon, status);
  }
  assert.equal(state({ status: "cancelled", reason: { code: "new_message" } }).because, "another message came");
  const superseded = { status: "cancelled", reason: { code: "superseded" } };
  assert.equal(state(superseded).because, "it was abandoned");
  assert.equal(state({ ...superseded, closedBy: "message 3.0" }).because, "a new attempt replaced it");
  assert.equal(state({ status: "cancelled", reason: { code: "eclipse" } }).because, "eclipse");
  assert.equal(state({ status: "args_complete", outside: true }).word, "Waiting for a result");
});

test("the tally says what there is", () => {
  assert.deepEqual(tally({ open: 2, completed: 0, error: 1, timeout: 0, cancelled: 0, denied: 0 }), ["2 open", "1 failed"]);
});

test("the clock learns the server's time and only gets nearer", () => {
  const c = clock();
  assert.equal(c.now(1000), 1000);
  c.hear(NaN, 1000);
  assert.equal(c.now(1000), 1000);
  c.hear(60_700, 1000); // an event that took 300 ms to arrive
  assert.equal(c.now(1000), 60_700);
  c.hear(61_950, 2000); // one that took 50 ms
  assert.equal(c.now(2000), 61_950);
  c.hear(60_000, 3000); // one that took longer
  assert.equal(c.now(3000), 62_950);
});
