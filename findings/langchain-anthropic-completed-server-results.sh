#!/usr/bin/env bash
# Guess: a history in which Anthropic's web_fetch and code_execution completed is sent by
# @langchain/anthropic as it was received, as one with web_search is.
# Seen with @langchain/anthropic 1.5.11: the blocks web_fetch_tool_result,
# code_execution_tool_result and advisor_tool_result are left out of the request, without an
# error or a warning. The server_tool_use before them is sent alone, so a finished call looks
# like an interrupted one, and its output is lost to the model. The results of web_search,
# bash and text editor code execution and tool search are sent; both blocks of mcp are left out.
# Why it matters: who replays server tools through LangChain cannot repair this in the
# history: the result is there, and is not sent.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/anthropic@1.5.11 @langchain/core@1.4.0 >/dev/null
cat > run.mjs <<'JS'
import { readFileSync } from "node:fs";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatAnthropic } from "@langchain/anthropic";

let sent;
const fetch = async (_, request) => {
  sent = JSON.parse(request.body);
  return new Response("{}", { status: 400 });
};
const model = new ChatAnthropic({ apiKey: "none", model: "claude-sonnet-4-5", maxRetries: 0, clientOptions: { fetch } });
const results = {
  web_search: ["web_search_tool_result", [{ type: "web_search_result", url: "https://example.com", title: "t", encrypted_content: "x" }]],
  web_fetch: ["web_fetch_tool_result", { type: "web_fetch_result", url: "https://example.com", content: { type: "document", source: { type: "text", media_type: "text/plain", data: "d" } } }],
  code_execution: ["code_execution_tool_result", { type: "code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] }],
  bash_code_execution: ["bash_code_execution_tool_result", { type: "bash_code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] }],
  advisor: ["advisor_tool_result", { type: "advisor_result", text: "a" }],
};
console.log("@langchain/anthropic", JSON.parse(readFileSync("node_modules/@langchain/anthropic/package.json")).version);
const lost = [];
for (const [name, [type, content]] of Object.entries(results)) {
  const blocks = [
    { type: "server_tool_use", id: "srvtoolu_1", name, input: {} },
    { type, tool_use_id: "srvtoolu_1", content },
    { type: "text", text: "done" },
  ];
  await model.invoke([new HumanMessage("x"), new AIMessage({ content: blocks }), new HumanMessage("y")]).catch(() => {});
  const types = sent.messages[1].content.map((b) => b.type);
  console.log(name.padEnd(20), types.join(" "));
  if (!types.includes(type)) lost.push(name);
}
if (lost.join() !== "web_fetch,code_execution,advisor") {
  console.error("changed: without a result are now", lost.join() || "none");
  process.exit(1);
}
JS
node run.mjs
