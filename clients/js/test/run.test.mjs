import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { before, test } from "node:test";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { Cancelled, StreamerError, ToolFailed, streamer } from "../streamer.js";
import { aborted, called, calling, eventsUntil } from "./model.mjs";
import { sharedServer, startServer } from "./server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const open = (name, options) => streamer(server.url, options).session(`run/${name}`);
const typed = (type) => (event) => event.type === type;
const never = () => new Promise(() => {});

/** Returns a tool that hangs until its signal is aborted, and a promise of its beginning. */
function hanging(end = ({ reason }) => { throw reason; }) {
  let begun;
  const begins = new Promise((resolve) => (begun = resolve));
  const tool = async (_, { signal }) => {
    begun();
    await aborted(signal);
    return end(signal);
  };
  return { begins, tool };
}

test("a tool gets args, posts progress, and its value is the result", async () => {
  const session = open("value");
  const [event] = await called(session, ["call_1", "search", { q: "fjord" }]);
  const value = await session.run(event, async (args, { progress, call }) => {
    assert.equal(call, event.call);
    await progress("half way", 50);
    return { found: args.q };
  });
  assert.deepEqual(value, { found: "fjord" });
  const events = await eventsUntil(session, typed("tool_call_result"));
  assert.deepEqual(events.filter(typed("tool_call_progress")).map((e) => [e.message, e.percent]), [["running", undefined], ["half way", 50]]);
  assert.deepEqual([events.at(-1).status, events.at(-1).tool_result], ["completed", { found: "fjord" }]);
});

test("a tool that fails", async () => {
  const session = open("fails");
  const [event] = await called(session, ["call_1", "search", {}]);
  await assert.rejects(session.run(event, () => { throw new RangeError("no fjord"); }), RangeError);
  const result = (await eventsUntil(session, typed("tool_call_result"))).at(-1);
  assert.deepEqual([result.status, result.tool_result], ["error", "no fjord"]);
  await assert.rejects(session.run(event, () => assert.fail("it ran again")), (error) => error instanceof ToolFailed && error.message === "no fjord");
});

test("args of each kind", async () => {
  const session = open("args");
  const long = "é".repeat(100_000);
  const events = await called(session, ["a", "t", { long }], ["b", "t", '{"q":'], ["c", "t", ""], ["d", "t", JSON.stringify('{"q":1}')]);
  const [large, broken, none, twice] = events.sort((a, b) => a.id.localeCompare(b.id));
  assert.ok(large.args_ref);
  const args = (event) => session.run(event, (args) => ({ args }));
  assert.deepEqual(await args(large), { args: { long } });
  assert.deepEqual(await args(none), { args: {} });
  assert.deepEqual(await args(twice), { args: { q: 1 } });
  await assert.rejects(args(broken), /args are not valid/);
  const start = (await eventsUntil(session, (e) => e.type === "tool_call_start" && e.id === "a")).at(-1);
  assert.deepEqual(await args(start), { args: { long } }, "the result of another process, from the start of the call");
});

test("the start of a call waits for its args", async () => {
  const session = open("start");
  const chunks = calling(["call_1", "search", { q: 1 }]);
  await session.follow(chunks.slice(0, 1));
  const start = (await eventsUntil(session, typed("tool_call_start"))).at(-1);
  const running = session.run(start, (args) => args.q);
  await session.follow(chunks.slice(1));
  assert.equal(await running, 1);
});

test("a call is named by the id of the provider", async () => {
  const session = open("ids");
  const { first } = await session.follow(calling(["call_1", "search", { q: 1 }]));
  assert.equal(await session.run({ id: "call_1", tool_args: { q: 2 }, since: first }, (args) => args.q), 2);
  const again = session.run({ id: "call_1", tool_args: { q: 3 }, since: first + 5 }, (args) => args.q);
  await session.follow(calling(["x", "y", {}]));
  await session.follow(calling(["x", "y", {}]));
  await session.follow(calling(["call_1", "search", {}]));
  assert.equal(await again, 3, "the later call with this id");
  await assert.rejects(session.run({ id: "call_2" }, never, { within: 1 }), /no call with the id call_2/);
});

test("equal runs execute the tool once", async () => {
  const session = open("once");
  const [event] = await called(session, ["call_1", "search", {}]);
  let executions = 0;
  const runs = Array.from({ length: 8 }, (_, i) => (i % 2 ? session : open("once")).run(event, () => ({ executions: ++executions })));
  assert.deepEqual(await Promise.all(runs), Array(8).fill({ executions: 1 }));
  assert.equal(executions, 1);
});

for (const [name, end, options, state] of [
  ["stopped", undefined, {}, "stopped"],
  ["finished anyway", () => "done", {}, "finished_anyway"],
  ["never ending", never, { grace: 1 }, "unknown"],
]) {
  test(`a tool is aborted when its call is closed: ${name}`, async () => {
    const session = open(name);
    const [event] = await called(session, ["call_1", "crawl", {}]);
    const { begins, tool } = hanging(end);
    const running = assert.rejects(session.run(event, tool, options),
      (error) => error instanceof Cancelled && error.status === "cancelled" && error.reason.detail === "user pressed stop");
    await begins;
    await session.interrupt({ call: event.call, reason: "user pressed stop" });
    await running;
    const late = (await eventsUntil(session, typed("tool_call_late_result"))).at(-1);
    assert.deepEqual([late.call, late.tool_state, late.tool_result], [event.call, state, end && state === "finished_anyway" ? "done" : undefined]);
  });
}

test("a call that is closed before it runs is not run", async () => {
  const session = open("closed before");
  const [event] = await called(session, ["call_1", "crawl", {}]);
  await session.interrupt();
  await assert.rejects(session.run(event, () => assert.fail("it ran")), Cancelled);
  await assert.rejects(session.run({ ...event, call: "99.0" }, () => assert.fail("it ran")), /no call 99.0/);
});

test("the signal of the caller stops the tool", async () => {
  const session = open("caller");
  const [event] = await called(session, ["call_1", "crawl", {}]);
  const abort = new AbortController();
  const { begins, tool } = hanging();
  const running = session.run(event, tool, { signal: abort.signal });
  await begins;
  abort.abort(new Error("the user left"));
  await assert.rejects(running, /the user left/);
  assert.equal((await eventsUntil(session, typed("tool_call_result"))).at(-1).tool_result, "the user left");
});

test("an agent is stopped when its run is interrupted, and not when a call is", async () => {
  const session = open("agent");
  for (const round of [1, 2]) {
    await assert.rejects(session.untilStopped(async (signal) => {
      const [event] = await called(session, [`call_${round}`, "crawl", {}]);
      const { begins, tool } = hanging();
      const running = assert.rejects(session.run(event, tool), Cancelled);
      await begins;
      await session.interrupt({ call: event.call });
      await running;
      assert.ok(!signal.aborted);
      await session.interrupt({ reason: "user pressed stop" });
      await aborted(signal);
      throw signal.reason;
    }), (error) => error instanceof Cancelled && error.reason.detail === "user pressed stop");
  }
  assert.equal(await session.untilStopped(() => 42), 42);
});

test("an agent knows that its run was interrupted before its tool rejects", async () => {
  const session = open("interrupted");
  await assert.rejects(session.untilStopped(async (signal) => {
    const [event] = await called(session, ["call_1", "crawl", {}]);
    const { begins, tool } = hanging();
    let known;
    const running = session.run(event, tool).catch((error) => {
      known = signal.aborted;
      throw error;
    });
    const rejected = assert.rejects(running, Cancelled); // it may reject before the interrupt is answered
    await begins;
    await session.interrupt();
    await rejected;
    assert.ok(known);
    throw signal.reason;
  }), Cancelled);
});

test("a caller that leaves before the tool begins gives the call back", async () => {
  const [event] = await called(open("leaves"), ["call_1", "search", { q: 1 }]);
  const abort = new AbortController();
  const leaving = open("leaves", {
    fetch: async (url, init) => {
      if (url.endsWith("/progress")) abort.abort(new Error("the user left"));
      return fetch(url, init);
    },
  });
  await assert.rejects(leaving.run(event, () => assert.fail("it ran"), { signal: abort.signal }), /the user left/);
  await eventsUntil(open("leaves"), (e) => e.message?.startsWith("suspended"));
  assert.equal(await open("leaves").run(event, (args) => `${args.q}`), "1");
});

test("a result that is stored twice is that of the tool", async () => {
  let answers = 0;
  // The first answer is lost, and the repetition comes when the server has forgotten the key.
  const session = open("twice", {
    fetch: async (url, init) => {
      if (!url.endsWith("/results")) return fetch(url, init);
      init.headers["Idempotency-Key"] += `:${++answers}`;
      const response = await fetch(url, init);
      if (answers % 2 === 1) throw new TypeError("the connection is lost");
      return response;
    },
  });
  for (const value of [{ found: 1 }, 42, "text", null]) {
    const [event] = await called(session, [`call_${JSON.stringify(value)}`, "search", {}]);
    assert.deepEqual(await session.run(event, () => value), value);
  }
  assert.equal(answers, 8);
});

test("a result that cannot be stored is an error", async () => {
  const session = open("large");
  const [event, other, closed] = await called(session, ["a", "t", {}], ["b", "t", {}], ["c", "t", {}]);
  await assert.rejects(session.run(event, () => "x".repeat(2 << 20)), (error) => error instanceof StreamerError && error.status === 413);
  await assert.rejects(session.run(other, () => 1n), TypeError);
  const events = await eventsUntil(session, (_, seen) => seen.length === 2, { types: ["tool_call_result"] });
  assert.deepEqual(events.map((e) => e.status), ["error", "error"]);
  const { begins, tool } = hanging(() => "x".repeat(2 << 20));
  const running = assert.rejects(open("large", { onWarning() {} }).run(closed, tool), Cancelled);
  await begins;
  await session.interrupt();
  await running;
  assert.equal((await eventsUntil(session, typed("tool_call_late_result"))).at(-1).tool_state, "finished_anyway");
});

/** Starts a process that runs calls, and returns it with its lines. */
function startWorker(t, url, session) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("worker.mjs", import.meta.url)), url, session], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = [];
  let changed = () => {};
  createInterface({ input: child.stdout }).on("line", (line) => { lines.push(line); changed(); });
  t.after(() => child.kill("SIGKILL"));
  const until = async (test) => { while (!test(lines)) await new Promise((resolve) => (changed = resolve)); };
  return { child, lines, until };
}

const begun = (...workers) => workers.flatMap((w) => w.lines.filter((line) => line.startsWith("begin")));

test("two processes execute each call once, though one is killed", async (t) => {
  const session = open("two");
  const workers = [startWorker(t, server.url, session.name), startWorker(t, server.url, session.name)];
  await Promise.all(workers.map((w) => w.until((lines) => lines.includes("live"))));
  await called(session, ...Array.from({ length: 30 }, (_, n) => [`call_${n}`, "search", { n }]));
  await Promise.all(workers.map((w) => w.until((lines) => lines.filter((l) => l.startsWith("value")).length === 30)));
  assert.equal(new Set(begun(...workers)).size, 30);
  assert.equal(begun(...workers).length, 30);

  await session.follow(calling(["hanging", "hang", {}]));
  const [hanging] = await eventsUntil(session, (e) => e.type === "tool_call_args_complete" && e.id === "hanging", { types: ["tool_call_args_complete"] }).then((list) => list.slice(-1));
  const line = `begin ${hanging.call}`;
  const owner = await Promise.race(workers.map(async (w) => (await w.until((lines) => lines.includes(line)), w)));
  owner.child.kill("SIGKILL");
  await once(owner.child, "exit");
  const restarted = startWorker(t, server.url, session.name);
  await restarted.until((lines) => lines.filter((l) => l.startsWith("value")).length === 30);
  await session.interrupt({ call: hanging.call });
  const end = `error ${hanging.call} Cancelled cancelled`;
  await Promise.all([restarted, ...workers.filter((w) => w !== owner)].map((w) => w.until((lines) => lines.includes(end))));
  assert.equal(begun(...workers, restarted).length, 31);
});

test("kill -9 of the server while tools run", async (t) => {
  const killed = await startServer(t);
  const session = streamer(killed.url).session("killed");
  const [first, second, third] = await called(session, ["a", "t", {}], ["b", "t", {}], ["c", "t", {}]);
  let executions = 0, release;
  const released = new Promise((resolve) => (release = resolve));
  const { begins, tool } = hanging();
  const began = [];
  const waiting = session.run(first, async () => (executions++, await new Promise((r) => (began.push(r), r())), await released, "a"));
  const stopped = assert.rejects(session.run(second, (...args) => (executions++, tool(...args))), Cancelled);
  await begins;
  await eventsUntil(session, (_, seen) => seen.length === 2, { types: ["tool_call_progress"] });
  await killed.kill();
  release(); // its result is posted while there is no server
  const later = session.run(third, () => (executions++, "c")); // so is this claim
  await killed.start();
  assert.deepEqual(await Promise.all([waiting, later]), ["a", "c"]);
  await session.interrupt({ call: second.call });
  await stopped;
  assert.equal(executions, 3);
});

test("a process ends when its calls have ended", async (t) => {
  const session = open("exit");
  const [event] = await called(session, ["call_1", "search", {}]);
  const program = `import { streamer } from "${new URL("../streamer.js", import.meta.url)}";
    console.log(await streamer("${server.url}").session("${session.name}").run(${JSON.stringify(event)}, () => 42));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  let out = "";
  child.stdout.on("data", (text) => (out += text));
  await once(child, "exit");
  assert.equal(out, "42\n");
});
