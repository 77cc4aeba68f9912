import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Cancelled, streamer } from "../streamer.js";
import { eventsUntil } from "./model.mjs";
import { sharedServer } from "./server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

/** Returns a session with a call that waits for a person, and the event of that. */
async function waiting(name) {
  const session = streamer(server.url).session(`answer/${name}`);
  await session.follow([
    { type: "start", messageId: "m1" }, { type: "start-step" },
    { type: "tool-input-available", toolCallId: "call_1", toolName: "send_mail", input: { to: "ann" } },
    { type: "tool-approval-request", toolCallId: "call_1", approvalId: "approval_1" },
    { type: "finish-step" }, { type: "finish" },
  ], { format: "vercel-ui" });
  const event = (await eventsUntil(session, (e) => e.type === "tool_call_awaiting_input")).at(-1);
  return { session, event };
}

for (const answer of [
  { decision: "approve", by: "ann" },
  { decision: "edit", args: { to: "bob" } },
  { decision: "reply", value: { when: "later" }, by: "ann" },
  { decision: "deny", value: "too early" },
]) {
  test(answer.decision, async () => {
    const { session, event } = await waiting(answer.decision);
    const asked = session.waitForAnswer(event);
    await session.answer(event, answer);
    const want = { args: undefined, value: undefined, by: undefined, ...answer };
    assert.deepEqual(await asked, want);
    assert.deepEqual(await streamer(server.url).session(`answer/${answer.decision}`).waitForAnswer(event.call), want, "an answer that came before");
    if (answer.decision === "deny") await assert.rejects(session.run(event, () => assert.fail("it ran")), (error) => error instanceof Cancelled && error.status === "denied");
    else assert.equal(await session.run(event, (args) => args.to), answer.args?.to ?? "ann");
  });
}

test("an answer to an interrupt, and one that comes too late", async () => {
  const { session, event } = await waiting("interrupt");
  await session.answer({ interrupt_id: event.interrupt_id }, { decision: "approve", by: "ann" });
  assert.equal((await session.waitForAnswer(event)).decision, "approve");
  await assert.rejects(session.answer(event, { decision: "deny" }), { status: 409, message: /answered already by "ann"/ });
  const unmatched = (await eventsUntil(session, (e) => e.type === "unmatched")).at(-1);
  assert.deepEqual([unmatched.kind, unmatched.decision, unmatched.by], ["answer", "approve", "ann"]);
});

test("a call that is closed has no answer", async () => {
  const { session, event } = await waiting("closed");
  const asked = assert.rejects(session.waitForAnswer(event), (error) => error instanceof Cancelled && error.status === "cancelled");
  const abort = new AbortController();
  const left = session.waitForAnswer(event, { signal: abort.signal });
  abort.abort(new Error("the page is closed"));
  await assert.rejects(left, /the page is closed/);
  await session.interrupt();
  await asked;
});
