// A LangGraph agent that publishes its stream to streamer, and stops its tools when
// their calls are interrupted.
//
//   node agent.js SESSION QUESTION
//
// STREAMER_NATS_URL is nats://127.0.0.1:4222 by default.

import { setTimeout } from "node:timers/promises";
import { createAgent, tool } from "langchain";

import { FakeModel } from "./model.js";
import { openSession } from "./session.js";

const [name = "demo", question = "What is a fjord?"] = process.argv.slice(2);
const session = await openSession(process.env.STREAMER_NATS_URL ?? "nats://127.0.0.1:4222", name);

const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
const search = tool(
  session.stoppable(async ({ q }) => `${q}: a long, narrow inlet`),
  { name: "search", description: "Searches an index.", schema },
);
const crawl = tool(
  session.stoppable(async ({ q }, signal) => {
    console.log("crawl runs");
    await setTimeout(10 * 60_000, undefined, { signal }); // in a real tool: fetch(url, { signal })
    return `12,000 pages about ${q}`;
  }),
  { name: "crawl", description: "Reads the web, slowly.", schema },
);

const agent = createAgent({ model: new FakeModel(), tools: [search, crawl] });
try {
  const stream = await agent.stream({ messages: [{ role: "user", content: question }] }, { streamMode: "messages", signal: session.signal });
  for await (const [message, metadata] of stream) {
    // The call was closed already, with this result.
    if (session.stopped(message.tool_call_id)) continue;
    await session.publish("delta", [message, metadata]);
  }
  await session.publish("end", { reason: "completed" });
  console.log("run completed");
} catch (error) {
  if (session.signal.aborted) {
    console.log(`run stopped: ${session.signal.reason}`);
  } else {
    await session.publish("end", { reason: "error" });
    throw error;
  }
} finally {
  await session.close();
}
