#!/bin/bash
# Guess: a call that is cut off in its input can be ended in a UI message stream with tool-output-error,
#   and every reader shows it as failed, also if the stream then ends with abort.
# Seen (assistant-stream 0.3.57, ai 7.0.173): the reader of ai shows the call as failed either way. The
#   decoder of assistant-stream holds a call until its input is whole, and drops what it holds at abort:
#   with tool-output-error the call is gone, with its input and its error. With tool-input-error it stays.
# Why it matters: after a stop a frontend with assistant-stream shows no trace of a call that its user saw
#   begin elsewhere. A server has to send tool-input-error for calls without their whole input.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ai@7.0.173 assistant-stream@0.3.57 2>/dev/null
cat >test.mjs <<'JS'
import { AssistantMessageAccumulator, UIMessageStreamDecoder } from "assistant-stream";
import { readUIMessageStream } from "ai";

const chunks = (end) => [
  { type: "start", messageId: "m" }, { type: "start-step" },
  { type: "tool-input-start", toolCallId: "c1", toolName: "search" },
  { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: '{"q":"fjo' },
  end, { type: "finish-step" }, { type: "abort" },
];
const ends = [
  { type: "tool-output-error", toolCallId: "c1", errorText: "stopped" },
  { type: "tool-input-error", toolCallId: "c1", toolName: "search", input: { q: "fjo" }, errorText: "stopped" },
];
const shown = [];
for (const end of ends) {
  let ai, other;
  for await (ai of readUIMessageStream({ stream: ReadableStream.from(chunks(end)) }));
  const sse = chunks(end).map((c) => `data: ${JSON.stringify(c)}\n\n`).join("") + "data: [DONE]\n\n";
  const bytes = ReadableStream.from([new TextEncoder().encode(sse)]);
  for await (other of bytes.pipeThrough(new UIMessageStreamDecoder()).pipeThrough(new AssistantMessageAccumulator()));
  const of = [ai.parts, other.parts].map((parts) => parts.filter((p) => p.toolCallId).length);
  console.log(`${end.type}: ai shows ${of[0]} call(s), assistant-stream ${of[1]}`);
  shown.push(of.join());
}
process.exit(shown.join(" ") === "1,0 1,1" ? 0 : 1);
JS
echo "assistant-stream $(node -p 'require("./node_modules/assistant-stream/package.json").version')"
node test.mjs
