import type { Session, Stored } from "./streamer.js";

export interface AdapterOptions {
  /** The agent below the root to which the streams belong. */
  namespace?: string;
  /** The id of the call that caused the calls of that agent. */
  parentCall?: string;
}

/** Returns the middleware and the tools of one run of an agent with the AI SDK. */
export function aiSdk(session: Session, options?: AdapterOptions): {
  /** For wrapLanguageModel: it publishes the answers of the model. */
  middleware: {
    specificationVersion: "v4";
    wrapStream(options: any): Promise<any>;
    wrapGenerate(options: any): Promise<any>;
  };

  /**
   * Returns tools that run once over all processes, and whose abortSignal is aborted when
   * their call is closed. execute also gets progress, see ToolContext. Of several values
   * that a tool yields, only the last one is passed on.
   */
  tools<Tools extends Record<string, any>>(tools: Tools): Tools;

  /** Ends the run when all is published. */
  end(reason?: "completed" | "error" | "cancelled"): Promise<Stored>;
};
