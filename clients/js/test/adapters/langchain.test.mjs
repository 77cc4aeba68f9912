import assert from "node:assert/strict";
import { before, test } from "node:test";

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { Command, MemorySaver, interrupt } from "@langchain/langgraph";
import { createAgent, tool } from "langchain";
import { streamer } from "streamer-client";
import { streamerMiddleware, withoutResults } from "streamer-client/langchain";
import { z } from "zod";

import { aborted, eventsUntil } from "../model.mjs";
import { sharedServer } from "../server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

/** A model that streams the given answers, each a list of calls [id, name, args] or a text. */
class Model extends BaseChatModel {
  requests = [];
  constructor(...answers) {
    super({});
    this.answers = answers;
  }
  _llmType() { return "fake"; }
  bindTools() { return this; }
  async _generate() { throw new Error("it only streams"); }
  async *_streamResponseChunks(messages, _options, manager) {
    this.requests.push(messages);
    const answer = this.answers.shift();
    const chunks = typeof answer === "string" ? [{ content: answer }] : [
      { content: "Let me look." },
      ...answer.flatMap(([id, name, args], index) => [
        { content: "", tool_call_chunks: [{ index, id, name, args: "", type: "tool_call_chunk" }] },
        ...JSON.stringify(args).match(/.{1,5}/g).map((text) => ({ content: "", tool_call_chunks: [{ index, args: text, type: "tool_call_chunk" }] })),
      ]),
    ];
    for (const fields of [...chunks, { content: "", response_metadata: { finish_reason: "stop" } }]) {
      const chunk = new ChatGenerationChunk({ text: fields.content, message: new AIMessageChunk(fields) });
      yield chunk;
      await manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const schema = z.object({ q: z.string() });
const search = tool(async ({ q }) => ({ found: q }), { name: "search", description: "Searches.", schema });

/** Runs an agent, publishes its stream, and returns its messages. */
async function run(session, agent, input, config) {
  const stream = await agent.stream(input, { ...config, streamMode: ["messages", "values"] });
  const [mine, theirs] = stream.tee();
  const chunks = (async function* () { for await (const [mode, chunk] of mine) if (mode === "messages") yield chunk; })();
  const following = session.follow(withoutResults(chunks), { format: "langchain" });
  let messages;
  for await (const [mode, state] of theirs) if (mode === "values") messages = state.messages;
  await following;
  return messages;
}

const human = { messages: [{ role: "user", content: "Find it." }] };

test("a stop reaches the tool, and the model goes on", async () => {
  const session = streamer(server.url).session("langchain/stop");
  let stopped;
  const crawl = tool(async (_, { signal, configurable }) => {
    await configurable.streamer.progress("crawls", 10);
    await aborted(signal);
    stopped = signal.reason.name;
    throw signal.reason;
  }, { name: "crawl", description: "Crawls.", schema });
  const model = new Model([["call_1", "search", { q: "a" }], ["call_2", "crawl", { q: "b" }]], "done");
  const agent = createAgent({ model, tools: [search, crawl], middleware: [streamerMiddleware(session)] });
  const running = run(session, agent, human);
  const crawling = (await eventsUntil(session, (e) => e.message === "crawls")).at(-1);
  await session.interrupt({ call: crawling.call });
  const messages = await running;
  await session.end();
  assert.equal(stopped, "Cancelled");
  assert.deepEqual(messages.map((m) => m.getType()), ["human", "ai", "tool", "tool", "ai"]);
  assert.equal(messages[2].content, '{"found":"a"}');
  assert.match(messages[3].content, /^Tool call crawl with id call_2 was cancelled/);
  assert.equal(messages[3].status, "error");
  const events = await eventsUntil(session, (e) => e.type === "run_finished");
  const of = (type) => events.filter((e) => e.type === type);
  assert.deepEqual(of("tool_call_result").map((e) => [e.tool_name, e.status]).sort(), [["crawl", "cancelled"], ["search", "completed"]]);
  assert.deepEqual(of("tool_call_late_result").map((e) => e.tool_state), ["stopped"]);
  assert.deepEqual(of("rejected"), []);
});

test("a tool that fails is a result with an error", async () => {
  const session = streamer(server.url).session("langchain/fails");
  const broken = tool(async () => new ToolMessage({ content: "no fjord", tool_call_id: "call_1", status: "error" }), { name: "search", description: "Searches.", schema });
  const agent = createAgent({ model: new Model([["call_1", "search", { q: "a" }]], "done"), tools: [broken], middleware: [streamerMiddleware(session)] });
  const messages = await run(session, agent, human);
  assert.deepEqual([messages[2].content, messages[2].status], ["no fjord", "error"]);
  const result = (await eventsUntil(session, (e) => e.type === "tool_call_result")).at(-1);
  assert.deepEqual([result.status, result.tool_result], ["error", "no fjord"]);
});

test("a tool that interrupts the graph is run again after the answer", async () => {
  const session = streamer(server.url).session("langchain/interrupts");
  const ask = tool(async () => `the person said ${interrupt("which fjord?")}`, { name: "ask", description: "Asks.", schema });
  const agent = createAgent({ model: new Model([["call_1", "ask", { q: "a" }]], "done"), tools: [ask], middleware: [streamerMiddleware(session)], checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "1" } };
  await run(session, agent, human, config);
  assert.deepEqual((await eventsUntil(session, (e) => e.message?.startsWith("suspended"))).filter((e) => e.type === "tool_call_result"), []);
  const messages = await run(session, agent, new Command({ resume: "Geiranger" }), config);
  assert.equal(messages[2].content, "the person said Geiranger");
  assert.equal((await eventsUntil(session, (e) => e.type === "tool_call_result")).at(-1).tool_result, "the person said Geiranger");
});

test("the history is repaired before the model, and others stay as they are", async () => {
  const session = streamer(server.url).session("langchain/repair");
  const model = new Model("done");
  const agent = createAgent({ model, tools: [search], middleware: [streamerMiddleware(session)] });
  const call = new AIMessageChunk({ content: "", tool_calls: [{ id: "call_1", name: "search", args: { q: "a" } }] });
  await run(session, agent, { messages: [new HumanMessage("Find it."), call, new HumanMessage("And?")] });
  const [request] = model.requests;
  assert.deepEqual(request.map((m) => m.getType()), ["human", "ai", "tool", "human"]);
  assert.ok(AIMessageChunk.isInstance(request[1]), "an unchanged message is the same object");
  assert.match(request[2].content, /no result was recorded/);
});
