// Middleware that repairs the stored history of a LangChain or LangGraph agent when a run
// begins: streamer adds results for the tool calls that have none. streamerMiddleware, in
// the package, repairs each request to the model, and leaves the stored history as it is.
//
//   createAgent({ model, tools, middleware: [repairHistory(server)], checkpointer })

import { RemoveMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { repairMessages } from "streamer-client/langchain";

/**
 * Returns a middleware that replaces the whole list, in which existing messages keep their
 * ids. Real results are those of the session with the name of the thread.
 * @param {import("streamer-client").Server} server
 * @param {import("streamer-client").RepairOptions} [options]
 */
export function repairHistory(server, options) {
  return createMiddleware({
    name: "RepairHistory",
    beforeAgent: async ({ messages }, { configurable }) => {
      const repaired = await repairMessages(server.session(configurable.thread_id), messages, options);
      const same = repaired.length === messages.length && repaired.every((message, i) => message === messages[i]);
      if (!same) return { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...repaired] };
    },
  });
}
