import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { subscribe, TYPES } from "../eventsource.js";

// follow runs a subscription on scripted sources and returns what it reports. Each
// script is called with the source after it was created.
async function follow(scripts, statuses = []) {
  const urls = [], states = [], got = [];
  class Source extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    constructor(url, init) {
      super();
      urls.push(url + (init.withCredentials ? " with credentials" : ""));
      const script = scripts.shift();
      queueMicrotask(() => script(this));
    }
    send(type, data, lastEventId) { this.dispatchEvent(Object.assign(new Event(type), { data, lastEventId })); }
    close() { this.readyState = 2; }
  }
  const s = subscribe({
    url: "/events", credentials: "include", EventSource: Source, random: () => 0,
    fetch: async () => new Response('{"error":"no entry"}', { status: statuses.shift() }),
    onFrame: (f) => got.push([f.event, f.data, f.id]),
    onState: (state) => {
      states.push(state.name);
      if (state.name === "reconnecting") queueMicrotask(() => s.retryNow());
    },
  });
  scripts.push(() => s.close());
  await s.finished;
  return { urls, states, got };
}

test("frames of all types, and a new source after the last id", async () => {
  const { urls, states, got } = await follow([
    (source) => {
      source.onopen();
      source.send("stream.open", "{}", "");
      source.send("tool_call_start", "a", "4");
      source.send("stream.live", "{}", "4");
      source.onerror();
    },
    (source) => {
      source.send("run_finished", "b", "7");
      source.onerror();
    },
  ]);
  assert.deepEqual(got, [["stream.open", "{}", ""], ["tool_call_start", "a", "4"], ["stream.live", "{}", "4"], ["run_finished", "b", "7"]]);
  assert.deepEqual(urls, ["/events with credentials", "/events?last_event_id=4 with credentials", "/events?last_event_id=7 with credentials"]);
  assert.deepEqual(states, ["connecting", "catching-up", "live", "reconnecting", "connecting", "reconnecting", "connecting"]);
});

test("a refusal is asked for by a request", async () => {
  const refuse = (source) => {
    source.readyState = 2;
    source.onerror();
  };
  assert.deepEqual((await follow([refuse], [403])).states, ["connecting", "refused"]);
  assert.deepEqual((await follow([refuse, refuse], [503, 410])).states, ["connecting", "reconnecting", "connecting", "gone"]);
});

test("every type of event is delivered", () => {
  const schema = JSON.parse(readFileSync(new URL("../../../docs/events.schema.json", import.meta.url)));
  assert.deepEqual(schema.properties.type.enum.filter((type) => !TYPES.includes(type)), []);
});
