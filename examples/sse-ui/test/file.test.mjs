import { test } from "node:test";
import assert from "node:assert/strict";
import { parseEvents, formatEvents } from "../file.js";
import { placeOf, linkTo } from "../place.js";

const event = (n, more = {}) => ({ type: "run_started", event_id: n + ".0", session: "s", timestamp: "2026-03-02T10:00:0" + n + ".000Z", ...more });
const lines = (...list) => list.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join("\n");

test("a file of events", () => {
  const list = [event(1), event(2)];
  assert.deepEqual(parseEvents(lines(...list) + "\r\n\n"), { events: list, notes: [] });
});

test("what is saved can be opened", () => {
  const message = { type: "synthetic", message: { role: "tool", content: "x" } };
  const saved = formatEvents([{ event: event(1), seq: 4 }, { event: message, seq: 5 }], "s");
  const { events, notes } = parseEvents(saved);
  assert.deepEqual([events[0], events[1].message, notes], [event(1), message.message, []]);
});

test("broken lines are counted", () => {
  const { events, notes } = parseEvents(lines(event(1), '{"cut', event(2)));
  assert.deepEqual([events.length, notes], [2, ["1 line is not JSON, the first is line 2."]]);
});

test("a recorded stream is named, with the command that converts it", () => {
  for (const [text, want] of [
    ['{"object":"chat.completion.chunk","choices":[]}', "OpenAI chat"],
    ['{"type":"response.created"}', "OpenAI Responses"],
    ['{"type":"message_start"}', "Anthropic"],
    ['[{"candidates":[]}]', "Gemini"],
    ["event: message_start\ndata: {}", "server-sent events"],
  ]) {
    const { events, notes } = parseEvents(text);
    assert.equal(events.length, 0);
    assert.match(notes[0], new RegExp("provider \\(" + want + "\\).*streamer assemble --events"));
  }
  for (const text of ["", "  \n", "plain text", '{"a":1}', "[]", "null", "7"]) {
    const { events, notes } = parseEvents(text);
    assert.deepEqual([events.length, notes.length], [0, 1], text);
  }
});

test("events without times get some, and no deadlines", () => {
  const at = "1970-01-01T00:00:00.000Z";
  const { events, notes } = parseEvents(lines(event(1, { timestamp: at }), event(2, { timestamp: at, deadline: "1970-01-01T00:02:00.000Z" })));
  assert.deepEqual([events.map((e) => e.timestamp), events[1].deadline], [[at, "1970-01-01T00:00:00.040Z"], undefined]);
  assert.match(notes[0], /no times/);
});

test("places in addresses", () => {
  const none = { session: "", run: "", call: "", view: "", find: "", status: "", tool: "", least: "", zoom: "" };
  const place = { ...none, session: "a b/ä&c=d", run: "17.0", call: "18.0", find: "x & y", zoom: "5-70" };
  assert.deepEqual(placeOf(linkTo(place)), place);
  assert.equal(linkTo({ session: "demo", run: "", call: "" }), "#session=demo");
  assert.deepEqual(placeOf("#session=%zz&call=1&other=2&run"), { ...none, call: "1" });
  assert.deepEqual(placeOf(""), none);
});
