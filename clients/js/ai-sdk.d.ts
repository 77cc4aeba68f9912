import type { Session, Stored, ToolContext } from "./streamer.js";

declare module "@ai-sdk/provider-utils" {
  /** The options of execute have progress in the tools of aiSdk(…).tools. */
  interface ToolExecutionOptions<CONTEXT extends Context | unknown | never> {
    progress: ToolContext["progress"];
  }
}

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
   * that a tool yields, only the last one is passed on. A call for which needsApproval is true
   * waits for a person. Its tool runs, or the call is denied, as the next request states.
   */
  tools<Tools extends Record<string, any>>(tools: Tools): Tools;

  /**
   * For streamText: it shows why a call needs approval, with toolApproval too, and the
   * signature with which experimental_toolApprovalSecret lets the agent continue.
   */
  onChunk(event: { chunk: { type: string } }): void;

  /**
   * Answers a request of useChat: publishes the question or the answers in its last message, and the
   * stream of parts that agent returns, and returns this stream. signal is aborted when the run is
   * interrupted. The model is not wrapped. It rejects with status 409 if another person answered first.
   */
  chat<Part>(
    request: { messages: readonly { id: string; role: string; parts: readonly any[] }[]; trigger?: string },
    agent: (signal: AbortSignal) => ReadableStream<Part> | PromiseLike<ReadableStream<Part>>,
  ): Promise<ReadableStream<Part>>;

  /** Ends the run when all is published. */
  end(reason?: "completed" | "error" | "cancelled"): Promise<Stored>;
};
