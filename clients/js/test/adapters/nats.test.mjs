import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Cancelled, Gone, StreamerError, streamer } from "streamer-client";
import { natsSession } from "streamer-client/nats";

import { aborted, called, eventsUntil, saying } from "../model.mjs";
import { sharedServer, startServer } from "../server.mjs";

let server, connection;
before(async (t) => {
  server = await sharedServer(t);
  connection = await connect({ servers: server.nats });
  t.after(() => connection.close());
});

const finished = (e) => e.type === "message_finished";

test("events and inputs are those of HTTP", async () => {
  const session = natsSession(connection, "nats/same ü");
  await session.follow(saying("a", "b"), { namespace: "agent" });
  await session.interrupt();
  const ended = (e) => e.type === "interrupted";
  const events = await eventsUntil(session, ended);
  const http = streamer(server.url).session("nats/same ü");
  assert.deepEqual(events, await eventsUntil(http, ended));
  assert.deepEqual(await eventsUntil(session, ended, { after: events[2].seq }), events.slice(3));
  assert.deepEqual(await eventsUntil(session, finished, { types: ["message_finished"] }), events.filter(finished));
  assert.equal(events.find(finished).namespace, "agent");
});

test("a stop reaches the tool", async () => {
  const session = natsSession(connection, "nats/stop");
  const [search, crawl] = await called(session, ["call_1", "search", { q: 1 }], ["call_2", "crawl", {}]);
  assert.deepEqual(await session.run(search, (args) => ({ found: args.q })), { found: 1 });
  assert.deepEqual(await natsSession(connection, "nats/stop").run(search, () => assert.fail("it ran again")), { found: 1 });
  const running = assert.rejects(session.run(crawl, async (_, { signal, progress }) => {
    await progress("crawls");
    await aborted(signal);
    throw signal.reason;
  }), Cancelled);
  await eventsUntil(session, (e) => e.message === "crawls");
  await streamer(server.url).session("nats/stop").interrupt({ call: crawl.call });
  await running;
  assert.equal((await eventsUntil(session, (e) => e.type === "tool_call_late_result")).at(-1).tool_state, "stopped");
});

test("the iteration tells when it is live, and ends with its signal", async () => {
  const abort = new AbortController();
  const events = natsSession(connection, "nats/empty").events({ signal: abort.signal, onLive: () => abort.abort() });
  for await (const event of events) assert.fail(event.type);
  assert.ok(events.live);
});

test("large values need HTTP", async () => {
  const [event] = await called(natsSession(connection, "nats/large"), ["call_1", "search", { q: "x".repeat(100_000) }]);
  await assert.rejects(natsSession(connection, "nats/large").run(event, () => 1), (error) => error instanceof StreamerError && /needs the url/.test(error.message));
  const session = natsSession(connection, "nats/large", { url: server.url });
  assert.equal(await session.run(event, (args) => args.q.length), 100_000);
  assert.equal((await session.repair([{ role: "user", content: "x" }]))[0].content, "x");
});

test("a cursor or a name that HTTP refuses is refused at once", async () => {
  const name = "nats/refused";
  const http = streamer(server.url).session(name), nats = natsSession(connection, name);
  const other = natsSession(connection, "nats/refused/other");
  await other.interrupt();
  const [{ seq }] = await eventsUntil(other, () => true);
  for (const after of [9_999_999, -1, seq]) {
    const [want, got] = await Promise.all([http, nats].map((s) => eventsUntil(s, () => true, { after }).catch((error) => error)));
    const text = ({ message }) => message.replace(/ends at \d+/, "");
    assert.deepEqual([got.status, text(got)], [400, text(want)]);
  }
  assert.throws(() => natsSession(connection, ""), /session is empty/);
  assert.throws(() => natsSession(connection, "ü".repeat(43)), /400: session token of 258 bytes is longer than 256/);
  await natsSession(connection, "..").interrupt();
  assert.equal((await eventsUntil(natsSession(connection, ".."), () => true, { types: [] }))[0].session, "..", "no types are all types of the session");
});

test("events that are no longer stored are Gone", async (t) => {
  const own = await startServer(t);
  const { host, username: user, password: pass } = new URL(readFileSync(join(own.args[2], "nats-url"), "utf8").trim());
  const nc = await connect({ servers: host, user, pass });
  t.after(() => nc.close());
  const session = natsSession(nc, "gone");
  for (let i = 0; i < 3; i++) await session.interrupt();
  const [first, second, third] = await eventsUntil(session, (_, seen) => seen.length === 3);
  await (await jetstreamManager(nc, { checkAPI: false })).streams.purge("TOOLCALLS", { seq: third.seq });
  for (const s of [session, streamer(own.url).session("gone")]) {
    await assert.rejects(eventsUntil(s, () => true, { after: first.seq }), Gone);
    assert.deepEqual(await eventsUntil(s, () => true, { after: second.seq }), [third]);
  }
});

test("kill -9 of the server loses and repeats nothing", async (t) => {
  const killed = await startServer(t);
  const nc = await connect({ servers: killed.nats, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  t.after(() => nc.close());
  const session = natsSession(nc, "killed");
  const all = (_, seen) => seen.filter(finished).length === 2;
  const reading = eventsUntil(session, all);
  await session.follow(saying("a", "b"));
  const restarted = killed.restart();
  await session.follow(saying("c", "d"));
  await restarted;
  assert.deepEqual(await reading, await eventsUntil(session, all));
});
