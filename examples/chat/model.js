// A model that follows a script, for a chat without a key and without a network.

const TOOLS = [
  [/weather/i, "weather", { city: "Bergen" }],
  [/mail/i, "sendMail", { to: "ann@example.com", text: "The fjord is calm." }],
  [/report/i, "writeReport", { topic: "fjords" }],
];

/** Calls the tools that the last question names, and then reports their results. */
export const scripted = {
  specificationVersion: "v4",
  provider: "script",
  modelId: "script",
  supportedUrls: {},
  doStream: async ({ prompt, abortSignal }) => ({ stream: streamOf([...answerOf(prompt)], abortSignal) }),
};

function* answerOf(prompt) {
  const question = prompt.findLastIndex(({ role }) => role === "user");
  const text = prompt[question].content.map((part) => part.text ?? "").join("");
  const results = prompt.slice(question + 1).filter(({ role }) => role === "tool").flatMap(({ content }) => content.filter((part) => part.type === "tool-result"));
  const calls = TOOLS.filter(([pattern, name]) => pattern.test(text) && !results.some(({ toolName }) => toolName === name));
  yield { type: "stream-start", warnings: [] };
  if (results.length > 0) yield* textOf(results.map(({ toolName, output }) => `${toolName}: ${output.type === "execution-denied" ? "denied" : JSON.stringify(output.value)}.`).join(" "));
  else yield* textOf(calls.length > 0 ? "Let me look." : "Ask me for the weather, a mail or a report.");
  for (const [, toolName, args] of calls) yield* callOf(toolName, args);
  yield { type: "finish", finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop" }, usage: { inputTokens: {}, outputTokens: {} } };
}

function* textOf(text) {
  yield { type: "text-start", id: "0" };
  for (const delta of text.match(/\S+\s*/g)) yield { type: "text-delta", id: "0", delta };
  yield { type: "text-end", id: "0" };
}

function* callOf(toolName, args) {
  const toolCallId = `call_${crypto.randomUUID().slice(0, 8)}`, input = JSON.stringify(args);
  yield { type: "tool-input-start", id: toolCallId, toolName };
  for (const delta of input.match(/.{1,6}/g)) yield { type: "tool-input-delta", id: toolCallId, delta };
  yield { type: "tool-input-end", id: toolCallId };
  yield { type: "tool-call", toolCallId, toolName, input };
}

/** Returns a stream of parts, with pauses as of a model. */
function streamOf(parts, signal) {
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (signal?.aborted) return controller.error(signal.reason);
      if (parts.length === 0) return controller.close();
      controller.enqueue(parts.shift());
    },
  });
}
