#!/bin/bash
# Guess: Claude Code's stream-json states in tool_result_meta that a call which was interrupted while its
#   command ran was interrupted: its non_execution_kind has the values "interrupted" and "cancelled".
# Seen (@anthropic-ai/claude-code 2.1.332): non_execution_kind is "user-rejected", and the result text begins
#   with the words of a refusal ("The tool use was rejected"), although nobody was asked and the command ran.
#   A correction further on in the same text says that the call was stopped while running. A call that a person
#   did refuse has "permission-rule" and a permission_decision "reject" instead, which this one has not.
# Why it matters: a reader that takes the kind or the first words for a refusal reports "denied, did not run"
#   for a command that has had side effects.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @anthropic-ai/claude-code@2.1.332 2>/dev/null
mkdir home work
cat >test.mjs <<'JS'
import http from "node:http";
import fs from "node:fs";
import { spawn } from "node:child_process";

const began = process.cwd() + "/began";
const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (d) => (body += d)).on("end", () => {
    if (!/\/messages/.test(request.url) || /count_tokens/.test(request.url)) return response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens":1}');
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (e) => response.write(`event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`);
    const main = body.includes('"Bash"'), input = JSON.stringify({ command: `touch ${began}; sleep 30`, description: "wait" });
    send({ type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } });
    send({ type: "content_block_start", index: 0, content_block: main ? { type: "tool_use", id: "toolu_1", name: "Bash", input: {} } : { type: "text", text: "" } });
    send({ type: "content_block_delta", index: 0, delta: main ? { type: "input_json_delta", partial_json: input } : { type: "text_delta", text: "title" } });
    send({ type: "content_block_stop", index: 0 });
    send({ type: "message_delta", delta: { stop_reason: main ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } });
    send({ type: "message_stop" });
    response.end();
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const home = process.cwd() + "/home";
const agent = spawn("node_modules/@anthropic-ai/claude-code-linux-x64/claude", ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json", "--permission-prompt-tool", "stdio", "--allowedTools", "Bash"], {
  stdio: ["pipe", "pipe", "ignore"],
  env: { PATH: process.env.PATH, HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`, ANTHROPIC_API_KEY: "k", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1", IS_SANDBOX: "1" },
});
const say = (m) => agent.stdin.write(JSON.stringify(m) + "\n");
say({ type: "user", message: { role: "user", content: "Go." } });
const watch = setInterval(() => { if (fs.existsSync(began)) { clearInterval(watch); setTimeout(() => say({ type: "control_request", request_id: "r", request: { subtype: "interrupt" } }), 1000); } }, 100);
let rest = "", result;
agent.stdout.on("data", (d) => {
  const lines = (rest + d).split("\n");
  rest = lines.pop();
  for (const line of lines.map((l) => JSON.parse(l))) {
    if (line.type === "user" && line.tool_result_meta) result = line;
    if (line.type === "result") agent.stdin.end();
  }
});
await new Promise((done) => agent.on("exit", done));
server.close();
const text = result?.message.content[0].content ?? "";
console.log("command began:", fs.existsSync(began), "\ntool_result_meta:", JSON.stringify(result?.tool_result_meta), "\ntext:", text.slice(0, 80), "…", text.slice(text.indexOf("Correction")).slice(0, 100));
const meta = result?.tool_result_meta[0];
process.exit(fs.existsSync(began) && meta?.non_execution_kind === "user-rejected" && !meta.permission_decision && /^The user doesn't want to proceed/.test(text) && /stopped while running/.test(text) ? 0 : 1);
JS
node_modules/@anthropic-ai/claude-code-linux-x64/claude --version
node test.mjs
