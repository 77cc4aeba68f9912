// Mastra: an agent's stream for the AI SDK, or its fullStream.
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { toAISdkStream } from "@mastra/ai-sdk";
import { z } from "zod";
import { base, mark, print, prompt, description, stopping } from "../mark.mjs";

const agent = new Agent({
  id: "a", name: "a", instructions: "Do.", model: { id: "mock/m", url: base + "/v1", apiKey: "k" },
  tools: { mark: createTool({ id: "mark", description, inputSchema: z.object({ step: z.string(), act: z.string() }), execute: (input) => mark(input.context ?? input) }) },
});
try {
  const stream = await agent.stream(prompt, { maxSteps: 8, abortSignal: stopping.signal });
  const events = process.argv[2] === "full" ? stream.fullStream : toAISdkStream(stream, { from: "agent", version: "v6" });
  for await (const event of events) print(event);
} catch (e) { console.error(e); }
