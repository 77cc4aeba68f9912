#!/usr/bin/env bash
# Guess: a tool part with providerExecuted and the state output-error becomes the error result
# of its server tool in the request to Anthropic, whatever its errorText is.
# Seen: with ai 6 and 7 (@ai-sdk/anthropic 3.0.140, 4.0.105) that holds for web_search. For
# code_execution a plain errorText becomes a bash_code_execution_tool_result with the error code
# "unknown", although the call is one of code_execution; only JSON with the type
# code_execution_tool_result_error gives the result of its own kind. With ai 5
# (@ai-sdk/anthropic 2.0.112) no error result is sent at all: the server_tool_use stands alone.
# Why it matters: to close an interrupted server tool in a stored UI message, the text of the
# error decides whether the next request is valid.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > run.mjs <<'JS'
import * as ai from "ai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { readFileSync } from "node:fs";

globalThis.AI_SDK_LOG_WARNINGS = false;
let sent;
const fetch = async (_, request) => {
  sent = JSON.parse(request.body);
  return new Response("{}", { status: 400, headers: { "content-type": "application/json" } });
};
const anthropic = createAnthropic({ apiKey: "none", fetch });
const tools = { web_search: anthropic.tools.webSearch_20250305({}), code_execution: anthropic.tools.codeExecution_20250825({}) };
const json = JSON.stringify({ type: "code_execution_tool_result_error", errorCode: "unavailable" });
const seen = [];
for (const [name, input, errorText] of [
  ["web_search", { query: "q" }, "it was interrupted"],
  ["code_execution", { code: "1" }, "it was interrupted"],
  ["code_execution", { code: "1" }, json],
]) {
  const part = { type: "tool-" + name, toolCallId: "srvtoolu_1", state: "output-error", input, errorText, providerExecuted: true };
  const messages = await ai.convertToModelMessages([
    { id: "u1", role: "user", parts: [{ type: "text", text: "x" }] },
    { id: "a1", role: "assistant", parts: [{ type: "step-start" }, part] },
    { id: "u2", role: "user", parts: [{ type: "text", text: "y" }] },
  ]);
  await ai.generateText({ model: anthropic("claude-sonnet-4-5"), messages, tools, maxRetries: 0 }).catch(() => {});
  const blocks = sent.messages[1].content.slice(1).map((b) => b.type + ":" + b.content.error_code);
  seen.push(name + "=" + (blocks.join() || "none"));
}
const version = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
console.log("ai", version("ai"), "@ai-sdk/anthropic", version("@ai-sdk/anthropic"), seen.join(" "));
if (seen.join(" ") !== process.argv[2]) {
  console.error("changed: was", process.argv[2]);
  process.exit(1);
}
JS
sends="web_search=web_search_tool_result:unavailable code_execution=bash_code_execution_tool_result:unknown code_execution=code_execution_tool_result:unavailable"
try() {
  rm -rf node_modules package*.json
  echo '{"type":"module"}' > package.json
  npm install --silent --no-audit --no-fund --ignore-scripts "ai@$1" "@ai-sdk/anthropic@$2" zod@4.6.7 >/dev/null 2>&1
  node run.mjs "$3"
}
try 5.0.277 2.0.112 "web_search=none code_execution=none code_execution=none"
try 6.0.326 3.0.140 "$sends"
try 7.0.173 4.0.105 "$sends"
