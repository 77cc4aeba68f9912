// LangGraph's agent: stream modes, streamEvents.
import { createAgent, tool, humanInTheLoopMiddleware } from "langchain";
import { ChatOpenAI } from "@langchain/openai";
import { Command, MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { base, mark, person, print, prompt, description, stopping } from "../mark.mjs";

const model = new ChatOpenAI({ model: "m", apiKey: "k", streaming: true, configuration: { baseURL: base + "/v1" } });
const agent = createAgent({
  model, tools: [tool(mark, { name: "mark", description, schema: z.object({ step: z.string(), act: z.string() }) })], checkpointer: new MemorySaver(),
  middleware: person ? [humanInTheLoopMiddleware({ interruptOn: { mark: true } })] : [],
});
const config = { configurable: { thread_id: "t" }, signal: stopping.signal };
const kinds = {
  async *modes(input) { yield* await agent.stream(input, { ...config, streamMode: ["messages", "updates"] }); },
  async *events(input) { yield* agent.streamEvents(input, { ...config, version: "v2" }); },
  async *protocol(input) { yield* await agent.streamEvents(input, { ...config, version: "v3" }); },
};
try {
  for (let input = { messages: [{ role: "user", content: prompt }] }; input; ) {
    for await (const event of kinds[process.argv[2]](input)) print(event);
    const state = person && (await agent.getState?.(config) ?? await agent.graph.getState(config));
    const waits = state?.tasks?.flatMap((t) => t.interrupts) ?? [];
    input = waits.length ? new Command({ resume: { decisions: waits[0].value.actionRequests.map(() => (person === "allow" ? { type: "approve" } : { type: "reject", message: "not now" })) } }) : undefined;
  }
} catch (e) { console.error(e); }
