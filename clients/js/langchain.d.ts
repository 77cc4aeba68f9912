import type { AgentMiddleware } from "langchain";
import type { RepairOptions, RunOptions, Session } from "./streamer.js";

export interface MiddlewareOptions {
  /**
   * How each request to the model is repaired. false repairs none. Late results become notes,
   * and results of the log are not used, so that requests begin with the same messages.
   */
  repair?: false | RepairOptions;
  /** How calls are run. false leaves them to the agent, whose stream is then not needed. */
  run?: false | RunOptions;
}

/**
 * Returns a middleware for createAgent. A tool runs once over all processes. The signal in
 * its config is aborted when its call is closed, and configurable.streamer has the name of
 * the call and its progress. The result is then the text of the Cancelled error.
 */
export function streamerMiddleware(session: Session, options?: MiddlewareOptions): AgentMiddleware;

/**
 * Yields the chunks of a stream in the mode "messages" without the results, which the
 * middleware posts. Of the modes ["messages", "updates"] it also yields the interrupts.
 */
export function withoutResults<Chunk extends any[]>(stream: AsyncIterable<Chunk>): AsyncIterable<Chunk>;

/**
 * Returns messages in which each call has a result. Those that need no change stay the same
 * objects. It never rejects, see Session.repair.
 */
export function repairMessages<Message>(session: Session, messages: Message[], options?: RepairOptions): Promise<Message[]>;
