import assert from "node:assert/strict";
import { test } from "node:test";

import { StreamerError, streamer } from "../streamer.js";

/** Returns a session whose server gives each answer once, and its requests. */
function sessionOf(answers, options) {
  const requests = [];
  const fetch = async (url, init) => (requests.push({ url, ...init, at: Date.now() }), answers.shift()());
  return { requests, session: streamer("http://streamer.invalid/", { fetch, ...options }).session("a/b") };
}

const stored = () => Response.json({ session: "a/b", seq: 7 }, { status: 202 });
const lost = () => { throw new TypeError("fetch failed"); };
const busy = (status, headers) => () => Response.json({ error: "busy" }, { status, headers });

test("a post is repeated with its key, as late as the server asks for", async () => {
  const { requests, session } = sessionOf([lost, busy(503), busy(429, { "Retry-After": "1" }), stored]);
  assert.equal((await session.interrupt({ run: "next" })).seq, 7);
  assert.equal(requests.length, 4);
  assert.equal(new Set(requests.map((r) => r.headers["Idempotency-Key"])).size, 1);
  assert.equal(new Set(requests.map((r) => r.url + r.body)).size, 1);
  assert.equal(requests[0].url, "http://streamer.invalid/v1/sessions/a%2Fb/interrupt");
  assert.ok(requests[3].at - requests[2].at >= 1000);
});

test("two posts have two keys", async () => {
  const { requests, session } = sessionOf([stored, stored]);
  await session.progress("18.0", "half way", 50);
  await session.progress("18.0", "half way", 50);
  assert.notEqual(requests[0].headers["Idempotency-Key"], requests[1].headers["Idempotency-Key"]);
  assert.equal(requests[0].body, '{"call":"18.0","message":"half way","percent":50}');
});

test("a refusal is not repeated, and attempts end", async () => {
  const refused = sessionOf([busy(400)]);
  await assert.rejects(refused.session.end(), (error) => error instanceof StreamerError && error.status === 400 && error.message === "streamer: 400: busy");
  const late = sessionOf([busy(503, { "Retry-After": "30" })], { retryFor: 10_000 });
  await assert.rejects(late.session.end(), (error) => error.status === 503);
  const unreachable = sessionOf([lost], { retryFor: 0 });
  await assert.rejects(unreachable.session.end(), (error) => error.status === 0 && /cannot be reached: fetch failed/.test(error.message));
});

test("a header or a URL that cannot be sent is an error at once", async () => {
  await assert.rejects(sessionOf([]).session.end("completed", { namespace: "ö–" }), TypeError);
  assert.throws(() => streamer("no url"), TypeError);
});

test("a session that no URL can name is an error at once", async () => {
  const server = streamer("http://streamer.invalid", { fetch: () => assert.fail("it was sent") });
  for (const name of ["", undefined, 7]) assert.throws(() => server.session(name), /streamer: session is (empty|undefined|7)/);
  for (const name of [".", ".."]) {
    await assert.rejects(server.session(name).end(), { status: 400, message: `streamer: no URL can name the session "${name}"; natsSession can` });
    await assert.rejects(server.session(name).events().next(), /no URL can name/);
  }
});
