import assert from "node:assert/strict";
import { before, test } from "node:test";

import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { streamer } from "streamer-client";
import { aiSdk } from "streamer-client/ai-sdk";
import { z } from "zod";

import { aborted, eventsUntil } from "../model.mjs";
import { sharedServer } from "../server.mjs";
import { calling, finish, modelOf, saying, usage } from "./ai-model.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const searchTool = tool({ inputSchema: z.object({ q: z.string() }), execute: async ({ q }) => ({ found: q }) });

test("a stop reaches the tool, and the model goes on", async () => {
  const session = streamer(server.url).session("ai-sdk/stop");
  const streamed = aiSdk(session);
  const stopped = [];
  const crawlTool = tool({
    inputSchema: z.object({ q: z.string() }),
    execute: async (_, { abortSignal, progress }) => {
      await progress("crawls");
      await aborted(abortSignal);
      stopped.push(abortSignal.reason.name);
      throw abortSignal.reason;
    },
  });
  const result = streamText({
    model: wrapLanguageModel({ model: modelOf(calling(["call_1", "search", { q: "a" }], ["call_2", "crawl", { q: "b" }]), saying("done")), middleware: streamed.middleware }),
    tools: streamed.tools({ search: searchTool, crawl: crawlTool }),
    stopWhen: stepCountIs(3),
    prompt: "Find it.",
  });
  const reading = result.consumeStream();
  const crawling = (await eventsUntil(session, (e) => e.message === "crawls")).at(-1);
  await session.interrupt({ call: crawling.call, reason: "user pressed stop" });
  await reading;
  await streamed.end();
  assert.equal(await result.text, "done");
  assert.deepEqual(stopped, ["Cancelled"]);
  const [first] = await result.steps;
  assert.deepEqual(first.content.filter((part) => part.type === "tool-result").map((part) => part.output), [{ found: "a" }]);
  assert.match(first.content.find((part) => part.type === "tool-error").error.message, /^Tool call crawl with id call_2 was cancelled/);

  const events = await eventsUntil(session, (e) => e.type === "run_finished");
  const of = (type) => events.filter((e) => e.type === type);
  assert.deepEqual(of("tool_call_result").map((e) => [e.tool_name, e.status]).sort(), [["crawl", "cancelled"], ["search", "completed"]]);
  assert.deepEqual(of("tool_call_late_result").map((e) => [e.call, e.tool_state]), [[crawling.call, "stopped"]]);
  assert.deepEqual(of("tool_call_args_complete").map((e) => [e.tool_args, e.by]), [[{ q: "a" }, "call"], [{ q: "b" }, "call"]]);
  assert.equal(of("agent_response_chunk").map((e) => e.content).join("|"), "Let me look.|done");
  assert.deepEqual(of("message_finished").map((e) => [e.finish_reason, e.usage.outputTokens.total]), [["tool-calls", 5], ["stop", 5]]);
  assert.deepEqual([of("run_started").length, of("run_finished")[0].status, of("rejected")], [1, "completed", []]);
});

test("args that a person has edited reach the tool", async () => {
  const session = streamer(server.url).session("ai-sdk/edited");
  const streamed = aiSdk(session);
  const { search } = streamed.tools({ search: searchTool });
  const execute = async (args, options) => {
    const until = (type) => eventsUntil(session, (e) => e.type === type);
    await until("tool_call_args_complete");
    await session.follow([{ type: "tool-approval-request", approvalId: "ap", toolCallId: options.toolCallId }], { format: "vercel-ui" });
    await session.answer((await until("tool_call_awaiting_input")).at(-1), { decision: "edit", args: { q: "edited" } });
    await until("tool_call_answered");
    return search.execute(args, options);
  };
  const model = wrapLanguageModel({ model: modelOf(calling(["call_1", "search", { q: "a" }]), saying("done")), middleware: streamed.middleware });
  const result = streamText({ model, tools: { search: { ...search, execute } }, stopWhen: stepCountIs(2), prompt: "x" });
  await result.consumeStream();
  assert.deepEqual((await result.steps).flatMap((step) => step.toolResults.map((r) => r.output)), [{ found: "edited" }]);
});

test("ids that repeat in later answers", async () => {
  const session = streamer(server.url).session("ai-sdk/ids");
  for (const q of ["a", "b"]) {
    const streamed = aiSdk(session);
    const model = wrapLanguageModel({ model: modelOf(calling(["call_1", "search", { q }]), calling(["call_1", "search", { q: `${q}${q}` }]), saying("done")), middleware: streamed.middleware });
    const result = streamText({ model, tools: streamed.tools({ search: searchTool }), stopWhen: stepCountIs(3), prompt: "Find it." });
    await result.consumeStream();
    await streamed.end();
    assert.deepEqual((await result.steps).flatMap((step) => step.toolResults.map((r) => r.output.found)), [q, `${q}${q}`]);
  }
});

test("a model that fails, and one that is stopped", async () => {
  const fail = aiSdk(streamer(server.url).session("ai-sdk/fails"));
  const parts = [...calling(["call_1", "search", { q: "a" }]).slice(0, 6), { type: "error", error: new Error("overloaded") }];
  await streamText({ model: wrapLanguageModel({ model: modelOf(parts), middleware: fail.middleware }), prompt: "x", onError() {} }).consumeStream();
  const failed = await eventsUntil(streamer(server.url).session("ai-sdk/fails"), (e) => e.type === "run_finished");
  assert.deepEqual([failed.at(-1).status, failed.at(-1).reason.detail], ["error", "overloaded"]);

  const session = streamer(server.url).session("ai-sdk/aborted");
  const streamed = aiSdk(session);
  const abort = new AbortController();
  const endless = new MockLanguageModelV4({
    doStream: async ({ abortSignal }) => ({
      stream: new ReadableStream({
        start(c) {
          for (const part of saying("a").slice(0, 2)) c.enqueue(part);
          abortSignal.addEventListener("abort", () => c.error(abortSignal.reason));
        },
      }),
    }),
  });
  const reading = streamText({ model: wrapLanguageModel({ model: endless, middleware: streamed.middleware }), prompt: "x", abortSignal: abort.signal }).consumeStream();
  await eventsUntil(session, (e) => e.type === "agent_response_chunk");
  abort.abort();
  await reading;
  assert.equal((await eventsUntil(session, (e) => e.type === "run_finished")).at(-1).status, "cancelled");
});

test("an answer that is not streamed", async () => {
  const session = streamer(server.url).session("ai-sdk/whole");
  const streamed = aiSdk(session);
  const answers = [
    { content: [{ type: "reasoning", text: "Hm." }, { type: "tool-call", toolCallId: "call_1", toolName: "search", input: '{"q":"a"}' }], finishReason: { unified: "tool-calls" }, usage, warnings: [] },
    { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop" }, usage, warnings: [] },
  ];
  const model = wrapLanguageModel({ model: new MockLanguageModelV4({ doGenerate: async () => answers.shift() }), middleware: streamed.middleware });
  const result = await generateText({ model, tools: streamed.tools({ search: searchTool }), stopWhen: stepCountIs(2), prompt: "x" });
  await streamed.end();
  assert.equal(result.text, "done");
  const events = await eventsUntil(session, (e) => e.type === "run_finished");
  assert.deepEqual(events.filter((e) => e.type === "tool_call_result").map((e) => e.tool_result), [{ found: "a" }]);
  assert.deepEqual(events.filter((e) => e.type === "agent_response_chunk").map((e) => [e.kind, e.content]), [["reasoning", "Hm."], ["text", "done"]]);
});

test("a provider's stream that was interrupted closes the calls that no tool runs", async () => {
  const session = streamer(server.url).session("ai-sdk/interrupted");
  const streamed = aiSdk(session);
  const parts = [...calling(["call_1", "search", { q: "a" }]).slice(0, -1), finish("interrupted")];
  const model = wrapLanguageModel({ model: modelOf(parts), middleware: streamed.middleware });
  await streamText({ model, tools: streamed.tools({ search: searchTool }), stopWhen: stepCountIs(3), prompt: "x" }).consumeStream();
  const events = await eventsUntil(session, (e) => e.type === "run_finished");
  const result = events.find((e) => e.type === "tool_call_result");
  assert.deepEqual([result.status, result.synthetic, events.at(-1).status], ["cancelled", true, "cancelled"]);
  await streamed.end();
});
