// AI SDK: streamText as a UI message stream.
import { streamText, tool, isStepCount, convertToModelMessages, readUIMessageStream } from "ai";
import { createOpenAI } from "@ai-sdk/openai";
import { z } from "zod";
import { base, mark, person, print, prompt, description, stopping } from "../mark.mjs";

const model = createOpenAI({ baseURL: base + "/v1", apiKey: "k" })[process.argv[2]]("m");
const tools = { mark: tool({ description, inputSchema: z.object({ step: z.string(), act: z.string() }), execute: mark, ...(person ? { needsApproval: true } : {}) }) };
const run = (messages) => streamText({ model, messages, tools, stopWhen: isStepCount(8), abortSignal: stopping.signal, onError() {} });

let message, messages = [{ id: "u", role: "user", parts: [{ type: "text", text: prompt }] }];
for (let again = true; again; ) {
  const [mine, theirs] = run(await convertToModelMessages(messages)).toUIMessageStream({ originalMessages: messages }).tee();
  const reading = (async () => { for await (message of readUIMessageStream({ message, stream: theirs })); })().catch(() => {});
  for await (const chunk of mine) print(chunk);
  await reading;
  again = false;
  for (const part of message?.parts ?? []) if (part.state === "approval-requested") {
    again = true;
    part.approval = { ...part.approval, approved: person === "allow", reason: "not now" };
    part.state = "approval-responded";
  }
  messages = [messages[0], message];
}
