// Strands: the events of an agent's stream.
import * as S from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { z } from "zod";
import { base, mark, print, prompt, description, stopping } from "../mark.mjs";

const agent = new S.Agent({
  model: new OpenAIModel({ api: "chat", modelId: "m", apiKey: "k", clientConfig: { baseURL: base + "/v1" } }), printer: false,
  tools: [S.tool({ name: "mark", description, inputSchema: z.object({ step: z.string(), act: z.string() }), callback: mark })],
});
stopping.signal.addEventListener("abort", () => agent.cancel?.());
try { for await (const event of agent.stream(prompt)) print(event); } catch (e) { console.error(e); }
