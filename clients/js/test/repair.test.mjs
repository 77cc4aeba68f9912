import assert from "node:assert/strict";
import { before, test } from "node:test";

import { streamer } from "../streamer.js";
import { called } from "./model.mjs";
import { sharedServer } from "./server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const history = [
  { role: "user", content: "Find it." },
  { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "search", arguments: "{}" } }] },
  { role: "user", content: "And?" },
];

test("a call without a result gets one, from the log if it is there", async () => {
  const session = streamer(server.url).session("repair/repair");
  const repaired = await session.repair(history, { shape: "openai", provider: "openai" });
  assert.match(repaired[2].content, /no result was recorded/);
  const [event] = await called(session, ["call_1", "search", {}]);
  await session.run(event, () => "a fjord");
  assert.equal((await session.repair(history))[2].content, "a fjord");
});

test("without a server the history stays as it is", async () => {
  const reasons = [];
  const options = { onUnrepaired: (reason) => reasons.push(reason) };
  const nowhere = streamer("http://127.0.0.1:9", { onWarning: (text) => reasons.push(text) }).session("repair");
  assert.equal(await nowhere.repair(history, options), history);
  assert.equal(await nowhere.repair(history), history);
  assert.equal(await nowhere.repair(history), history);
  const mixed = [{ role: "user", parts: [] }];
  assert.equal(await streamer(server.url).session("repair/repair").repair(mixed, { shape: "nonsense", ...options }), mixed);
  assert.equal(reasons.length, 3);
  assert.match(reasons[0], /cannot be reached/);
  assert.match(reasons[2], /nonsense/);
});
