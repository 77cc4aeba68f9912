import assert from "node:assert/strict";
import { before, test } from "node:test";

import { convertToModelMessages, readUIMessageStream, streamText, tool, validateUIMessages, wrapLanguageModel } from "ai";
import { streamer } from "streamer-client";
import { aiSdk } from "streamer-client/ai-sdk";
import { z } from "zod";

import { eventsUntil } from "../model.mjs";
import { sharedServer } from "../server.mjs";
import { calling, modelOf, saying } from "./ai-model.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const typed = (type) => (e) => e.type === type;
const finished = (n) => (e, all) => all.filter(typed("run_finished")).length === n;

/** Returns an agent with a tool that needs approval, and the amounts that were paid. */
function agentOf(session, settings = {}) {
  const paid = [];
  const pay = tool({
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => amount > 3,
    execute: async ({ amount }) => paid.push(amount) && `paid ${amount}`,
  });
  const run = async (messages, ...answers) => {
    const a = aiSdk(session);
    const result = streamText({
      model: wrapLanguageModel({ model: modelOf(...answers), middleware: a.middleware }),
      tools: a.tools({ pay }), messages: await convertToModelMessages(messages), onChunk: a.onChunk, onFinish: () => a.end(), ...settings,
    });
    let message;
    const previous = messages.at(-1);
    const stream = result.toUIMessageStream({ originalMessages: messages });
    for await (message of readUIMessageStream({ message: previous.role === "assistant" ? previous : undefined, stream }));
    return [...messages.filter((m) => m !== previous || m.role !== "assistant"), message];
  };
  return { paid, run };
}

const question = [{ id: "u", role: "user", parts: [{ type: "text", text: "Pay." }] }];
const pays = (amount) => calling(["call_1", "pay", { amount }]);

/** Returns messages in which a person has answered the call that waits. */
function answered(messages, approval) {
  const last = structuredClone(messages.at(-1));
  const part = last.parts.find((p) => p.state === "approval-requested");
  part.state = "approval-responded";
  Object.assign(part.approval, approval);
  return [...messages.slice(0, -1), last];
}

test("a call that needs approval waits, and runs once it has it", async () => {
  const session = streamer(server.url).session("ai-approval/approved");
  const { paid, run } = agentOf(session);
  const messages = await run(question, pays(5));
  const first = await eventsUntil(session, typed("run_finished"));
  const [wait] = first.filter(typed("tool_call_awaiting_input"));
  assert.deepEqual([wait.tool_name, wait.kind, first.at(-1).status, first.at(-1).pending, paid], ["pay", "approval", "interrupted", [wait.call], []]);

  await run(answered(messages, { approved: true }), saying("done"));
  const all = await eventsUntil(session, finished(2));
  assert.deepEqual(paid, [5]);
  assert.equal(all.filter(typed("tool_call_awaiting_input")).length, 1);
  assert.deepEqual(all.filter(typed("tool_call_answered")).map((e) => e.decision), ["approve"]);
  assert.deepEqual(all.filter(typed("tool_call_result")).map((e) => [e.call, e.tool_result]), [[wait.call, "paid 5"]]);
  assert.deepEqual([all.at(-1).status, all.filter(typed("unmatched")), all.filter(typed("rejected"))], ["completed", [], []]);
});

test("a call that a person has denied is closed with the reason", async () => {
  const session = streamer(server.url).session("ai-approval/denied");
  const { paid, run } = agentOf(session);
  const messages = await run(question, pays(5));
  await run(answered(messages, { approved: false, reason: "Too much." }), saying("As you like."));
  const all = await eventsUntil(session, finished(2));
  assert.deepEqual(all.filter(typed("tool_call_answered")).map((e) => [e.decision, e.value]), [["deny", "Too much."]]);
  assert.deepEqual(all.filter(typed("tool_call_result")).map((e) => [e.status, e.reason.detail]), [["denied", "Too much."]]);
  assert.deepEqual([paid, all.at(-1).status, all.filter(typed("unmatched"))], [[], "completed", []]);
});

test("answers that were posted before are not posted again", async () => {
  const session = streamer(server.url).session("ai-approval/posted");
  const { paid, run } = agentOf(session);
  const messages = await run(question, pays(5));
  const wait = (await eventsUntil(session, typed("tool_call_awaiting_input"))).at(-1);
  await session.answer(wait, { decision: "edit", args: { amount: 4 }, by: "ann" });
  await eventsUntil(session, typed("tool_call_answered"));
  await run(answered(messages, { approved: true }), saying("done"));
  const all = await eventsUntil(session, finished(2));
  assert.deepEqual([paid, all.filter(typed("tool_call_answered")).map((e) => e.by), all.filter(typed("unmatched"))], [[4], ["ann"], []]);
});

test("a call that a rule denies is closed with the reason", async () => {
  const session = streamer(server.url).session("ai-approval/rule");
  const { paid, run } = agentOf(session, { toolApproval: { pay: () => ({ type: "denied", reason: "Never." }) }, stopWhen: ({ steps }) => steps.length === 2 });
  await run(question, pays(5), saying("As you like."));
  const all = await eventsUntil(session, typed("run_finished"));
  assert.deepEqual(all.filter(typed("tool_call_result")).map((e) => [e.status, e.tool_result]), [["denied", "Never."]]);
  assert.deepEqual([paid, all.at(-1).status], [[], "completed"]);
});

test("a browser that reads the gateway sees why, and its answer lets an agent with a secret continue", async () => {
  const session = streamer(server.url).session("ai-approval-secret");
  const settings = { experimental_toolApprovalSecret: "secret", toolApproval: { pay: ({ amount }) => amount > 3 && { type: "user-approval", reason: "Above 3 <&> €." } } };
  const { paid, run } = agentOf(session, settings);
  await run(question, pays(5));
  await eventsUntil(session, typed("run_finished"));
  const shown = await shownBy(session);
  const part = shown.parts.find((p) => p.type === "tool-pay");
  assert.deepEqual([part.state, part.approval.requestReason, typeof part.approval.signature], ["approval-requested", "Above 3 <&> €.", "string"]);
  await validateUIMessages({ messages: [shown] });
  await run(answered([...question, shown], { approved: true, reason: "Fine." }), saying("done"));
  assert.deepEqual(paid, [5]);
});

test("a published UI stream is shown with the same approvals, with which the agent continues", async () => {
  const session = streamer(server.url).session("ai-approval-ui");
  const paid = [];
  const pay = tool({ inputSchema: z.object({ amount: z.coerce.number() }), execute: async ({ amount }) => paid.push(amount) && "paid" });
  const settings = { tools: { pay }, experimental_toolApprovalSecret: "secret", toolApproval: { pay: ({ amount }) => (amount > 3 ? { type: "user-approval", reason: "Above 3." } : { type: "approved", reason: "Small." }) } };
  const run = async (messages, ...answers) => {
    const result = streamText({ model: modelOf(...answers), messages: await convertToModelMessages(messages), ...settings });
    const [mine, theirs] = result.toUIMessageStream({ originalMessages: messages }).tee();
    await Promise.all([session.follow(mine, { format: "vercel-ui" }), theirs.pipeTo(new WritableStream())]);
  };
  const calls = calling(["call_1", "pay", { amount: "5" }], ["call_2", "pay", { amount: "2" }]);
  const [mine, theirs] = streamText({ model: modelOf(calls), prompt: "Pay.", ...settings }).toUIMessageStream().tee();
  await session.follow(mine, { format: "vercel-ui" });
  let direct;
  for await (direct of readUIMessageStream({ stream: theirs }));
  await eventsUntil(session, typed("run_finished"));
  const shown = await shownBy(session);
  const approvals = (message) => message.parts.filter((p) => p.type === "tool-pay").map((p) => [p.state, p.input, p.approval]);
  assert.deepEqual(approvals(shown), approvals(direct));
  assert.deepEqual(approvals(shown).map(([, , a]) => [a.inputSchemaInput, a.isAutomatic, a.reason, a.requestReason]), [[{ amount: "5" }, undefined, undefined, "Above 3."], [{ amount: "2" }, true, "Small.", undefined]]);
  await validateUIMessages({ messages: [shown] });
  await run(answered([...question, shown], { approved: true }), saying("done"));
  assert.deepEqual(paid, [2, 5]);
});

/** Returns the message that a client of the AI SDK has of the last run. */
async function shownBy(session) {
  const { body } = await fetch(`${server.url.replace(/\/$/, "")}/v1/ai-sdk/${session.name}/stream`);
  const { parseJsonEventStream, uiMessageChunkSchema } = await import("ai");
  const chunks = parseJsonEventStream({ stream: body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({ transform: ({ success, value, error }, c) => (success ? c.enqueue(value) : c.error(error)) }),
  );
  let message;
  for await (message of readUIMessageStream({ stream: chunks }));
  return message;
}
