import type { Options, Subscription } from './sse.js'

export interface Sharing {
  subscribe(options: Options & { session: string }): Subscription
  /** Opens the shared connection again, if this page has it. */
  restart(): void
  close(): void
}

/** One connection for all pages of a browser, where it has Web Locks and BroadcastChannel. */
export function sharing(options: {
  /** Returns the URL of the stream of some sessions. */
  address(sessions: string[]): string
  open?: (options: Options) => Subscription
  /** Milliseconds after which a page without a leader reads alone. */
  wait?: number
  /** Milliseconds of silence after which the leader is replaced. */
  patience?: number
  locks?: LockManager
  channel?: BroadcastChannel
}): Sharing
