import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { before, test } from "node:test";

import { streamer } from "../streamer.js";
import { calling, eventsUntil, sseOf } from "./model.mjs";
import { sharedServer } from "./server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

/** Starts a server that streams a model at /model, and never answers at /page. */
async function startWeb(t) {
  const left = { page: undefined };
  const web = createServer((request, response) => {
    if (request.url === "/model") response.end(sseOf(calling(["call_1", "download", { url: `http://127.0.0.1:${web.address().port}/page` }])));
    else left.page = once(response, "close");
  });
  await new Promise((resolve) => web.listen(0, "127.0.0.1", resolve));
  t.after(() => web.closeAllConnections() ?? web.close());
  return { left, url: `http://127.0.0.1:${web.address().port}` };
}

test("the example of the README", async (t) => {
  const { left, url } = await startWeb(t);
  const [, example] = readFileSync(new URL("../README.md", import.meta.url), "utf8").match(/```js\n([^]*?)```/);
  const program = example.replace('"streamer-client"', `"${new URL("../streamer.js", import.meta.url)}"`);
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { ...process.env, STREAMER_URL: server.url, MODEL_URL: `${url}/model` }, stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const printed = once(child.stdout, "data");
  const session = streamer(server.url).session("trip-7");
  await eventsUntil(session, (e) => e.message === "downloads");
  await session.interrupt({ reason: "the user pressed stop" });
  assert.match(String(await printed), /^Cancelled: Tool call download with id call_1 was cancelled/);
  await left.page; // the connection of the tool
  const late = (await eventsUntil(session, (e) => e.type === "tool_call_late_result")).at(-1);
  assert.equal(late.tool_state, "stopped");
});
