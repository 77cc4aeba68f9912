import { test } from "node:test";
import assert from "node:assert/strict";
import { sharing } from "../share.js";

// A browser has Web Locks and channels between its pages, and a server has a log of
// events of all sessions. Its streams deliver in turns of the event loop.
function browser() {
  const held = new Map(), queues = new Map(); // name → holder, waiting requests
  const pages = new Set();
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  function grant(name) {
    const next = queues.get(name)?.shift();
    if (!next) return;
    held.set(name, next);
    Promise.resolve(next.use()).then(() => release(name, next));
  }
  function release(name, holder) {
    if (held.get(name) !== holder) return;
    held.delete(name);
    holder.done();
    grant(name);
  }

  // page returns the locks and the channel of a page, and gone(), after which the page
  // hears and holds nothing.
  function page() {
    const own = { alive: true, mine: new Set(), channel: null };
    own.locks = {
      request(name, options, use = options) {
        return new Promise((done, fail) => {
          if (!own.alive) return;
          const holder = { name, page: own, done, fail, use: () => use() };
          own.mine.add(holder);
          if (!queues.has(name)) queues.set(name, []);
          const before = held.get(name);
          if (options.steal && before) {
            held.delete(name);
            if (before.page.alive) before.fail(Object.assign(new Error("stolen"), { name: "AbortError" }));
            queues.get(name).unshift(holder);
          } else queues.get(name).push(holder);
          if (!held.has(name)) grant(name);
        });
      },
    };
    own.channel = {
      postMessage(data) {
        const copy = structuredClone(data);
        for (const other of pages) if (other !== own && own.alive) turn().then(() => other.alive && other.channel?.onmessage?.({ data: copy }));
      },
      close() {},
    };
    own.gone = () => {
      own.alive = false;
      pages.delete(own);
      for (const [name, queue] of queues) queues.set(name, queue.filter((h) => h.page !== own));
      for (const [name, holder] of [...held]) if (holder.page === own) { held.delete(name); grant(name); }
    };
    pages.add(own);
    return own;
  }
  return { page, turn };
}

function server() {
  const log = [], streams = new Set();
  let most = 0;
  const frameOf = (e) => ({ event: "x", data: JSON.stringify(e), id: String(e.seq) });

  function append(session) {
    const e = { seq: log.length + 1, session };
    log.push(e);
    for (const s of streams) s.wake();
    return e.seq;
  }

  // open is subscribe of sse.js, for a page that may be gone.
  const open = (page) => ({ url, lastEventId, onFrame, onState, onComment }) => {
    const sessions = new URL(url, "http://x").searchParams.getAll("session");
    let from = Number(lastEventId) || 0, closed = false, wake = () => {};
    const stream = { wake: () => wake(), beat: () => onComment?.(" hb"), url };
    const running = () => !closed && page.alive;
    async function run() {
      onState({ name: "connecting" });
      await new Promise((resolve) => setImmediate(resolve));
      if (!running()) return;
      const owner = log[from - 1]?.session;
      if (from > 0 && !sessions.includes(owner)) return onState({ name: "refused", status: 400, why: "the cursor is of " + owner });
      streams.add(stream);
      most = Math.max(most, streams.size);
      const end = log.length;
      onState({ name: "catching-up" });
      onFrame({ event: "stream.open", data: JSON.stringify({ from, last: end }), id: "" });
      for (let live = false; running();) {
        for (; from < log.length && (live || from < end); from++) {
          await new Promise((resolve) => setImmediate(resolve));
          if (!running()) break;
          if (sessions.includes(log[from].session)) onFrame(frameOf(log[from]));
        }
        if (!running()) break;
        if (!live) {
          onFrame({ event: "stream.live", data: "{}", id: "" });
          onState({ name: "live" });
        }
        live = true;
        if (from >= log.length) await new Promise((resolve) => (wake = resolve));
      }
      streams.delete(stream);
    }
    Promise.resolve().then(run);
    return { close() { closed = true; wake(); streams.delete(stream); }, retryNow() {}, finished: Promise.resolve() };
  };
  return { log, open, append, get connections() { return streams.size; }, get most() { return most; }, streams };
}

// show opens a page of a session and returns what it receives.
function show(b, s, session, options = {}) {
  const page = b.page(), seqs = [], states = [], others = []; // others: frames about the stream, and comments
  const shared = sharing({ address: (list) => "/v1/events?" + list.map((n) => "session=" + n).join("&"), locks: page.locks, channel: page.channel, open: s.open(page), ...options });
  const stream = shared.subscribe({ session, url: "/events?session=" + session, onState: (x) => states.push(x), onComment: (text) => others.push(text), onFrame: (f) => (f.id !== "" ? seqs.push(Number(f.id)) : others.push(f.event)) });
  return { page, session, seqs, states, others, stream, shared, leave() { page.gone(); stream.close(); shared.close(); }, state: () => states.at(-1) };
}

// until waits for a condition.
async function until(what, holds) {
  for (let i = 0; !holds(); i++) {
    assert.ok(i < 20_000, "waited for " + what);
    await new Promise((resolve) => setTimeout(resolve, i < 50 ? 0 : 1));
  }
}
const expected = (s, session) => s.log.filter((e) => e.session === session).map((e) => e.seq);
const live = (v) => v.state()?.name === "live";

test("seven pages of seven sessions are live on one connection", async () => {
  const b = browser(), s = server();
  for (let i = 0; i < 30; i++) s.append("s" + (i % 7));
  const views = [..."0123456"].map((n) => show(b, s, "s" + n));
  await until("all to be live", () => views.every((v) => live(v) && v.state().shared));
  await until("one connection", () => s.connections === 1);
  for (let i = 0; i < 30; i++) s.append("s" + (i % 7));
  for (const v of views) {
    await until("the events of " + v.session, () => v.seqs.length === expected(s, v.session).length);
    assert.deepEqual(v.seqs, expected(s, v.session));
  }
  assert.equal(views[0].state().shared, 7);
  for (const v of views) v.leave();
});

test("each page has the end of its history and the heartbeats", async () => {
  const b = browser(), s = server();
  s.append("a");
  const views = [show(b, s, "a"), show(b, s, "b")];
  await until("all to be live", () => views.every((v) => live(v) && v.state().shared === 2));
  await until("one connection", () => s.connections === 1);
  for (const stream of s.streams) stream.beat();
  await until("the heartbeat", () => views.every((v) => v.others.at(-1) === " hb"));
  for (const v of views) assert.deepEqual(v.others.slice(0, 2), ["stream.open", "stream.live"]);
  for (const v of views) v.leave();
});

test("another page continues when the leader is gone, and nothing is lost or doubled", async () => {
  const b = browser(), s = server();
  s.append("a"), s.append("b");
  const first = show(b, s, "a");
  await until("the first", () => live(first) && first.state().shared);
  const second = show(b, s, "b"), third = show(b, s, "a");
  await until("the others", () => [second, third].every((v) => live(v) && v.state().shared));
  s.append("b"), s.append("a");
  first.leave();
  s.append("a"), s.append("b");
  await until("the events", () => [second, third].every((v) => v.seqs.length === expected(s, v.session).length));
  assert.deepEqual([second.seqs, third.seqs], [expected(s, "b"), expected(s, "a")]);
  second.leave(), third.leave();
});

test("a leader that is silent is replaced", async () => {
  const b = browser(), s = server();
  const first = show(b, s, "a", { patience: 90 });
  await until("the first", () => live(first) && first.state().shared);
  const second = show(b, s, "b", { patience: 90 });
  await until("the second", () => live(second) && second.state().shared);
  first.page.alive = false; // suspended: it holds its lock and says nothing
  s.append("b");
  await until("the event", () => second.seqs.length === 1);
  first.leave(), second.leave();
});

test("without a leader that answers a page reads alone, and joins later", async () => {
  const b = browser(), s = server();
  const dumb = b.page();
  dumb.locks.request("streamer leader", () => new Promise(() => {}));
  s.append("a");
  const view = show(b, s, "a", { wait: 20 });
  await until("the page to be live", () => live(view) && !view.state().shared);
  s.append("a");
  await until("the event", () => view.seqs.length === 2);
  dumb.gone();
  await until("the shared stream", () => live(view) && view.state().shared);
  s.append("a");
  await until("the event", () => view.seqs.length === 3);
  assert.deepEqual([view.seqs, s.connections], [[1, 2, 3], 1]);
  view.leave();
});

test("without Web Locks each page has its own connection", async () => {
  const s = server(), page = { alive: true }, states = [];
  const own = sharing({ locks: undefined, channel: null, open: s.open(page) });
  const stream = own.subscribe({ session: "a", url: "/e?session=a", onFrame() {}, onState: (x) => states.push(x.name) });
  await until("live", () => states.includes("live"));
  assert.equal(s.connections, 1);
  stream.close();
});

// Pages come, go, and change their role at any time; each receives exactly its log.
for (const seed of [1, 2, 3, 4]) {
  test("any order of pages and events, " + seed, async () => {
    let random = seed;
    const pick = (n) => (random = (random * 48271) % 2147483647) % n;
    const b = browser(), s = server(), views = [];
    for (let i = 0; i < 250; i++) {
      const dice = pick(10);
      if (dice === 0 && views.length < 8) views.push(show(b, s, "s" + pick(4)));
      else if (dice === 1 && views.length > 2) views.splice(pick(views.length), 1)[0].leave();
      else if (dice < 7) s.append("s" + pick(5));
      else for (let n = pick(12); n > 0; n--) await b.turn();
      if (dice === 9 && pick(3) === 0) await new Promise((resolve) => setTimeout(resolve, 60));
    }
    for (const v of views) {
      await until("the events of " + v.session, () => v.seqs.length >= expected(s, v.session).length && live(v));
      assert.deepEqual(v.seqs, expected(s, v.session));
    }
    await until("one connection", () => s.connections === 1);
    for (const v of views) v.leave();
  });
}
