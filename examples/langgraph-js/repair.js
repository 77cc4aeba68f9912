// Middleware for LangChain and LangGraph agents: streamer adds results for the
// tool calls of the history that have none, so that a provider accepts it.
//
//   createAgent({ model, tools, middleware: [repairRequests()] })
//
// repairRequests repairs each request to the model and does not change the
// stored history. repairHistory repairs the stored history when a run begins.
// Both can be used together.

import { RemoveMessage, mapChatMessagesToStoredMessages, mapStoredMessagesToChatMessages } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { createMiddleware } from "langchain";

/**
 * @typedef {object} Settings
 * @property {string} [url] of streamer; http://127.0.0.1:8080
 * @property {string} [token] that streamer requires beyond loopback
 * @property {(runtime) => string | undefined} [session] whose event log has real results, for example
 *   (runtime) => runtime.configurable?.thread_id
 * @property {object} [options] of the repair, see docs/repair.md
 * @property {number} [timeout] in milliseconds; 10,000
 */

/**
 * Repairs each request to the model. Late results become notes (`late: note`),
 * so that a request begins with the same messages as the previous one.
 * @param {Settings} [settings]
 */
export function repairRequests(settings) {
  return createMiddleware({
    name: "RepairRequests",
    wrapModelCall: async (request, handler) => {
      const { messages } = await repair(request.messages, { late: "note" }, settings, request.runtime);
      return handler({ ...request, messages });
    },
  });
}

/**
 * Repairs the stored history when a run begins. It replaces the whole list;
 * existing messages keep their ids.
 * @param {Settings} [settings]
 */
export function repairHistory(settings) {
  return createMiddleware({
    name: "RepairHistory",
    beforeAgent: async (state, runtime) => {
      const { messages, report } = await repair(state.messages, {}, settings, runtime);
      if (report.patched) return { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...messages] };
    },
  });
}

/**
 * Requests the steps that repair a history from streamer, and applies them.
 * Messages that need no change stay the same objects.
 * @param {import("@langchain/core/messages").BaseMessage[]} messages
 * @param {object} options
 * @param {Settings} [settings]
 * @param {object} [runtime] of the middleware
 */
export async function repair(messages, options, settings = {}, runtime = {}) {
  const { url = "http://127.0.0.1:8080", token, session, timeout = 10_000 } = settings;
  const response = await fetch(new URL("/v1/repair", url), {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify({
      format: "langchain",
      session: session?.(runtime),
      messages: mapChatMessagesToStoredMessages(messages),
      options: { ...options, ...settings.options, output: "ops" },
    }),
    signal: AbortSignal.timeout(timeout),
  });
  if (!response.ok) throw new Error(`streamer: repair: ${response.status}: ${await response.text()}`);
  const { ops, report } = await response.json();
  return { messages: ops.flatMap((step) => apply(step, messages)), report };
}

/** Returns the messages that a step appends to the repaired history. */
function apply(step, messages) {
  if (step.copy) return messages.slice(...step.copy);
  return mapStoredMessagesToChatMessages([step.insert ?? step.replace.with]);
}
