import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Gone, StreamerError, streamer } from "../streamer.js";
import { called, eventsUntil, saying } from "./model.mjs";
import { sharedServer, startServer } from "./server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const open = (name, options) => streamer(server.url, options).session(`events/${name}`);
const finished = (e) => e.type === "message_finished";

/** Returns a fetch that answers with the given responses, and then as the server does. */
function scripted(...responses) {
  const requests = [];
  return Object.assign(async (url, init) => {
    requests.push(init.headers);
    return responses.length > 0 ? responses.shift()() : fetch(url, init);
  }, { requests });
}

test("events after a cursor, of some types", async () => {
  const session = open("some");
  await called(session, ["call_1", "search", {}]);
  const all = await eventsUntil(session, finished);
  assert.deepEqual(all.map((e) => e.type), ["run_started", "message_started", "tool_call_start", "tool_call_args_complete", "message_finished"]);
  assert.deepEqual(await eventsUntil(session, finished, { after: all[2].seq }), all.slice(3));
  const types = ["tool_call_start", "message_finished"];
  assert.deepEqual(await eventsUntil(session, finished, { types }), all.filter((e) => types.includes(e.type)));
});

test("a synthetic message is an event", async () => {
  const session = open("synthetic");
  await called(session, ["call_1", "search", {}]);
  await session.interrupt();
  const [{ seq, ...event }] = await eventsUntil(session, () => true, { types: ["synthetic"] });
  assert.ok(seq > 0);
  assert.deepEqual([event.type, event.message.role, event.message.tool_call_id], ["synthetic", "tool", "call_1"]);
});

test("the iterable tells when it is live, and ends with its signal", async () => {
  const session = open("live");
  await session.follow(saying("a"));
  const abort = new AbortController();
  const events = session.events({ signal: abort.signal, onLive: () => abort.abort() });
  assert.equal(events.live, false);
  const seen = [];
  for await (const event of events) seen.push(event);
  assert.ok(events.live);
  assert.equal(events.cursor, seen.at(-1)?.seq);
  assert.deepEqual(await eventsUntil(session, () => true, { signal: AbortSignal.abort() }), []);
});

test("a broken connection loses and repeats nothing", async () => {
  /** Returns a connection that breaks off after so many characters. The first frame asks for short delays. */
  const cut = (size) => async () => {
    const response = await fetch(`${server.url}/v1/sessions/events%2Fcut/events`);
    let text = "";
    for await (const bytes of response.body) {
      text += new TextDecoder().decode(bytes);
      if (text.length >= size) break;
    }
    const parts = [new TextEncoder().encode(text.replace(/retry: \d+/, "retry: 250").slice(0, size))];
    return new Response(new ReadableStream({ pull: (c) => (parts.length ? c.enqueue(parts.shift()) : c.error(new TypeError("cut"))) }));
  };
  const busy = () => Response.json({ error: "too many streams" }, { status: 503, headers: { "Retry-After": "1" } });
  await open("cut").follow(saying("a", "b", "c"));
  const want = await eventsUntil(open("cut"), finished);
  const fetches = scripted(cut(700), busy, cut(50));
  const began = Date.now();
  assert.deepEqual(await eventsUntil(open("cut", { fetch: fetches }), finished), want);
  assert.equal(fetches.requests.length, 4);
  assert.deepEqual(fetches.requests.map((h) => h["Last-Event-ID"] > 0), [false, true, true, true]);
  assert.ok(Date.now() - began >= 1000, "the client waits as the server asks it to");
});

test("an answer that does not change is an error", async () => {
  const of = (...responses) => eventsUntil(open("refused", { fetch: scripted(...responses) }), () => true);
  await assert.rejects(of(() => Response.json({ error: "events after 7 are not stored any more" }, { status: 410 })),
    (error) => error instanceof Gone && /without `after`/.test(error.message));
  await assert.rejects(of(() => Response.json({ error: "no valid token" }, { status: 401 })),
    (error) => error instanceof StreamerError && error.status === 401 && /no valid token/.test(error.message));
  await assert.rejects(eventsUntil(open("refused"), () => true, { after: 1e9 }), /another log/);
});

test("a token is asked for again", async () => {
  let n = 0;
  const fetches = scripted(() => Response.json({ seq: 1 }), () => Response.json({ seq: 1 }));
  const session = open("token", { fetch: fetches, token: async () => `t${++n}` });
  await session.end();
  await session.end();
  assert.deepEqual(fetches.requests.map((h) => h.Authorization), ["Bearer t1", "Bearer t2"]);
});

test("kill -9 of the server loses and repeats nothing", async (t) => {
  const killed = await startServer(t);
  const session = streamer(killed.url).session("killed");
  const reading = eventsUntil(session, (_, seen) => seen.filter(finished).length === 3);
  for (let i = 0; i < 3; i++) {
    await session.follow(saying("a", "b"));
    if (i < 2) await killed.restart();
  }
  assert.deepEqual(await reading, await eventsUntil(session, (_, seen) => seen.filter(finished).length === 3));
});
