// Tests of the middleware in real agents. STREAMER_URL is a running streamer.

import assert from "node:assert/strict";
import test from "node:test";

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { streamer } from "streamer-client";
import { repairMessages, streamerMiddleware } from "streamer-client/langchain";

import { repairHistory } from "./repair.js";

const server = streamer(process.env.STREAMER_URL);
const repairRequests = () => streamerMiddleware(server.session("requests"), { run: false });

/** A model that refuses what a provider refuses, and records its requests. */
class StrictModel extends BaseChatModel {
  sent = [];

  constructor() {
    super({});
  }
  _llmType() {
    return "strict";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    validate(messages);
    this.sent.push(messages);
    const asked = messages.at(-1).text;
    const message = asked.startsWith("search")
      ? new AIMessage({ content: "", tool_calls: [{ id: `call_${this.sent.length}`, name: "search", args: {}, type: "tool_call" }] })
      : new AIMessage(`Answer to: ${asked}`);
    return { generations: [{ text: message.text, message }] };
  }
}

/** Throws unless each call has one result, directly after its message. */
function validate(messages) {
  let open = [];
  for (const m of messages) {
    if (ToolMessage.isInstance(m)) {
      if (!open.includes(m.tool_call_id)) throw new Error(`400: no call ${m.tool_call_id} for this result`);
      open = open.filter((id) => id !== m.tool_call_id);
      continue;
    }
    if (open.length > 0) throw new Error(`400: no result for ${open}`);
    if (AIMessage.isInstance(m)) open = m.tool_calls.map((c) => c.id);
  }
  if (open.length > 0) throw new Error(`400: no result for ${open}`);
}

/** An agent that is stopped while its tool runs. */
async function interrupted(...middleware) {
  const model = new StrictModel();
  const stop = new AbortController();
  const search = tool(
    () => {
      if (stop.signal.aborted) return "found";
      stop.abort();
      return new Promise(() => {}); // and never returns
    },
    { name: "search", description: "Searches.", schema: { type: "object", properties: {} } },
  );
  const agent = createAgent({ model, tools: [search], middleware, checkpointer: new MemorySaver() });
  const id = crypto.randomUUID();
  const thread = { configurable: { thread_id: id } };
  await assert.rejects(agent.invoke({ messages: [new HumanMessage("search it")] }, { ...thread, signal: stop.signal }));
  return {
    id,
    sent: model.sent,
    say: (text) => agent.invoke({ messages: [new HumanMessage(text)] }, thread),
    stored: async () => (await agent.graph.getState(thread)).values.messages,
  };
}

const kinds = (messages) => messages.map((m) => m.getType()).join(" ");

test("without a repair the thread is lost", async () => {
  const agent = await interrupted();
  assert.equal(kinds(await agent.stored()), "human ai");
  await assert.rejects(agent.say("never mind"), /400: no result for call_1/);
  await assert.rejects(agent.say("hello?"), /400: no result for call_1/);
});

test("requests are repaired, the stored history is not", async () => {
  const agent = await interrupted(repairRequests());
  await agent.say("never mind");
  await agent.say("go on");
  const [, second, third] = agent.sent;
  assert.equal(kinds(second), "human ai tool human");
  assert.equal(second[2].tool_call_id, "call_1");
  assert.equal(second[2].status, "error");
  assert.match(second[2].text, /was interrupted: no result was recorded/);
  assert.equal(kinds(await agent.stored()), "human ai human ai human ai");
  const content = (messages) => messages.map((m) => [m.getType(), m.content]);
  assert.deepEqual(content(third.slice(0, second.length)), content(second));
});

test("the stored history is repaired and keeps its ids", async () => {
  const agent = await interrupted(repairHistory(server));
  const before = await agent.stored();
  await agent.say("never mind");
  const after = await agent.stored();
  assert.equal(kinds(after), "human ai tool human ai");
  assert.deepEqual(after.slice(0, 2).map((m) => m.id), before.map((m) => m.id));
  await agent.say("go on");
  assert.deepEqual((await agent.stored()).slice(0, 5).map((m) => m.id), after.map((m) => m.id));
});

test("both together, in an agent that continues to call tools", async () => {
  const agent = await interrupted(repairHistory(server), repairRequests());
  assert.equal((await agent.say("never mind")).messages.at(-1).text, "Answer to: never mind");
  assert.equal((await agent.say("search again")).messages.at(-1).text, "Answer to: found");
  assert.equal(kinds(await agent.stored()), "human ai tool human ai human ai tool ai");
});

test("a late result becomes a note, and other messages are the same objects", async () => {
  const history = [
    new HumanMessage("search it"),
    new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "search", args: {}, type: "tool_call" }] }),
    new HumanMessage("well?"),
    new AIMessage("It still runs."),
    new ToolMessage({ content: "found", tool_call_id: "call_1", name: "search" }),
    new HumanMessage("go on"),
  ];
  const messages = await repairMessages(server.session("notes"), history, { session: null, options: { late: "note" } });
  validate(messages);
  assert.equal(kinds(messages), "human ai tool human ai human human");
  assert.match(messages[5].text, /Late result of tool call search.*\nfound/);
  for (const i of [0, 1, 2, 3, 5]) assert.ok(messages.includes(history[i]), `message ${i} was copied`);
});

/** Publishes a call with a result to a session, and waits for the event of the result. */
async function logged(session) {
  const call = { index: 0, id: "call_1", function: { name: "search", arguments: "{}" } };
  await session.follow([{ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] }]);
  for await (const event of session.events({ types: ["tool_call_args_complete", "tool_call_result"] })) {
    if (event.type === "tool_call_result") return;
    await session.result(event, "found after all");
  }
}

test("the real result comes from the thread's event log", { timeout: 30_000 }, async () => {
  const agent = await interrupted(repairHistory(server));
  await logged(server.session(agent.id));
  await agent.say("never mind");
  const [, , result] = await agent.stored();
  assert.equal(result.text, "found after all");
  assert.notEqual(result.status, "error");
});

test("a history that cannot be repaired stays as it is, with the reason", async () => {
  const history = [new HumanMessage("x")];
  const reasons = [];
  const onUnrepaired = (reason) => reasons.push(reason);
  assert.equal(await repairMessages(server.session("refused"), history, { options: { late: "soon" }, onUnrepaired }), history);
  assert.equal(await repairMessages(streamer("http://127.0.0.1:1").session("down"), history, { onUnrepaired }), history);
  assert.match(reasons.join("\n"), /400.*soon[^]*cannot be reached/);
});
