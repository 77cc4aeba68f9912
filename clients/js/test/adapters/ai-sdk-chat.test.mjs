import assert from "node:assert/strict";
import { before, test } from "node:test";

import { convertToModelMessages, isStepCount, readUIMessageStream, streamText, tool, toUIMessageStream } from "ai";
import { streamer } from "streamer-client";
import { aiSdk } from "streamer-client/ai-sdk";
import { z } from "zod";

import { aborted, eventsUntil } from "../model.mjs";
import { sharedServer } from "../server.mjs";
import { calling, modelOf, saying } from "./ai-model.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const inputSchema = z.object({ q: z.string() });
const question = (id, text) => ({ id, role: "user", parts: [{ type: "text", text }] });

/** Answers a request of useChat as a server does, and returns the stream. */
function answer(session, messages, model, tools) {
  const run = aiSdk(session);
  return run.chat({ messages }, async (abortSignal) => {
    const { stream } = streamText({ model, abortSignal, tools: run.tools(tools), stopWhen: isStepCount(3), messages: await convertToModelMessages(messages) });
    return toUIMessageStream({ stream, originalMessages: messages, generateMessageId: () => "a1" });
  });
}

/** Returns the messages after a stream, as useChat has them. */
async function after(messages, stream) {
  const last = messages.at(-1), continued = last.role === "assistant";
  let message;
  for await (message of readUIMessageStream({ stream, message: continued ? structuredClone(last) : undefined }));
  return [...(continued ? messages.slice(0, -1) : messages), message];
}

const typesOf = (events) => events.map((e) => e.type).filter((type) => /^(human|run|tool_call_(a|r|l)|unmatched|orphan|rejected)/.test(type) && !/delta/.test(type));

test("a question, an approval and a denial: each event is there once", async () => {
  const session = streamer(server.url).session("ai-sdk/chat");
  let ran = 0;
  const tools = {
    search: tool({ inputSchema, execute: async ({ q }) => ({ found: q }) }),
    fail: tool({ inputSchema, execute: async () => Promise.reject(new Error("no network")) }),
    send: tool({ inputSchema, needsApproval: true, execute: async () => ({ sent: ++ran }) }),
  };
  const calls = [["c1", "search", { q: "a" }], ["c2", "fail", { q: "b" }], ["c3", "send", { q: "c" }], ["c4", "send", { q: "d" }]];
  let messages = [question("u1", "Find it.")];
  messages = await after(messages, await answer(session, messages, modelOf(calling(...calls)), tools));
  await eventsUntil(session, (e) => e.type === "run_finished");
  const decide = (id, approved) => {
    const part = messages.at(-1).parts.find((part) => part.toolCallId === id);
    Object.assign(part, { state: "approval-responded", approval: { ...part.approval, approved } });
  };
  decide("c3", true), decide("c4", false);
  messages = await after(messages, await answer(session, messages, modelOf(saying("done")), tools));
  const events = await eventsUntil(session, (e, seen) => e.type === "run_finished" && seen.filter((other) => other.type === e.type).length === 2);
  assert.deepEqual(events.filter((e) => e.type === "tool_call_result").map((e) => [e.id, e.status, e.tool_result]).sort(), [
    ["c1", "completed", { found: "a" }], ["c2", "error", "no network"], ["c3", "completed", { sent: 1 }], ["c4", "denied", "Tool call send with id c4 was not run: it was rejected."],
  ]);
  const count = (type) => typesOf(events).filter((other) => other === type).length;
  assert.deepEqual(["human_message", "run_started", "tool_call_answered", "tool_call_late_result", "unmatched", "orphan_result", "rejected"].map(count), [1, 2, 2, 0, 0, 0, 0]);
  assert.equal(ran, 1);
  assert.deepEqual(messages.map(({ id }) => id), ["u1", "a1"]);
  const states = (list) => list.map(({ id, parts }) => [id, ...parts.filter((part) => part.toolCallId).map(({ state }) => state)]);
  assert.deepEqual(states(await session.messages()), states(messages), "the log and useChat differ");
});

test("a second answer is refused", async () => {
  const session = streamer(server.url).session("ai-sdk/chat-second");
  const tools = { send: tool({ inputSchema, needsApproval: true, execute: async () => "sent" }) };
  const asked = [question("u1", "Send it.")];
  const messages = await after(asked, await answer(session, asked, modelOf(calling(["c1", "send", { q: "c" }])), tools));
  const part = messages.at(-1).parts.find((part) => part.toolCallId === "c1");
  const decided = (approved) => [asked[0], { ...messages.at(-1), parts: [{ ...part, state: "approval-responded", approval: { ...part.approval, approved } }] }];
  await (await answer(session, decided(true), modelOf(saying("done")), tools)).pipeTo(new WritableStream());
  for (const approved of [true, false]) await assert.rejects(answer(session, decided(approved), modelOf(), tools), { status: 409 });
});

test("a stop reaches the model and the tools", async () => {
  const session = streamer(server.url).session("ai-sdk/chat-stop");
  let reason;
  const wait = async (_, { abortSignal, progress }) => {
    await progress("waits");
    await aborted(abortSignal);
    throw (reason = abortSignal.reason);
  };
  const messages = [question("u1", "Wait.")];
  const stream = await answer(session, messages, modelOf(calling(["c1", "wait", { q: "a" }]), saying("not reached")), { wait: tool({ inputSchema, execute: wait }) });
  const reading = after(messages, stream);
  await eventsUntil(session, (e) => e.message === "waits");
  await session.interrupt({ reason: "the user pressed stop" });
  await reading;
  const events = await eventsUntil(session, (e) => e.type === "tool_call_late_result");
  assert.equal(reason.name, "Cancelled");
  assert.equal(events.at(-1).tool_state, "stopped");
  assert.deepEqual(events.filter((e) => e.type === "run_started" || e.type === "run_finished").map((e) => e.status), [undefined, "cancelled"]);
});
