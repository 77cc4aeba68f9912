import assert from "node:assert/strict";
import { before, test } from "node:test";

import { createElement as el, memo, StrictMode } from "react";
import renderer from "react-test-renderer";
import { streamer } from "streamer-client";
import { useCall, useFollow, useSession } from "streamer-client/react";

import { eventsUntil } from "../model.mjs";
import { sharedServer } from "../server.mjs";

let server;
before(async (t) => (server = await sharedServer(t)));

const delta = (id, name, args, finish_reason = null) => ({ id: "m", choices: [{ index: 0, delta: { tool_calls: [{ index: id, id: `call_${id}`, function: { name, arguments: args } }] }, finish_reason }] });

/** Draws a component, and returns a function of its texts. */
function draw(t, component) {
  t.mock.method(console, "error", () => {}); // the renderer for tests announces its end
  const root = renderer.create(el(StrictMode, null, component));
  t.after(() => root.unmount());
  return () => JSON.stringify(root.toJSON());
}

/** Waits until the value of a function fulfils a condition. */
async function until(value, test) {
  for (let i = 0; !test(value()); i++) {
    assert.ok(i < 10_000, String(value()));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("the hooks draw what changes, and share a connection", async (t) => {
  let streams = 0;
  const fetch = (url, init) => {
    if (url.includes("/events")) streams++;
    return globalThis.fetch(url, init);
  };
  const session = streamer(server.url, { fetch }).session("react/calls");
  await session.follow([delta(0, "search", '{"q":'), delta(1, "read", '{"p":1')]);
  const times = { search: 0, read: 0 };
  const actions = {};
  const Call = memo(({ id }) => {
    const { call, ...can } = useCall(session, id);
    if (call) times[call.tool]++, (actions[call.tool] = can);
    return el("li", null, call && `${call.tool} ${call.status} ${call.args.text}`);
  });
  function Calls() {
    const { state, connection } = useSession(session);
    return el("ul", { title: connection }, [...state.calls.values()].map(({ call, uid }) => el(Call, { key: call, id: uid })));
  }
  const text = draw(t, el(Calls));
  await until(text, (text) => text.includes('"live"') && text.includes("search building_args") && text.includes("read building_args"));
  const before = times.read;
  await session.follow([delta(0, undefined, "1}")]);
  await until(text, (text) => text.includes('search building_args {\\"q\\":1}'));
  assert.equal(times.read, before, "a call that did not change was drawn again");
  await actions.search.stop("enough");
  await until(text, (text) => text.includes("search cancelled") && text.includes("read building_args"));
  assert.equal(streams, 2, "StrictMode begins each effect twice");
});

test("a chat shows the runs that others begin", async (t) => {
  const session = streamer(server.url).session("react/chat");
  const log = [];
  const chat = {
    status: "ready", setMessages: (messages) => log.push(messages.map(({ role, parts }) => `${role} ${parts.map((part) => part.text ?? part.state ?? "").join("")}`).join(", ")),
    resumeStream: async () => void log.push("resumed"), stop: async () => {},
  };
  function Chat() {
    useFollow(session, chat);
    return null;
  }
  draw(t, el(Chat));
  await session.say({ id: "u1", text: "Hello" });
  await session.follow([{ type: "start", messageId: "a1" }, { type: "start-step" }, { type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: "Hi." }], { format: "vercel-ui" });
  await until(() => log, (log) => log.includes("resumed"));
  await session.end();
  await eventsUntil(session, (e) => e.type === "run_finished");
  await until(() => log, (log) => log.at(-1) === "user Hello, assistant Hi.");
});
