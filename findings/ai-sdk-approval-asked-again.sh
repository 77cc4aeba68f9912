#!/bin/bash
# Guess: the function needsApproval of a tool of the AI SDK is called once for each call of the tool,
#   when the model makes it. So a program may show the question to a person from within it.
# Seen (ai 7.0.173): it is called once more when the next request has the approval, before the tool is
#   executed, and what it returns then (true) is no reason to ask again. After a denial it is not called.
# Why it matters: code that publishes, counts or notifies in needsApproval asks the person twice for one
#   call. The second time can be recognised by the messages in its options: the last one answers the call.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ai@7.0.173 zod@4.6.7 2>/dev/null
cat >test.mjs <<'JS'
import { convertToModelMessages, readUIMessageStream, simulateReadableStream, streamText, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
const finish = (unified) => ({ type: "finish", finishReason: { unified, raw: unified }, usage });
const calls = [{ type: "tool-call", toolCallId: "c1", toolName: "pay", input: '{"amount":5}' }, finish("tool-calls")];
const text = [{ type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: "ok" }, { type: "text-end", id: "0" }, finish("stop")];
const seen = [];
let step, paid = 0;
const pay = tool({
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: (_, { messages }) => { seen.push(`${step}: the last message is of the ${messages.at(-1).role}`); return true; },
  execute: async () => { paid++; return "paid"; },
});
async function run(name, messages, chunks) {
  step = name;
  const model = new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) }) });
  const result = streamText({ model, tools: { pay }, messages: await convertToModelMessages(messages) });
  let message;
  for await (message of readUIMessageStream({ stream: result.toUIMessageStream() }));
  return message;
}
const question = { id: "u", role: "user", parts: [{ type: "text", text: "Pay." }] };
const asked = await run("first request", [question], calls);
for (const approved of [false, true]) {
  const answered = structuredClone(asked);
  const part = answered.parts.find((p) => p.state === "approval-requested");
  Object.assign(part, { state: "approval-responded", approval: { ...part.approval, approved } });
  await run(approved ? "approved" : "denied", [question, answered], text);
}
console.log(seen.join("\n"), `\nthe tool ran ${paid} time(s)`);
process.exit(seen.join() === "first request: the last message is of the user,approved: the last message is of the tool" && paid === 1 ? 0 : 1);
JS
echo "ai $(node -p 'require("./node_modules/ai/package.json").version')"
node test.mjs
