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
  const publish = (parts, signal) => adapter.publish(partsOf(start, parts), { format: FORMAT, signal });
  return {
    middleware: {
      specificationVersion: "v4",
      async wrapStream({ doStream, params }) {
        const { stream, ...rest } = await doStream();
        const [mine, theirs] = stream.tee();
        publish(mine, params.abortSignal);
        return { ...rest, stream: theirs };
      },
      async wrapGenerate({ doGenerate }) {
        const result = await doGenerate();
        await publish(partsOfResult(result));
        return result;
      },
    },
    tools: (tools) => Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, stoppable(adapter, tool)])),
    chat: (request, agent) => chat(adapter, request, agent),
    end: (reason) => adapter.end(reason),
  };
}

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
