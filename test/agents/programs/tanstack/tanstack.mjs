// TanStack AI: chat() as AG-UI events.
import { chat, toolDefinition } from "@tanstack/ai";
import * as openai from "@tanstack/ai-openai";
import { z } from "zod";
import { base, mark, print, prompt, description, stopping } from "../mark.mjs";

const tool = toolDefinition({ name: "mark", description, inputSchema: z.object({ step: z.string(), act: z.string() }), outputSchema: z.string() }).server(mark);
const adapter = (openai.createOpenaiChatCompletions ?? openai.createOpenaiChat)("gpt-5", "k", { baseURL: base + "/v1" });
try {
  for await (const event of chat({ adapter, messages: [{ role: "user", content: prompt }], tools: [tool], abortController: stopping })) print(event);
} catch (e) { console.error(e); }
