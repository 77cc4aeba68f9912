export interface Frame {
  event: string
  data: string
  id: string
}

export type Connection =
  | { name: 'connecting' | 'catching-up' | 'ended' }
  /** `shared` is the number of pages that share the connection: see share.js. */
  | { name: 'live'; shared?: number }
  | { name: 'gone' | 'refused'; status: number; why: string }
  | { name: 'reconnecting'; attempt: number; at: number; why: string }

export interface Options {
  url: string
  onFrame(frame: Frame): void
  onState(state: Connection): void
  onBytes?(n: number): void
  /** Receives every comment, such as a heartbeat. */
  onComment?(text: string): void
  headers?: Record<string, string>
  /** As in fetch: "include" sends the cookie to a gateway of another origin. */
  credentials?: RequestCredentials
  lastEventId?: string
  /** The interval in ms in which the server shows that it is alive, until the stream states it. */
  heartbeat?: number
  fetch?: typeof fetch
  random?: () => number
}

export interface Subscription {
  /** Resolves when the subscription has stopped finally. */
  readonly finished: Promise<void>
  retryNow(): void
  close(): void
}

/** Reads a stream until close() is called or the server ends it, and reconnects where it stopped. */
export function subscribe(options: Options): Subscription

export function parser(
  on: { frame(frame: Frame): void; comment?(text: string): void; retry?(ms: number): void },
  lastId?: string,
): { push(bytes: Uint8Array): void }

/** The milliseconds to wait before an attempt, from 1. */
export function backoff(attempt: number, base: number, random?: () => number): number

/** The text of an error answer. */
export function complaint(response: Response): Promise<string>

/** The meaning of an HTTP status: "" to continue reading. */
export function verdict(status: number): '' | 'retry' | 'ended' | 'gone' | 'refused'
