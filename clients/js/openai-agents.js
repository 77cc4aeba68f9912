// The adapter of the OpenAI Agents SDK: a model whose stream is published, and tools that
// can be stopped.

import { Adapter } from "./adapter.js";
import { Cancelled } from "./errors.js";

/**
 * Returns wrappers of the model and the tools of one run of an agent.
 * @param {import("./session.js").Session} session
 * @param {import("./openai-agents.js").AdapterOptions} [options]
 */
export function openaiAgents(session, options) {
  const adapter = new Adapter(session, options);
  return {
    /** Returns a model that publishes what it streams. */
    model: (model) => ({
      supportsPromptModelSelection: model.supportsPromptModelSelection,
      getRetryAdvice: model.getRetryAdvice && ((request) => model.getRetryAdvice(request)),
      async getResponse(request) {
        const response = await model.getResponse(request);
        await adapter.publish([messageOf(response)], { format: "openai-chat" });
        return response;
      },
      async *getStreamedResponse(request) {
        const [mine, theirs] = ReadableStream.from(model.getStreamedResponse(request)).tee();
        adapter.publish(eventsOf(mine), { signal: request.signal });
        yield* theirs;
      },
    }),

    /** Returns an execute function for tool(), whose details have a signal that is aborted when the call is closed. */
    execute: (tool) => (args, context, details) =>
      adapter.run(
        details.toolCall.callId,
        args,
        (args, { signal, progress }) => tool(args, context, { ...details, signal, progress }),
        { signal: details.signal },
      ).catch((error) => {
        if (error instanceof Cancelled) return error.message; // the SDK would ask the model to try it again
        throw error;
      }),

    end: (reason) => adapter.end(reason),
  };
}

/** Yields the events of the provider in the events of the SDK. */
async function* eventsOf(stream) {
  for await (const event of stream) if (event.type === "model") yield event.event;
}

/** Returns a whole response as a message of Chat Completions. */
function messageOf({ responseId, output, usage }) {
  const message = { role: "assistant", content: "", tool_calls: [] };
  for (const item of output) {
    if (item.type === "message") message.content += item.content.map((part) => part.text ?? "").join("");
    if (item.type === "function_call") message.tool_calls.push({ id: item.callId, type: "function", function: { name: item.name, arguments: item.arguments } });
  }
  const finish_reason = message.tool_calls.length > 0 ? "tool_calls" : "stop";
  return { id: responseId, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage };
}
