import type { AgentMiddleware } from "langchain";
import type { RepairOptions, RunOptions, Session } from "./streamer.js";

export interface MiddlewareOptions {
  /**
   * How each request to the model is repaired. false repairs none. Late results become notes,
   * and results of the log are not used, so that requests begin with the same messages.
   */
  repair?: false | RepairOptions;
  /** How calls are run. */
  run?: RunOptions;
}

/**
 * Returns a middleware for createAgent. A tool runs once over all processes. The signal in
 * its config is aborted when its call is closed, and configurable.streamer has the name of
 * the call and its progress. The result is then the text of the Cancelled error.
 */
export function streamerMiddleware(session: Session, options?: MiddlewareOptions): AgentMiddleware;

/** Yields the chunks of a stream in the mode "messages", without the results, which the middleware posts. */
export function withoutResults<Chunk extends [any, ...any[]]>(stream: AsyncIterable<Chunk>): AsyncIterable<Chunk>;
