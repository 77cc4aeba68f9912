// The adapter of LangChain and LangGraph: a middleware that runs tools so that they can be
// stopped, and repairs the history before each request to the model.

import { ToolMessage, mapChatMessagesToStoredMessages, mapStoredMessagesToChatMessages } from "@langchain/core/messages";
import { createMiddleware } from "langchain";

import { Cancelled, Suspended, ToolFailed } from "./errors.js";

/**
 * Returns a middleware for createAgent.
 * @param {import("./session.js").Session} session
 * @param {import("./langchain.js").MiddlewareOptions} [options]
 */
export function streamerMiddleware(session, { repair = {}, run } = {}) {
  return createMiddleware({
    name: "Streamer",
    ...(run !== false && { wrapToolCall: (request, handler) => runTool(session, request, handler, run) }),
    ...(repair && {
      wrapModelCall: async (request, handler) => {
        const options = { session: null, ...repair, options: { late: "note", ...repair.options } };
        return handler({ ...request, messages: await repairMessages(session, request.messages, options) });
      },
    }),
  });
}

/**
 * Yields the chunks of a stream in the mode "messages" without the results, which the
 * middleware posts. Of the modes ["messages", "updates"] it also yields the interrupts.
 */
export async function* withoutResults(stream) {
  for await (const chunk of stream) {
    const [mode, data] = chunk.slice(-2); // a namespace may be before them
    const message = mode === "messages" ? data[0] : mode;
    if (mode === "updates" ? data.__interrupt__ : message.getType?.() !== "tool") yield chunk;
  }
}

async function runTool(session, request, handler, options) {
  const { toolCall: { id, name, args }, runtime } = request;
  let output;
  const execute = async (args, context) => {
    output = await handler({ ...request, toolCall: { ...request.toolCall, args }, tool: withContext(request.tool, context) }).catch(suspend);
    const { content = null, status } = messageOf(output, id);
    if (status === "error") throw new ToolFailed(typeof content === "string" ? content : JSON.stringify(content));
    return content;
  };
  const answer = (content, status) => new ToolMessage({ content, status, name, tool_call_id: id });
  try {
    const content = await session.run({ id, tool_args: args }, execute, { signal: runtime?.signal, ...options });
    return output ?? answer(content, "success");
  } catch (error) {
    if (error instanceof Suspended) throw error.cause;
    if (error instanceof Cancelled) return answer(error.message, "error");
    if (error instanceof ToolFailed) return output ?? answer(error.message, "error");
    throw error;
  }
}

/** Throws the error of a tool. An interrupt of the graph runs the tool again after its answer. */
function suspend(error) {
  if (/^(Graph|Node)Interrupt$/.test(error?.name)) throw new Suspended("the graph is interrupted", { cause: error });
  throw error;
}

/**
 * Returns a tool whose config has a signal, which is aborted when the call is closed, and in
 * configurable.streamer the name of the call and its progress.
 */
function withContext(tool, { signal, call, progress }) {
  if (!tool) return tool;
  const invoke = (request, config) =>
    tool.invoke(request, {
      ...config,
      signal: config.signal ? AbortSignal.any([config.signal, signal]) : signal,
      configurable: { ...config.configurable, streamer: { call, progress } },
    });
  return Object.assign(Object.create(tool), { invoke });
}

/** Returns the ToolMessage of a call in the output of its tool, which may be a Command. */
function messageOf(output, id) {
  if (ToolMessage.isInstance(output)) return output;
  const messages = output?.update?.messages ?? [];
  return [messages].flat().find((message) => message.tool_call_id === id) ?? {};
}

/** Returns a history in which each call has a result. Messages that need no change stay the same objects. */
export async function repairMessages(session, messages, options) {
  const stored = mapChatMessagesToStoredMessages(messages);
  const result = await session.repair(stored, { shape: "langchain", ...options });
  if (result === stored) return messages;
  const known = new Map(stored.map((message, i) => [JSON.stringify(message), messages[i]]));
  return result.map((message) => known.get(JSON.stringify(message)) ?? mapStoredMessagesToChatMessages([message])[0]);
}
