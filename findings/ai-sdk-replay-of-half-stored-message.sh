#!/bin/bash
# Guess: a chat that was stored in mid-stream and resumes a replay of the same message, from its start and with its
#   id, shows each part once, in each version of the AI SDK.
# Seen (ai 5.0.277, 6.0.326, 7.0.173, class AbstractChat): all do if the input of the stored call was complete. If
#   it was still streaming, 5 keeps the stored parts and appends all again: the text is there twice, and the call
#   twice, once as input-streaming for ever. 6 and 7 replace the message, but only if the transport says that it
#   replays (resumeStreamIsReplay, true by default in DefaultChatTransport); with a transport of one's own that
#   does not, they double it as well.
# Why it matters: whether a reload doubles an answer depends on the moment at which it was stored. An app with
#   version 5 should not give an unfinished message to a chat that resumes, and a transport of one's own for 6 or 7
#   must set a member of which version 5 knows nothing.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ai5@npm:ai@5.0.277 ai6@npm:ai@6.0.326 ai7@npm:ai@7.0.173 2>/dev/null
cat >test.mjs <<'JS'
import assert from "node:assert/strict";

class State {
  status = "ready";
  constructor(messages) { this.messages = messages; }
  pushMessage = (m) => { this.messages = [...this.messages, m]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (i, m) => { this.messages = this.messages.with(i, structuredClone(m)); };
  snapshot = (m) => structuredClone(m);
}
const chunks = [
  { type: "start", messageId: "m" }, { type: "start-step" },
  { type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: "Let me look." }, { type: "text-end", id: "0" },
  { type: "tool-input-start", toolCallId: "c", toolName: "f" }, { type: "tool-input-delta", toolCallId: "c", inputTextDelta: "{}" },
  { type: "tool-input-available", toolCallId: "c", toolName: "f", input: {} }, { type: "tool-output-available", toolCallId: "c", output: 1 },
  { type: "finish-step" }, { type: "finish" },
];
const reconnectToStream = async () => new ReadableStream({ start(c) { chunks.forEach((x) => c.enqueue(x)); c.close(); } });

const seen = {};
for (const version of ["ai5", "ai6", "ai7"]) {
  const { AbstractChat } = await import(version);
  for (const state of ["input-streaming", "input-available"]) {
    for (const resumeStreamIsReplay of [false, true]) {
      const half = [{ type: "step-start" }, { type: "text", text: "Let me look.", state: "done" }, { type: "tool-f", toolCallId: "c", state, input: {} }];
      const messages = [{ id: "u", role: "user", parts: [{ type: "text", text: "Hi" }] }, { id: "m", role: "assistant", parts: half }];
      const chat = new AbstractChat({ id: "s", state: new State(messages), transport: { resumeStreamIsReplay, reconnectToStream } });
      await chat.resumeStream();
      assert.equal(chat.messages.length, 2);
      seen[`${version} ${state} ${resumeStreamIsReplay}`] = chat.messages[1].parts.filter((p) => p.type === "text").length;
    }
  }
}
console.log(seen);
assert.deepEqual(seen, {
  "ai5 input-streaming false": 2, "ai5 input-streaming true": 2, "ai5 input-available false": 1, "ai5 input-available true": 1,
  "ai6 input-streaming false": 2, "ai6 input-streaming true": 1, "ai6 input-available false": 1, "ai6 input-available true": 1,
  "ai7 input-streaming false": 2, "ai7 input-streaming true": 1, "ai7 input-available false": 1, "ai7 input-available true": 1,
});
JS
node test.mjs
