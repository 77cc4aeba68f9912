// The state of a session as a fold of its events.

/** A map that is never changed, in the order in which its keys were first set. */
export interface Table<V> extends ReadonlyMap<string, V> {
  /** The value at a position; a negative one counts from the end. */
  at(position: number): V | undefined
}

/** An event as the gateway sends it: docs/events.md describes its fields. */
export interface StreamerEvent {
  readonly type: string
  readonly event_id?: string
  readonly session?: string
  readonly timestamp?: string
  readonly [field: string]: unknown
}

export type OpenStatus = 'building_args' | 'args_complete' | 'awaiting_input'
export type EndStatus = 'completed' | 'error' | 'denied' | 'cancelled' | 'timeout'
export type RunStatus = 'completed' | 'error' | 'cancelled' | 'interrupted'

export interface Reason {
  readonly code: string
  readonly text: string
  readonly detail?: string
}

/** A value above 64 KiB: the gateway serves it at /v1/sessions/{session}/events/{seq}/args or …/result. */
export interface Ref {
  readonly size: number
  readonly sha256: string
  readonly preview: string
}

export interface Text {
  readonly text: string
  readonly bytes: number
  /** Number of bytes of a gap, after which the text is left out; 0 if there is none. */
  readonly missing: number
}

export interface Outcome {
  readonly value: unknown
  readonly ref: Ref | null
  /** Sequence of the event with the result. */
  readonly seq: number
}

/** Times are in ms, 0 if they are not known. */
export interface Call {
  readonly kind: 'call'
  /** The key of the call in State.calls: unique in the session. */
  readonly call: string
  /** The id of the provider, which may repeat. */
  readonly id: string
  readonly uid: string
  /** Whether the provider gave no id. */
  readonly synthesized: boolean
  readonly tool: string
  /** The kind of the call, such as function or custom. */
  readonly type: string
  readonly provider: boolean
  readonly run: string
  /** The input of the interrupt that a tap obeys, 0 for none. */
  readonly held: number
  readonly namespace: string
  /** The key of the message in State.timeline, and its id on the wire. */
  readonly message: string
  readonly messageId: string
  /** The id of the call from which this one was made, its key if it is known, and its tool. */
  readonly parent: string
  readonly parentCall: string
  readonly parentTool: string

  readonly status: OpenStatus | EndStatus
  /** Whether the start of the call is no longer stored. */
  readonly partial: boolean
  readonly seenAt: number
  readonly startedAt: number
  readonly completeAt: number
  readonly endedAt: number
  readonly deadline: number
  /** The time from which the deadline counts. */
  readonly deadlineFrom: number
  /** The times in which the call waited for a person; `to` is 0 while it waits. */
  readonly waits: readonly { readonly from: number; readonly to: number }[]
  readonly waitsFor: string
  readonly interrupt: string
  /** What a person answered to its last wait. `value` is any JSON, `args` are those of an edit. */
  readonly answer: { readonly decision: string; readonly by: string; readonly value?: unknown; readonly args?: unknown } | null
  readonly progress: { readonly text: string; readonly percent?: number } | null
  /** Whether its run has ended and the call waits for a result from outside. */
  readonly outside: boolean
  readonly outsideAt: number
  /** The keys of the ends of runs that left the call open. */
  readonly ends: readonly string[]

  /** After an edit, those of the person, which the tool gets. */
  readonly args: Text
  readonly argsDone: boolean
  /** Whether its message ended before its args. */
  readonly cut: boolean
  readonly argsValid: boolean
  readonly argsError: string
  readonly argsRef: (Ref & { readonly seq: number }) | null
  /** What completed the args. */
  readonly by: string

  /** null while the call is open. */
  readonly outcome: Outcome | null
  /** Whether no tool gave the result. */
  readonly synthetic: boolean
  readonly reason: Reason | null
  /** The key of the message that closed the call: a human message, or the next attempt. */
  readonly closedBy: string
  /** The key of the call of the next attempt with the same tool, and that of the attempt before. */
  readonly replacedBy: string
  readonly replaces: string
  /** The tool message for the next request of the model, where the result is synthetic. */
  readonly history: unknown
  readonly durationMs: number | undefined
  readonly argsMs: number | undefined
  readonly runMs: number | undefined
  readonly late: (Outcome & { readonly at: number; readonly status: string; readonly conflict: boolean }) | null
  readonly lateCount: number
}

export interface Run {
  readonly kind: 'run'
  readonly key: string
  readonly id: string
  readonly startedAt: number
  readonly endedAt: number
  /** "" while the run goes on. */
  readonly status: RunStatus | ''
  readonly reason: Reason | null
}

export type Block =
  | { readonly kind: 'calls'; readonly calls: readonly string[] }
  | (Text & { readonly kind: 'text' | 'reasoning'; readonly part: number; readonly done: boolean })

export interface Message {
  readonly kind: 'message'
  readonly key: string
  readonly id: string
  readonly run: string
  readonly namespace: string
  readonly choice: number
  /** "user" for a message of a person. */
  readonly role: string
  readonly at: number
  readonly blocks: readonly Block[]
  readonly finished: boolean
  readonly finishReason: string
  readonly superseded: boolean
  /** The key of the abandoned message of which this one is the next attempt. */
  readonly replaces: string
  readonly usage: unknown
  /** The call that started the sub-agent of the message. */
  readonly parentCall: string
  readonly parentTool: string
}

/** The end of a run. */
export interface End {
  readonly kind: 'end'
  readonly key: string
  /** The key of the run. */
  readonly run: string
  readonly status: RunStatus
  readonly reason: Reason | null
  readonly startedAt: number
  readonly endedAt: number
  /** The calls that the run left open, and those of them that are open still. */
  readonly pending: readonly string[]
  readonly waiting: readonly string[]
}

/** Rejected inputs with one reason, an input that found nothing open, or a result of an unknown call. */
export type Notice = { readonly kind: 'notice'; readonly key: string; readonly at: number } & (
  | { readonly what: 'rejected'; readonly times: number; readonly reason: Reason; readonly input: number; readonly last: number; readonly offset: number }
  | { readonly what: 'unmatched'; readonly of: string; readonly target: Readonly<Record<string, unknown>>; readonly input: number; readonly answer?: Readonly<Record<string, unknown>> }
  | { readonly what: 'orphan'; readonly id: string; readonly tool: string; readonly outcome: Outcome }
)

export type Item = Run | Message | End | Notice

export interface State {
  readonly session: string
  /** The sequence and the time of the last event. */
  readonly seq: number
  readonly at: number
  /** The key of the current run, "" if there is none. */
  readonly run: string
  /** Runs, messages, ends and notices in the order of their first event. */
  readonly timeline: Table<Item>
  readonly calls: Table<Call>
  /** The keys of the open calls. */
  readonly open: readonly string[]
  readonly tally: Readonly<Record<'calls' | 'open' | EndStatus, number>>
  readonly counts: Readonly<Record<'events' | 'bytes' | 'duplicates' | 'unknown' | 'afterEnd' | 'gaps' | 'notices', number>>
}

/** Returns the state before the first event. */
export function create(): State

/**
 * Returns the state after an event; what the event does not concern is identical in both. `seq` is
 * the sequence of the event: one that is not after the last counts as a duplicate.
 */
export function reduce(state: State, event: StreamerEvent, seq?: number, bytes?: number): State

/** Reports whether a status is that of a call that has ended. */
export function terminal(status: string): status is EndStatus
