// Models of the AI SDK that stream given answers.

import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

export const usage = { inputTokens: { total: 3, noCache: 3 }, outputTokens: { total: 5, text: 5 } };
export const finish = (unified) => ({ type: "finish", finishReason: { unified, raw: unified }, usage });

/** Returns the parts of an answer that calls tools: [id, name, args]. */
export const calling = (...calls) => [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: "Let me look." }, { type: "text-end", id: "0" },
  ...calls.flatMap(([id, toolName, args]) => {
    const input = JSON.stringify(args);
    return [
      { type: "tool-input-start", id, toolName },
      ...input.match(/.{1,5}/g).map((delta) => ({ type: "tool-input-delta", id, delta })),
      { type: "tool-input-end", id },
      { type: "tool-call", toolCallId: id, toolName, input },
    ];
  }),
  finish("tool-calls"),
];

export const saying = (text) => [{ type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: text }, { type: "text-end", id: "0" }, finish("stop")];

/** Returns a model that streams each answer once. */
export function modelOf(...answers) {
  const doStream = answers.map((parts) => ({ stream: simulateReadableStream({ chunks: parts, initialDelayInMs: null, chunkDelayInMs: null }) }));
  return new MockLanguageModelV4({ doStream: async () => doStream.shift() });
}
