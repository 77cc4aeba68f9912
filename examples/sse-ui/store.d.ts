import type { State, StreamerEvent } from './reduce.js'
import type { Frame } from './sse.js'

export interface Store {
  getSnapshot(): State
  /** Adds a listener and returns the function that removes it. */
  subscribe(listener: () => void): () => void
  push(event: StreamerEvent, seq?: number, bytes?: number): void
  /** Folds the event of a frame and returns it; null if the frame is about the stream itself. */
  receive(frame: Frame): StreamerEvent | null
  reset(state?: State): void
}

/** `schedule` decides when listeners are called; by default once for all events that arrive together. */
export function createStore(options?: { state?: State; schedule?: (notify: () => void) => void }): Store

export function eventOf(frame: Frame): StreamerEvent | null
