// ADK: the events of a runner.
import * as A from "@google/adk";
import { GoogleGenAI } from "@google/genai";
import { z } from "zod";
import { base, mark, print, prompt, description, stopping } from "../mark.mjs";

const model = new A.Gemini({ model: "gemini-2.5-pro", apiKey: "k" });
Object.defineProperty(model, "apiClient", { value: new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: base } }) });
const agent = new A.LlmAgent({
  name: "a", model, instruction: "Do.",
  tools: [new A.FunctionTool({ name: "mark", description, parameters: z.object({ step: z.string(), act: z.string() }), execute: async (i) => ({ output: await mark(i) }) })],
});
const runner = new A.InMemoryRunner({ agent, appName: "x" });
const session = await runner.sessionService.createSession({ appName: "x", userId: "u" });
try {
  const options = { userId: "u", sessionId: session.id, newMessage: { role: "user", parts: [{ text: prompt }] }, abortSignal: stopping.signal, runConfig: { streamingMode: A.StreamingMode.SSE } };
  for await (const event of runner.runAsync(options)) print(event);
} catch (e) { console.error(e); }
