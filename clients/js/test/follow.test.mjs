import assert from "node:assert/strict";
import { before, test } from "node:test";

import { StreamerError, streamer } from "../streamer.js";
import { calling, eventsUntil, saying, sseOf } from "./model.mjs";
import { sharedServer, startServer } from "./server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const open = (name, options) => streamer(server.url, options).session(`follow/${name}`);
const finished = (e) => e.type === "message_finished";

/** Returns the text of the events. Each piece has to continue at the end of the one before. */
function textOf(events) {
  let text = Buffer.alloc(0);
  for (const { type, offset, content } of events) {
    if (type !== "agent_response_chunk") continue;
    assert.equal(offset, text.length, "offset");
    text = Buffer.concat([text, Buffer.from(content)]);
  }
  return text.toString();
}

test("a stream of each kind is published", async (t) => {
  const chunks = saying("a fjord ", "is a long, ", "narrow inlet – ö");
  const bytes = sseOf(chunks);
  const halves = [bytes.subarray(0, bytes.length - 91), bytes.subarray(bytes.length - 91)];
  const streamOf = (values) => new ReadableStream({ start: (c) => (values.forEach((v) => c.enqueue(v)), c.close()) });
  const sources = {
    "response": new Response(bytes),
    "stream of bytes": streamOf(halves),
    "stream of objects": streamOf(chunks),
    "iterable of bytes": halves,
    "iterable of objects": chunks,
    "iterable of texts": (async function* () { yield* new TextDecoder().decode(bytes).match(/[^]{1,7}/g); })(),
    "tee": streamOf(halves).tee()[0],
  };
  for (const [kind, source] of Object.entries(sources)) {
    await t.test(kind, async () => {
      const session = open(`of/${kind}`);
      const { status, first, last } = await session.follow(source, { format: "openai-chat" });
      assert.ok(status === "completed" && first > 0 && last >= first, `${status} ${first} ${last}`);
      assert.equal(textOf(await eventsUntil(session, finished)), "a fjord is a long, narrow inlet – ö");
    });
  }
});

test("an answer of the server that is lost is no second input", async () => {
  let posts = 0;
  const session = open("lost answers", {
    fetch: async (...request) => {
      const response = await fetch(...request);
      if (++posts % 2 === 1 && request[1].method === "POST") throw new TypeError("the connection is lost");
      return response;
    },
  });
  const pieces = Array.from({ length: 10 }, (_, i) => `piece ${i} `);
  await session.follow(saying(...pieces));
  assert.equal(textOf(await eventsUntil(session, finished)), pieces.join(""));
});

test("what arrives during a post is one input, and a source waits for the rest", async () => {
  let release, posts = 0;
  const released = new Promise((resolve) => (release = resolve));
  const session = open("slow", {
    fetch: async (url, init) => {
      posts++;
      await released;
      return Response.json({ seq: posts });
    },
  });
  let produced = 0;
  const source = new ReadableStream({ pull(c) { if (produced === 200) c.close(); else c.enqueue(new Uint8Array(100_000).fill(32)), produced++; } }, { highWaterMark: 0 });
  const following = session.follow(source);
  for (let before = -1; before !== produced; ) {
    before = produced;
    await new Promise(setImmediate);
  }
  assert.ok(produced < 90, `${produced} pieces of 100 kB are read while nothing is stored`);
  release();
  await following;
  assert.equal(produced, 200);
  assert.ok(posts > 70 && posts < 90, `${posts} posts`);
});

test("a stream that fails ends the run", async (t) => {
  const part = calling(["call_1", "search", { q: "x" }]).slice(0, 1);
  const abort = new AbortController();
  const cases = {
    error: [async function* () { yield* part; throw new Error("the model is gone"); }],
    cancelled: [async function* () { yield* part; throw new DOMException("stopped", "AbortError"); }],
    "cancelled by its signal": [async function* () { yield* part; abort.abort(); await new Promise(() => {}); }, { signal: abort.signal }],
  };
  for (const [name, [source, options]] of Object.entries(cases)) {
    await t.test(name, async () => {
      const session = open(name);
      const want = name.split(" ")[0];
      assert.equal((await session.follow(source(), options)).status, want);
      const events = await eventsUntil(session, (e) => e.type === "run_finished");
      assert.equal(events.at(-1).status, want);
      assert.equal(events.find((e) => e.type === "tool_call_result").status, "cancelled");
    });
  }
  const refused = await open("refused").follow(new Response("{}", { status: 429 }));
  assert.deepEqual([refused.status, refused.error.message], ["error", "the model answered 429"]);
});

test("a stream that cannot be published is cancelled, and rejected", async () => {
  let cancelled = false;
  const source = new ReadableStream({ pull: (c) => c.enqueue("{}"), cancel: () => (cancelled = true) });
  const session = open("x".repeat(2000));
  await assert.rejects(session.follow(source), (error) => error instanceof StreamerError && error.status === 400);
  assert.ok(cancelled);
});

test("a stream that something else publishes is only read", async () => {
  const session = open("accepted");
  assert.equal((await session.follow(saying("x"), { accepted: true })).first, undefined);
  const list = await (await fetch(`${server.url}/v1/sessions`)).json();
  assert.ok(!list.some((s) => s.session === session.name));
});

test("streams of sub-agents do not mix", async () => {
  const session = open("agents");
  const follow = (namespace) => session.follow(saying(...Array(50).fill(namespace)), { namespace });
  await Promise.all(["a", "b"].map(follow));
  const events = await eventsUntil(session, (_, seen) => seen.filter(finished).length === 2);
  for (const name of ["a", "b"]) assert.equal(textOf(events.filter((e) => e.namespace === name)), name.repeat(50));
});

test("kill -9 of the server in the middle loses and repeats nothing", async (t) => {
  const killed = await startServer(t);
  const session = streamer(killed.url).session("killed");
  const pieces = Array.from({ length: 400 }, (_, i) => `${i} `);
  let restarted;
  async function* source() {
    for (const [i, chunk] of saying(...pieces).entries()) {
      if (i % 200 === 100) {
        await restarted;
        restarted = killed.restart();
      }
      yield chunk;
      if (i % 5 === 0) await new Promise(setImmediate);
    }
  }
  const reading = eventsUntil(session, finished);
  await session.follow(source());
  await restarted;
  assert.equal(textOf(await reading), pieces.join(""));
  assert.deepEqual(textOf(await eventsUntil(session, finished)), pieces.join(""));
});
