import type { Options, Subscription } from './sse.js'

/** The types of the frames of a native stream. */
export const TYPES: readonly string[]

/** subscribe of sse.js over the EventSource of the browser, which sends no headers. */
export function subscribe(
  options: Omit<Options, 'headers' | 'heartbeat'> & { types?: string[]; EventSource?: typeof EventSource },
): Subscription
