import type { Session, Stored } from "./streamer.js";

export interface AdapterOptions {
  /** The agent below the root to which the streams belong. */
  namespace?: string;
  /** The id of the call that caused the calls of that agent. */
  parentCall?: string;
}

/** The details that the SDK gives a tool. */
export interface Details {
  /** Aborted when the call is closed. */
  signal: AbortSignal;
  /** Posts that the tool is alive, and how far it is. It never rejects. */
  progress: (message?: string, percent?: number) => Promise<void>;
  [field: string]: any;
}

/** Returns wrappers of the model and the tools of one run of an agent with the OpenAI Agents SDK. */
export function openaiAgents(session: Session, options?: AdapterOptions): {
  /** Returns a model that publishes its answers. */
  model<Model extends object>(model: Model): Model;

  /**
   * Returns the execute function of a tool that runs once over all processes. The model gets
   * the text of the Cancelled error as output if the call is closed before.
   */
  execute<Args = any, Value = any>(tool: (args: Args, context: any, details: Details) => Value | Promise<Value>): (args: any, context?: any, details?: any) => Promise<any>;

  /** Ends the run when all is published. */
  end(reason?: "completed" | "error" | "cancelled"): Promise<Stored>;
};
