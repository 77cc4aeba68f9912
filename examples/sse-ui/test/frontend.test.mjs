// Runs the code of docs/frontend.md with the libraries it is for.
import { test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const here = new URL(".", import.meta.url);
const installed = existsSync(new URL("node_modules/vue/package.json", here));
const missing = "npm ci --prefix examples/sse-ui/test was not run";
if (!installed && process.env.STREAMER_REQUIRE_BROWSER === "1") throw new Error(missing);
const skip = installed ? false : missing;

// example returns the module that docs/frontend.md contains under a name.
async function example(name) {
  const doc = readFileSync(new URL("../../../docs/frontend.md", here), "utf8");
  const code = doc.split("<!-- test: " + name + " -->\n```js\n")[1].split("```")[0];
  assert.ok(code.split("\n").length <= 31, name + " has at most 30 lines");
  const folder = new URL("node_modules/.frontend/", here);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(name, folder), code);
  return import(new URL(name, folder));
}

// gateway serves the stream of a session in the form of the gateway; push sends an event.
async function gateway() {
  const log = [], clients = new Set(), cursors = [];
  const frame = (e) => "id: " + e.seq + "\nevent: " + e.type + "\ndata: " + JSON.stringify(e) + "\n\n";
  const server = createServer((request, response) => {
    const from = Number(request.headers["last-event-id"] ?? 0);
    cursors.push(from);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const e of log) if (e.seq > from) response.write(frame(e));
    response.write("event: stream.live\ndata: {}\n\n");
    clients.add(response);
    request.on("close", () => clients.delete(response));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: "http://127.0.0.1:" + server.address().port, cursors,
    push(event) {
      const e = { seq: log.length + 1, session: "s", timestamp: "2026-03-02T10:00:00.000Z", message_id: "m", ...event };
      log.push(e);
      for (const c of clients) c.write(frame(e));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function until(what, holds) {
  for (let i = 0; !holds(); i++) {
    assert.ok(i < 1_000, "waited for " + what);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const start = { type: "tool_call_start", call: "1.0", id: "a", tool_name: "search" };
const delta = { type: "tool_call_args_delta", call: "1.0", offset: 0, args: '{"q":1}' };

test("the composable for Vue follows the session", { skip }, async () => {
  const { effectScope, ref, watchEffect, nextTick } = await import("vue");
  const { useSession } = await example("vue.mjs");
  const g = await gateway();
  g.push(start);
  const scope = effectScope(), session = ref("s");
  let text = "", used;
  scope.run(() => {
    used = useSession(g.url, session);
    watchEffect(() => (text = [...used.state.value.calls.values()].map((c) => c.tool + " " + c.args.text).join(", ")));
  });
  await until("the call", () => text === "search " && used.connection.value.name === "live");
  g.push(delta);
  await until("the args", () => text === 'search {"q":1}');
  session.value = "t";
  await nextTick();
  await until("the other session", () => g.cursors.length === 2 && used.connection.value.name === "live");
  scope.stop();
  g.close();
});

test("the types declare what the modules export", () => {
  const folder = new URL("..", here);
  const { exports } = JSON.parse(readFileSync(new URL("package.json", folder)));
  for (const { types, default: module } of Object.values(exports)) {
    const names = (file, pattern) => [...readFileSync(new URL(file, folder), "utf8").matchAll(pattern)].map((m) => m[1]).sort();
    assert.deepEqual(names(types, /^export (?:function|const) (\w+)/gm), names(module, /^export (?:async )?(?:function|const) (\w+)/gm), module);
  }
  const imported = readdirSync(folder).filter((f) => f.endsWith(".d.ts"));
  assert.equal(imported.length, Object.keys(exports).length);
});
