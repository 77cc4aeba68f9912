import type { Call, Message, Run, State } from './reduce.js'

export function runsOf(state: State): Run[]
export function messagesOf(state: State): Message[]
export function callsOf(state: State): Call[]
export function openCalls(state: State): Call[]

/** The calls by the key of the call from which they were made, "" for the others. */
export function childrenOf(state: State): Map<string, Call[]>

export interface Phase {
  phase: 'args' | 'waiting' | 'running'
  from: number
  to: number
}

/** The phases of a call in order; `now` is the end of the last phase of an open call. */
export function phasesOf(call: Call, now: number): Phase[]
