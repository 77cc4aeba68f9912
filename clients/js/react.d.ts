import type { HTMLAttributes, ReactElement } from "react";
import type { CardActions } from "streamer-sse-ui/elements.js";
import type { Call, State } from "streamer-sse-ui/reduce.js";
import type { Answer, Session, Stored } from "./streamer.js";

export interface SessionState {
  /** The runs, messages and calls of the session. What an event does not concern is identical in the next state. */
  state: State;
  /** Whether the stored events have been read; failed if the server refuses them. */
  connection: "connecting" | "live" | "failed";
  /** Why it failed. */
  error?: Error;
}

/** Returns the state of a session. All hooks with one Session object share a connection. */
export function useSession(session: Session): SessionState;

/** Returns a call by its name, or by the toolCallId of a chat, and what a person can do with it. */
export function useCall(session: Session, id: string): {
  /** undefined before its first event. */
  call: Call | undefined;
  /** Answers a call that waits. An agent of the AI SDK goes on with the next request of its chat. */
  answer(answer: Answer): Promise<Stored>;
  /** Closes the call, and stops its tool. */
  stop(reason?: string): Promise<Stored>;
};

/**
 * Keeps a chat equal to its session: it shows the runs of other tabs and devices, and how calls have
 * ended. chat is what useChat returns. load returns the messages; those of the session.
 */
export function useFollow(session: Session, chat: FollowingChat, load?: () => Promise<any[]>): void;

export interface FollowingChat {
  status: "submitted" | "streaming" | "ready" | "error";
  setMessages(messages: any): void;
  resumeStream(): Promise<void>;
  stop(): Promise<void>;
}

/** Draws a call, in a style of its own. */
export const CallCard: (props: { call: Call; actions?: CardActions } & HTMLAttributes<HTMLDivElement>) => ReactElement;

/** Draws the calls of a state on a time axis. choose gets the name of a call that is chosen. */
export const Waterfall: (props: { state: State; choose?: (call: string) => void } & HTMLAttributes<HTMLDivElement>) => ReactElement;
