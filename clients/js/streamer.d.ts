/** The client of streamer. The README shows its use, docs/events.md describes the events. */

import type { EventTypes, Reason } from "./event.js";

export type * from "./event.js";

export interface Options {
  /** The token of the server, or a function that returns it, which is called for each request. */
  token?: string | (() => string | Promise<string>);
  /** Replaces the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** How long an input is repeated, in milliseconds; 90,000. Above 2 minutes it may be stored twice. */
  retryFor?: number;
  /** Gets what went wrong without an error; console.warn. */
  onWarning?: (text: string) => void;
}

/** Returns a server; http://127.0.0.1:8080. */
export function streamer(url?: string, options?: Options): Server;

export interface Server {
  /** Returns a session, which is one chat thread. No URL can name "." and ".."; natsSession can. */
  session(name: string): Session;
}

export interface Session {
  readonly name: string;

  /** Publishes the stream of a model while it reads it, in order, each byte once. It consumes the stream. */
  follow(stream: Stream, options?: FollowOptions): Promise<Followed>;

  /**
   * Publishes a message of a person, once by its id: a text, or the texts of a message of useChat.
   * It closes the open calls.
   */
  say(message: { id?: string; text: string } | { id?: string; parts: readonly object[] }): Promise<Stored>;

  /** Returns the messages of the session, by default as those of useChat. */
  messages(options?: { format?: "ai-ui" | "ag-ui" | "openai" | "anthropic"; signal?: AbortSignal }): Promise<any[]>;

  /**
   * Executes a call at most once over all processes, and resolves with the value of its tool.
   * Other processes get it from the log, as JSON; a number is a text there, and null is "".
   * The args are those of the model, or of a person who edited them. It rejects as the tool
   * does, and with Cancelled if the call was closed before its tool had ended.
   */
  run<Args = any, Value = any>(call: CallEvent | ProviderCall, tool: Tool<Args, Value>, options?: RunOptions): Promise<Value>;

  /** Returns the events after a cursor, or all, and then each new one. Lost connections are resumed. */
  events<T extends EventType = EventType>(options?: EventsOptions<T>): Events<T>;

  /** Returns the whole args of an event as text, or its result as JSON, where the event has only their beginning. */
  value(seq: number, part: "args" | "result", options?: { signal?: AbortSignal }): Promise<string>;

  /** Closes the calls that the fields name, or all, and ends the run. */
  interrupt(fields?: Interrupt): Promise<Stored>;

  /** Calls an agent with a signal, which is aborted when its run is interrupted as a whole. */
  untilStopped<Value>(agent: (signal: AbortSignal) => Value | PromiseLike<Value>): Promise<Value>;

  /** Posts the result of a call. */
  result(call: string | CallEvent, content: unknown, options?: { status?: "success" | "error" | "denied" }): Promise<Stored>;

  /** Posts that the tool of a call is alive. The deadline of the call starts again. */
  progress(call: string | CallEvent, message?: string, percent?: number): Promise<Stored>;

  /** Ends the run, or the messages of the agent of a namespace; "completed". */
  end(reason?: "completed" | "error" | "cancelled", options?: { namespace?: string }): Promise<Stored>;

  /** Answers a call that waits for a person. It rejects with status 409 where the call was answered before. */
  answer(call: string | CallEvent | { interrupt_id: string }, answer: Answer): Promise<Stored>;

  /** Resolves with the answer of a call, also an earlier one. It rejects with Cancelled if the call was closed otherwise. */
  waitForAnswer(call: string | CallEvent, options?: { signal?: AbortSignal }): Promise<Answer>;

  /** Returns a history in which each call has a result, or the same history where that is not possible. It never rejects. */
  repair<Messages>(messages: Messages, options?: RepairOptions): Promise<Messages>;
}

/** A Response of fetch, a stream, or an iterable, of bytes, texts, or objects. */
export type Stream = Response | ReadableStream<unknown> | AsyncIterable<unknown> | Iterable<unknown>;

export interface FollowOptions {
  /** The format of the stream, see docs/formats.md; otherwise it is recognised. */
  format?: string;
  /** The agent below the root that reads the stream. Streams at the same time need different namespaces. */
  namespace?: string;
  /** The id of the call that caused the calls of that agent. */
  parentCall?: string;
  /** Only reads the stream, because something else publishes it, such as a tap. */
  accepted?: boolean;
  /** Ends the reading, and the run as cancelled. */
  signal?: AbortSignal;
  /** Called with the sequence of the first input when it is stored. */
  onStart?: (seq: number) => void;
}

export interface Followed {
  /** How the stream ended. With error and cancelled, the run was ended. */
  status: "completed" | "error" | "cancelled";
  /** Why the stream failed. */
  error?: unknown;
  /** Sequences of the first and the last input. */
  first?: number;
  last?: number;
}

/** Executes a call. signal is aborted when the call is closed. */
export type Tool<Args, Value> = (args: Args, context: ToolContext) => Value | PromiseLike<Value>;

export interface ToolContext {
  /** Aborted when the call is closed, with the Cancelled error as reason. */
  signal: AbortSignal;
  /** Posts that the tool is alive, and how far it is. It never rejects. */
  progress: (message?: string, percent?: number) => Promise<void>;
  /** The name of the call. */
  call: string;
}

export interface RunOptions {
  /** Stops the tool. */
  signal?: AbortSignal;
  /** How long a tool may take to end after its call was closed, in milliseconds; 10,000. */
  grace?: number;
  /** How long to wait for the start of a ProviderCall, in milliseconds; 30,000. */
  within?: number;
}

/** A call by the id of its provider. It is the newest one that an input from `since` on has started. */
export interface ProviderCall {
  id: string;
  tool_args: unknown;
  since?: number;
}

/** A message for the history, which follows a result that no tool gave. */
export interface Synthetic {
  type: "synthetic";
  seq: number;
  message: any;
}

interface Types extends EventTypes {
  synthetic: Synthetic;
}

export type EventType = keyof Types;

type Field = { [T in EventType]: keyof Types[T] }[EventType];

/**
 * An event of one of some types, which `type` distinguishes; all without any. docs/events.md
 * describes the fields. Fields of other types are undefined.
 */
export type Event<T extends EventType = EventType> = {
  [One in T]: Types[One] & { [F in Exclude<Field, keyof Types[One]>]?: undefined };
}[T];

/** A call by its name: an event about it, which may have its args. */
export interface CallEvent {
  call: string;
  tool_args?: any;
}

export interface EventsOptions<T extends EventType = EventType> {
  /** The sequence after which to begin. */
  after?: number;
  /** Only these types, at most 32. */
  types?: readonly T[];
  /** Ends the iteration. */
  signal?: AbortSignal;
  /** Called when the stored events have been read, after each connection. */
  onLive?: () => void;
}

export interface Events<T extends EventType = EventType> extends AsyncIterableIterator<Event<T>> {
  /** Whether the stored events have been read, so that new ones follow. */
  readonly live: boolean;
  /** The sequence of the last event. */
  readonly cursor: number | undefined;
}

export interface Interrupt {
  reason?: string;
  run?: string;
  call?: string;
  calls?: string[];
  tool_call_id?: string;
  tool_call_ids?: string[];
  message_id?: string;
}

export interface Answer {
  decision: "approve" | "deny" | "edit" | "reply";
  /** The args that replace those of the model, with edit. */
  args?: any;
  /** The reply. */
  value?: any;
  /** The person; with a token, its subject. */
  by?: string;
}

export interface RepairOptions {
  /** The format of the messages, see docs/repair.md; otherwise it is recognised. */
  shape?: string;
  /** The provider that gets them. */
  provider?: string;
  /** The session whose log has the results that are missing; this one. null means none. */
  session?: string | null;
  /** Further options of the repair. */
  options?: Record<string, unknown>;
  signal?: AbortSignal;
  /** Called with the reason if the history is returned as it is; otherwise it is a warning. */
  onUnrepaired?: (reason: string) => void;
}

export interface Stored {
  session: string;
  /** The sequence of the input. */
  seq: number;
}

/** A request that the server refused, or that could not be made. */
export class StreamerError extends Error {
  /** The HTTP status, 0 if there was no answer. */
  status: number;
  /** Whether the same request may succeed later. */
  readonly temporary: boolean;
}

/** The events after the cursor are no longer stored: discard what was read, and begin without `after`. */
export class Gone extends StreamerError {}

/** The call was closed before its tool had ended, or the run was interrupted. */
export class Cancelled extends Error {
  call?: string;
  /** The status of the result that closed the call, such as cancelled, timeout or denied. */
  status: string;
  reason?: Reason;
}

/**
 * A tool throws it to end without a result, because it will be run again, for example after
 * an answer of a person. The claim of the call ends.
 */
export class Suspended extends Error {}

/** The tool failed in another process, or its args are not valid. */
export class ToolFailed extends Error {}
