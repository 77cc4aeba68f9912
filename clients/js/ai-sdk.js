// The adapter of the AI SDK: a middleware for the model, and tools that can be stopped.

import { Adapter } from "./adapter.js";
import { chat } from "./chat.js";
import { nonce } from "./http.js";

const FORMAT = "vercel-ui"; // which has the parts of a model's stream, and steps around them

/**
 * Returns the middleware and the tools of one run of an agent.
 * @param {import("./session.js").Session} session
 * @param {import("./ai-sdk.js").AdapterOptions} [options]
 */
export function aiSdk(session, options) {
  const adapter = new Adapter(session, options);
  const start = { type: "start", messageId: nonce() }; // it is repeated without an effect
  const publish = (parts, { prompt, abortSignal }) => adapter.publish(partsOf(start, parts), { format: FORMAT, signal: abortSignal }, deniedIn(prompt));
  const asked = new Map(); // the calls that wait for a person: whether the request of the SDK is known
  const ask = (toolCallId, request, unneeded) => {
    asked.set(toolCallId, !unneeded);
    adapter.add([{ type: "tool-approval-request", toolCallId, ...request }], { format: FORMAT }, unneeded);
  };
  return {
    middleware: {
      specificationVersion: "v4",
      async wrapStream({ doStream, params }) {
        const { stream, ...rest } = await doStream();
        const [mine, theirs] = stream.tee();
        publish(mine, params);
        return { ...rest, stream: theirs };
      },
      async wrapGenerate({ doGenerate, params }) {
        const result = await doGenerate();
        await publish(partsOfResult(result), params);
        return result;
      },
    },
    tools(tools) {
      const show = (id) => adapter.whole || ask(id, { approvalId: nonce() }, () => asked.get(id));
      return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, asking(stoppable(adapter, tool), show)]));
    },
    chat: (request, agent) => chat(adapter, request, agent),
    onChunk({ chunk }) {
      const { type, approvalId, isAutomatic, reason, signature, toolCall } = chunk;
      if (type === "tool-approval-request" && !isAutomatic) ask(toolCall.toolCallId, { approvalId, reason, signature });
    },
    end(reason = "completed") {
      const waits = asked.size > 0 && reason === "completed";
      return adapter.end(reason, waits ? [{ type: "finish", finishReason: "tool-calls" }] : undefined, { format: FORMAT });
    },
  };
}

/** Returns a tool that calls fn with the id of a call that waits for a person. */
function asking(tool, fn) {
  const { needsApproval } = tool;
  if (!needsApproval) return tool;
  const asks = async (args, options) => {
    const needed = typeof needsApproval === "function" ? await needsApproval(args, options) : needsApproval;
    if (needed && !isAnswered(options)) fn(options.toolCallId);
    return needed;
  };
  return { ...tool, needsApproval: asks };
}

/** Reports whether a call has its answer: the SDK asks again before it executes the tool. */
function isAnswered({ toolCallId, messages = [] }) {
  const last = messages.at(-1);
  if (last?.role !== "tool") return false;
  const ids = partsIn(messages, "assistant", "tool-approval-request").filter((part) => part.toolCallId === toolCallId).map((part) => part.approvalId);
  return partsIn([last], "tool", "tool-approval-response").some((part) => ids.includes(part.approvalId));
}

/** Returns the calls that a person or a rule has denied since the last answer of the model. */
function deniedIn(prompt) {
  const results = partsIn(prompt.slice(-1), "tool", "tool-result");
  return results.filter(({ output }) => output.type === "execution-denied").map(({ toolCallId, output }) => ({ id: toolCallId, reason: output.reason }));
}

const partsIn = (messages, role, type) =>
  messages.filter((message) => message.role === role && Array.isArray(message.content)).flatMap((message) => message.content.filter((part) => part.type === type));

/** Returns a tool that runs once over all processes, and whose abortSignal is aborted when its call is closed. */
function stoppable(adapter, tool) {
  if (!tool.execute) return tool;
  const execute = (args, options) =>
    adapter.run(
      options.toolCallId,
      args,
      (args, { signal, progress }) => last(tool.execute(args, { ...options, abortSignal: signal, progress })),
      { signal: options.abortSignal },
    );
  return { ...tool, execute };
}

/** Returns the output of a tool, which is the last value if it yields several. */
async function last(output) {
  if (!output?.[Symbol.asyncIterator]) return output;
  let value;
  for await (value of output);
  return value;
}

/** Yields the parts of a stream of the model as those of a step. */
async function* partsOf(start, parts) {
  yield start;
  yield { type: "start-step" };
  for await (const part of parts) {
    if (part.type === "finish") yield { type: "finish-step", finishReason: part.finishReason?.unified ?? part.finishReason, usage: part.usage };
    else if (part.type === "error") yield { type: "error", errorText: String(part.error?.message ?? part.error) };
    else if (/^(text|reasoning|tool)-/.test(part.type)) yield part;
  }
}

/** Yields the parts of a result that the model did not stream. */
function* partsOfResult({ content, finishReason, usage }) {
  for (const [id, part] of content.entries()) {
    const { type, text } = part;
    if (type !== "text" && type !== "reasoning") yield part;
    else yield* [{ type: `${type}-start`, id: String(id) }, { type: `${type}-delta`, id: String(id), delta: text }, { type: `${type}-end`, id: String(id) }];
  }
  yield { type: "finish", finishReason, usage };
}
