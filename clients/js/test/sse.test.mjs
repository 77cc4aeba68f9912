import assert from "node:assert/strict";
import { test } from "node:test";

import { parser } from "../sse.js";

const text = "retry: 3120\r\nevent: stream.open\r\ndata: {}\r\n\r\n: hb\n\nid: 1\nevent: tool_call_start\ndata: {\"é\":1}\n\nid: 2\rdata:a\rdata:  b\r\rdata: lost";
const want = [
  { event: "stream.open", data: "{}", id: "", retry: 3120 },
  { event: "tool_call_start", data: '{"é":1}', id: "1", retry: 3120 },
  { event: "message", data: "a\n b", id: "2", retry: 3120 },
];

test("a stream gives the same frames however it is cut", () => {
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size++) {
    const parse = parser();
    const frames = [];
    for (let from = 0; from < bytes.length; from += size) frames.push(...parse(bytes.subarray(from, from + size)));
    assert.deepEqual(frames, want, `in pieces of ${size} bytes`);
  }
});

test("a frame that never ends is an error", () => {
  const parse = parser();
  const piece = new Uint8Array(1 << 20).fill(97);
  assert.throws(() => { for (let i = 0; i < 20; i++) parse(piece); }, /longer/);
});
