import type { State, StreamerEvent } from './reduce.js'

export interface Recorded {
  readonly event: StreamerEvent
  readonly seq: number
  readonly bytes: number
  readonly at: number
}

export interface Replay {
  push(event: StreamerEvent, seq?: number, bytes?: number): void
  readonly length: number
  /** The times of the first and the last event, in ms. */
  readonly start: number
  readonly end: number
  record(n: number): Recorded | undefined
  /** The state after the first n events. */
  at(n: number): State
  countAt(ms: number): number
  countSeq(seq: number): number
  stateAt(ms: number): State
}

/** Returns the states of a list of events, which may grow. */
export function createReplay(): Replay

export interface Player {
  readonly position: number
  readonly playing: boolean
  readonly speed: number
  play(times?: number): void
  pause(): void
  seek(ms: number): void
}

/** Moves a position through the time of a replay. */
export function createPlayer(
  replay: Replay,
  options: {
    onMove(ms: number, playing: boolean): void
    /** The longest silence that is played, in ms of the viewer. */
    gap?: number
    frame?: (f: () => void) => void
    now?: () => number
  },
): Player
