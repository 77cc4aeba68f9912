// A LangGraph agent that publishes its stream to streamer, stops its tools when their
// calls are interrupted, and goes on with the answer of a person.
//
//   node agent.js SESSION QUESTION
//
// STREAMER_URL is http://127.0.0.1:8080 by default.

import { Command, MemorySaver, interrupt } from "@langchain/langgraph";
import { createAgent, tool } from "langchain";
import { setTimeout } from "node:timers/promises";
import { Cancelled, streamer } from "streamer-client";
import { streamerMiddleware, withoutResults } from "streamer-client/langchain";

import { FakeModel } from "./model.js";

const [name = "demo", question = "What is a fjord?"] = process.argv.slice(2);
const session = streamer(process.env.STREAMER_URL).session(name);

const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
const search = tool(async ({ q }) => `${q}: a long, narrow inlet`, { name: "search", description: "Searches an index.", schema });
const crawl = tool(
  async ({ q }, { signal }) => {
    console.log("crawl runs");
    signal.addEventListener("abort", () => console.log("crawl stopped"));
    await setTimeout(10 * 60_000, undefined, { signal }); // in a real tool: fetch(url, { signal })
    return `12,000 pages about ${q}`;
  },
  { name: "crawl", description: "Reads the web, slowly.", schema },
);
const publish = tool(
  async ({ q }, { configurable, toolCall }) => {
    const { decision, value } = interrupt({ tool_call_id: toolCall.id, call: configurable.streamer.call, ask: "Publish it?" });
    return decision === "reply" ? `not published: ${value}` : `published ${q}`; // a call that is denied does not run again
  },
  { name: "publish", description: "Publishes a text, after a person agreed.", schema },
);

const agent = createAgent({
  model: new FakeModel(), tools: [search, crawl, publish], checkpointer: new MemorySaver(), middleware: [streamerMiddleware(session)],
});
try {
  await session.untilStopped(run);
  await session.end();
  console.log("run completed");
} catch (error) {
  if (!(error instanceof Cancelled)) throw error;
  console.log(`run stopped: ${error.message}`);
}

/** Runs the agent to its end, with an answer for each call that waits. */
async function run(signal) {
  const config = { configurable: { thread_id: name } };
  let input = { messages: [{ role: "user", content: question }] };
  while (input) {
    const stream = await agent.stream(input, { ...config, signal, streamMode: ["messages", "updates"] });
    const { error } = await session.follow(withoutResults(stream), { format: "langchain", signal });
    signal.throwIfAborted();
    if (error) throw error;
    input = await answers(await agent.graph.getState(config), signal);
  }
}

/** Returns the command that resumes the graph with the answers of people, undefined if it has ended. */
async function answers({ tasks }, signal) {
  const waits = tasks.flatMap((task) => task.interrupts);
  if (waits.length === 0) return;
  console.log("waits for a person");
  const resume = waits.map(async ({ id, value }) => [id, await session.waitForAnswer(value.call, { signal })]);
  return new Command({ resume: Object.fromEntries(await Promise.all(resume)) });
}
