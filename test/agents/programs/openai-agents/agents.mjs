// OpenAI Agents SDK: the events of a streamed run.
import OpenAI from "openai";
import { Agent, Runner, tool, OpenAIProvider, setTracingDisabled } from "@openai/agents";
import { z } from "zod";
import { base, mark, person, print, prompt, description, stopping } from "../mark.mjs";

setTracingDisabled(true);
const openAIClient = new OpenAI({ baseURL: base + "/v1", apiKey: "k" });
const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses: process.argv[2] === "responses" }), tracingDisabled: true });
const agent = new Agent({ name: "a", instructions: "Do.", model: "m", tools: [tool({ name: "mark", description, parameters: z.object({ step: z.string(), act: z.string() }), execute: mark, needsApproval: !!person })] });
try {
  for (let input = prompt; input; ) {
    const run = await runner.run(agent, input, { stream: true, signal: stopping.signal });
    for await (const event of run) print(event);
    await run.completed;
    input = undefined;
    for (const item of run.interruptions ?? []) {
      input = run.state;
      if (person === "allow") run.state.approve(item); else run.state.reject(item);
    }
  }
} catch (e) { console.error(e); }
