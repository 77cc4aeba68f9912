import assert from "node:assert/strict";
import test from "node:test";
import { searchSessions } from "../scan.js";

// server returns a read function for searchSessions and its readings, which a test ends.
function server() {
  const readings = [];
  const read = (sessions, types, each, end) => {
    const reading = { sessions, each, end, closed: false, close() { reading.closed = true; } };
    readings.push(reading);
    return reading;
  };
  return { read, readings };
}

const names = (n) => Array.from({ length: n }, (_, i) => "s" + i);

test("all sessions are searched, three streams at a time, and the calls are in their order", () => {
  const { read, readings } = server();
  let last = null;
  searchSessions(names(230), (call) => call.tool === "find", (next) => (last = next), read);
  assert.equal(readings.length, 3);
  const answer = (i) => {
    let seq = 1;
    for (const session of readings[i].sessions) {
      readings[i].each({ type: "tool_call_start", session, call: "1.0", id: "a", tool_name: "find", timestamp: "2026-03-02T10:00:00.000Z" }, seq++);
      readings[i].each({ type: "tool_call_start", session, call: "2.0", id: "b", tool_name: "other", timestamp: "2026-03-02T10:00:00.000Z" }, seq++);
    }
    readings[i].end(true);
  };
  answer(2);
  assert.equal(readings.length, 4);
  assert.deepEqual([last.done, last.calls[0].session], [50, "s100"]);
  answer(0);
  assert.deepEqual([last.done, last.calls[0].session, last.calls.length], [100, "s0", 100]);
  for (const i of [1, 3, 4]) answer(i);
  assert.deepEqual([readings.length, last.done, last.unread], [5, 230, 0]);
  assert.deepEqual(last.calls.map((c) => c.session), names(230));
});

test("a stream that fails is counted, and a search that was closed reads no more", () => {
  const { read, readings } = server();
  let last = null;
  const search = searchSessions(names(400), () => true, (next) => (last = next), read);
  readings[0].end(false);
  assert.deepEqual([last.done, last.unread, last.calls.length], [50, 50, 0]);
  search.close();
  assert.deepEqual(readings.map((r) => r.closed), [false, true, true, true]);
  readings[1].end(true);
  assert.equal(readings.length, 4);
});
