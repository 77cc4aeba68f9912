import { test } from "node:test";
import assert from "node:assert/strict";
import { parser, subscribe, backoff, verdict } from "../sse.js";

const utf8 = (text) => new TextEncoder().encode(text);

// frames returns all calls of a parser for the pieces.
function frames(pieces, lastId) {
  const said = [];
  const p = parser({
    frame: (f) => said.push([f.event, f.data, f.id]),
    comment: (text) => said.push(["comment", text]),
    retry: (ms) => said.push(["retry", ms]),
  }, lastId);
  for (const piece of pieces) p.push(piece);
  return said;
}

// Each case quotes the rule of the specification that it tests.
const cases = [
  ["an event with all fields", "id: 7\nevent: tool_call_start\ndata: {}\n\n", [["tool_call_start", "{}", "7"]]],
  ["the default event is message", "data: x\n\n", [["message", "x", ""]]],
  ["data lines are joined by a line feed", "data: a\ndata:\ndata: b\n\n", [["message", "a\n\nb", ""]]],
  ["one space after the colon is removed, no more", "data:  a\ndata:b\n\n", [["message", " a\nb", ""]]],
  ["lines end with CR, LF or CRLF", "data: a\r\rdata: b\r\n\r\ndata: c\n\n", [["message", "a", ""], ["message", "b", ""], ["message", "c", ""]]],
  ["no data, no event; the type is forgotten", "event: x\n\ndata: a\n\n", [["message", "a", ""]]],
  ["an id stays until another comes", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [["message", "a", "1"], ["message", "b", "1"], ["message", "c", ""]]],
  ["an id with NUL is ignored", "id: 1\0\ndata: a\n\n", [["message", "a", ""]]],
  ["retry is digits only", "retry: 250\nretry: 2s\n\n", [["retry", 250]]],
  ["a comment is no part of an event", ": hb\ndata: a\n: x\n\n", [["comment", " hb"], ["comment", " x"], ["message", "a", ""]]],
  ["a byte order mark at the start is removed", "\uFEFFdata: a\n\n", [["message", "a", ""]]],
  ["unknown fields are ignored", "colour: red\ndata: a\n\n", [["message", "a", ""]]],
  ["an event cut off by the end is dropped", "data: a\n\ndata: b\n", [["message", "a", ""]]],
  ["any characters", "event: é\ndata: 你好 🚆\n\n", [["é", "你好 🚆", ""]]],
];

for (const [name, text, want] of cases) {
  test("parser: " + name, () => assert.deepEqual(frames([utf8(text)]), want));
}

test("parser: cut at any byte, or at all of them, it says the same", () => {
  const bytes = utf8("\uFEFF" + cases.map(([, text]) => text.replace("\uFEFF", "") + "\r\n\r\n").join("id: 9\r\n"));
  const want = frames([bytes]);
  for (let i = 0; i <= bytes.length; i++) {
    assert.deepEqual(frames([bytes.subarray(0, i), bytes.subarray(i)]), want, "cut at byte " + i);
  }
  assert.deepEqual(frames(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))), want, "cut at every byte");
});

test("parser: it goes on from the id of the connection before", () => {
  assert.deepEqual(frames([utf8("data: a\n\n")], "41"), [["message", "a", "41"]]);
});

test("parser: a frame without end is refused", () => {
  const p = parser({ frame() {} });
  const piece = new Uint8Array(1 << 20).fill(97);
  assert.throws(() => { for (let i = 0; i < 20; i++) p.push(piece); }, /longer than/);
});

test("backoff: full jitter below a ceiling that doubles to 30 s", () => {
  assert.equal(backoff(1, 2000, () => 1), 2000);
  assert.equal(backoff(3, 2000, () => 1), 8000);
  assert.equal(backoff(50, 2000, () => 1), 30000);
  assert.equal(backoff(3, 2000, () => 0.5), 4000);
  assert.equal(backoff(9, 2000, () => 0), 250);
});

test("verdict: what a status means", () => {
  const want = { 200: "", 204: "ended", 401: "refused", 403: "refused", 404: "refused", 408: "retry", 410: "gone", 429: "retry", 500: "retry", 503: "retry" };
  for (const [status, what] of Object.entries(want)) assert.equal(verdict(Number(status)), what, status);
});

// withAbort answers with a stream that fails when the request is aborted, as fetch does.
function withAbort(stream, signal) {
  const reader = stream.getReader();
  return new Response(new ReadableStream({
    start: (c) => signal.addEventListener("abort", () => c.error(signal.reason)),
    pull: async (c) => c.enqueue((await reader.read()).value),
  }));
}

// follow runs a subscription against scripted answers and returns its requests
// and its reports. An answer is a status, an Error, or the text of a stream.
async function follow(answers, options = {}) {
  const asked = [], states = [], got = [];
  const fetch = async (url, { headers, signal }) => {
    asked.push(headers["Last-Event-ID"] ?? "");
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    if (answer instanceof Response) return answer;
    if (answer instanceof ReadableStream) return withAbort(answer, signal);
    if (typeof answer === "number") return new Response(null, { status: answer });
    if (answer !== undefined) return new Response(answer);
    // Silence until the subscription times out.
    return new Response(new ReadableStream({ start: (c) => signal.addEventListener("abort", () => c.error(signal.reason)) }));
  };
  const s = subscribe({
    url: "/events", fetch, random: () => 0,
    onFrame: (f) => got.push(f.data),
    onState: (state) => {
      states.push(state.name);
      if (state.name === "reconnecting" && answers.length >= 0) queueMicrotask(() => s.retryNow());
      options.onState?.(state, s);
    },
    ...options.more,
  });
  await s.finished;
  return { asked, states, got };
}

test("subscribe: resumes after the last id and stops at 204", async () => {
  const { asked, states, got } = await follow(["retry: 300\n\nid: 4\ndata: a\n\nevent: stream.live\ndata: {}\n\nid: 5\ndata: b\n\ndata: lost", new TypeError("network"), "id: 6\ndata: c\n\n", 204]);
  assert.deepEqual(got, ["a", "{}", "b", "c"]);
  assert.deepEqual(asked, ["", "5", "5", "6"]);
  assert.deepEqual(states, ["connecting", "catching-up", "live", "reconnecting", "connecting", "reconnecting", "connecting", "catching-up", "reconnecting", "connecting", "ended"]);
});

test("subscribe: comments are passed on", async () => {
  const comments = [];
  await follow([": hb\nevent: stream.live\ndata: {}\n\n:x\n", 204], { more: { onComment: (text) => comments.push(text) } });
  assert.deepEqual(comments, [" hb", "x"]);
});

test("subscribe: 410, 401 and 403 stop it", async () => {
  for (const [status, name] of [[410, "gone"], [401, "refused"], [403, "refused"]]) {
    const { asked, states } = await follow([status]);
    assert.deepEqual([asked.length, states.at(-1)], [1, name]);
  }
});

test("subscribe: 503 and 429 are tried again, and attempts are counted until it is live", async () => {
  const attempts = [];
  await follow([503, 429, "event: stream.live\ndata: {}\n\n", 503, 204], { onState: (s) => s.attempt && attempts.push(s.attempt) });
  assert.deepEqual(attempts, [1, 2, 1, 2]);
});

test("subscribe: silence of three heartbeats is a dead pipe", async () => {
  const why = [];
  const answers = [undefined, 204];
  const { states } = await follow(answers, { more: { heartbeat: 5 }, onState: (s) => s.why && why.push(s.why) });
  assert.deepEqual(states, ["connecting", "catching-up", "reconnecting", "connecting", "ended"]);
  assert.match(why[0], /nothing was heard/);
});

test("subscribe: the server says how long a heartbeat is", { timeout: 10_000 }, async () => {
  const why = [];
  const stream = new ReadableStream({ start: (c) => c.enqueue(utf8('event: stream.open\ndata: {"heartbeat_ms":7}\n\n')) });
  await follow([stream, 204], { onState: (s) => s.why && why.push(s.why) });
  assert.deepEqual(why.slice(0, 1), ["nothing was heard for 0.021 s"]);
});

test("subscribe: a refusal brings the server's own words", async () => {
  const heard = [];
  await follow([new Response('{"error":"no entry"}', { status: 403 })], { onState: (s) => heard.push(s) });
  assert.deepEqual(heard.at(-1), { name: "refused", status: 403, why: "no entry" });
});

test("subscribe: closed, it says nothing more", async () => {
  const { states } = await follow([undefined], { onState: (state, s) => state.name === "catching-up" && s.close() });
  assert.deepEqual(states, ["connecting", "catching-up"]);
});
