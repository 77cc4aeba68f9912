#!/bin/bash
# Guess: what the reader of a UI message stream of the AI SDK makes of a stream of valid chunks can be sent
#   back: validateUIMessages accepts the message.
# Seen (ai 7.0.173): the chunk tool-output-denied has only the id of the call, and the reader accepts it for
#   a call without an approval. The message it makes is refused by validateUIMessages, which wants the
#   approval with its denial. An ended call whose approval was requested and never answered is refused too.
# Why it matters: a server that denies calls by a rule, or stops calls that wait for a person, leaves the
#   chat with messages that the endpoint refuses at the next question. It has to send a request (isAutomatic)
#   and its response before tool-output-denied.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ai@7.0.173 2>/dev/null
cat >test.mjs <<'JS'
import { readUIMessageStream, safeValidateUIMessages, uiMessageChunkSchema } from "ai";

const request = { type: "tool-approval-request", approvalId: "a", toolCallId: "c1" };
const denied = { type: "tool-output-denied", toolCallId: "c1" };
const cases = {
  "denied without a request": [denied],
  "denied with a request and a response": [{ ...request, isAutomatic: true }, { type: "tool-approval-response", approvalId: "a", approved: false, reason: "no" }, denied],
  "failed while it waits": [request, { type: "tool-output-error", toolCallId: "c1", errorText: "stopped" }],
};
const results = [];
for (const [name, end] of Object.entries(cases)) {
  const chunks = [{ type: "start", messageId: "m" }, { type: "start-step" }, { type: "tool-input-available", toolCallId: "c1", toolName: "pay", input: {} }, ...end, { type: "finish-step" }, { type: "finish" }];
  const schema = typeof uiMessageChunkSchema === "function" ? uiMessageChunkSchema() : uiMessageChunkSchema;
  for (const chunk of chunks) if (!(await schema.validate(chunk)).success) throw new Error(`not valid: ${chunk.type}`);
  let message;
  for await (message of readUIMessageStream({ stream: ReadableStream.from(chunks) }));
  const { success } = await safeValidateUIMessages({ messages: [message] });
  console.log(`${name}: ${message.parts.at(-1).state}, validateUIMessages ${success ? "accepts" : "refuses"} the message`);
  results.push(success);
}
process.exit(results.join() === "false,true,false" ? 0 : 1);
JS
echo "ai $(node -p 'require("./node_modules/ai/package.json").version')"
node test.mjs
