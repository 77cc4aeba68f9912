// The card of a call and the waterfall of a session in a page of one's own.

import type { Call, State } from './reduce.js'

/** What a person can do with a call. What is absent is not offered. */
export interface CardActions {
  /** The name of the session. */
  session?: string
  /** Stops the call. */
  stop?: (call: Call) => Promise<unknown>
  /** Stores the answer of a person. It rejects with the reason why it is not stored. */
  answer?: (call: Call, answer: { decision: 'approve' | 'deny' | 'edit' | 'reply'; args?: any; value?: any }) => Promise<unknown>
  /** Whether other arguments and replies are offered too; true. */
  edits?: boolean
  /** Returns a whole value above 64 KiB as text, see Ref. */
  value?: (seq: number, part: 'args' | 'result') => Promise<string>
}

/** Draws a call in a shadow root of host. */
export function showCard(host: HTMLElement, call: Call, actions?: CardActions): { update(call: Call): void; close(): void }

/** Draws the calls of a state on a time axis. choose gets the key of a call that is chosen. */
export function showWaterfall(host: HTMLElement, state: State, options?: { choose?: (key: string) => void }): { update(state: State): void; close(): void }
