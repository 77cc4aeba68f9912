// What is known of the calls of a session, read from its events while it is needed.

import { inputOf } from "./events.js";

/** The messages of the progress with which a process claims a call, and ends its claim. */
export const CLAIM = "running";
export const RELEASE = "suspended, to be run again";

const TYPES = [
  "tool_call_start", "tool_call_args_complete", "tool_call_awaiting_input", "tool_call_progress", "tool_call_answered", "tool_call_result", "tool_call_late_result", "unmatched", "run_finished",
];

/** Calls has a record of each call, in which the first claim and the only result count. */
export class Calls {
  #session;
  #records = new Map(); // by the name of the call
  #users = 0;
  #events; // that are being read
  #cursor;
  #failure; // why it is not read any more
  /** The newest end of a run that was cancelled. */
  stop;
  /** The newest input of which an event is known. */
  input = 0;
  #waiting = new Set();

  /** @param {import("./session.js").Session} session */
  constructor(session) {
    this.#session = session;
  }

  /** Calls fn while the events are read. Without users, no connection is open. */
  async use(fn) {
    if (this.#users++ === 0 || this.#failure) this.#read();
    try {
      return await fn();
    } finally {
      if (--this.#users === 0) this.#events.return();
    }
  }

  /** Returns the record of a call. */
  get(call) {
    if (!this.#records.has(call)) this.#records.set(call, {});
    return this.#records.get(call);
  }

  /** Returns the name of the newest call with an id of the provider that an input after `since` started. */
  find(id, since = 0) {
    let found;
    for (const [call, { start }] of this.#records) if (start?.id === id && start.input >= since) found = call;
    return found;
  }

  /** Resolves when all events that were stored at the beginning of the reading are known. */
  live(signal) {
    return this.until(() => this.#events.live || undefined, signal);
  }

  /** Resolves with the result of test when it is not undefined any more. */
  until(test, signal) {
    return new Promise((resolve, reject) => {
      const end = (settle, value) => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener("abort", abort);
        settle(value);
      };
      const abort = () => end(reject, signal.reason);
      const waiter = {
        fail: (error) => end(reject, error),
        check() {
          const value = test();
          if (value !== undefined) end(resolve, value);
        },
      };
      const failure = signal?.aborted ? signal.reason : this.#failure;
      if (failure) return reject(failure);
      signal?.addEventListener("abort", abort);
      this.#waiting.add(waiter);
      waiter.check();
    });
  }

  async #read() {
    this.#failure = undefined;
    const check = () => this.#waiting.forEach((waiter) => waiter.check());
    const events = (this.#events = this.#session.events({ after: this.#cursor, types: TYPES, onLive: check }));
    try {
      for await (const event of events) {
        if (events !== this.#events) return; // a later user has begun to read
        this.#take(event);
        this.#cursor = event.seq;
        check();
      }
    } catch (error) {
      this.#failure = error;
      this.#cursor = undefined; // the next user reads all that is stored
      this.#records.clear();
      this.#waiting.forEach((waiter) => waiter.fail(error));
    }
  }

  #take(event) {
    const input = (this.input = inputOf(event));
    const record = event.call && this.get(event.call);
    switch (event.type) {
      case "tool_call_start":
        record.start = { id: event.id, input };
        break;
      case "tool_call_args_complete":
        record.args = { seq: event.seq, args_valid: event.args_valid, args_error: event.args_error, double_encoded: event.double_encoded };
        break;
      case "tool_call_awaiting_input":
        record.waits = true;
        break;
      case "tool_call_progress":
        if (event.status) record.waits = false;
        if (event.message === CLAIM && !event.status) record.claim ??= input;
        if (event.message === RELEASE) record.claim = undefined;
        break;
      case "tool_call_answered":
        record.answer = event;
        record.waits = false;
        break;
      case "tool_call_result":
        record.result = { call: event.call, seq: event.seq, input, status: event.status, synthetic: event.synthetic, reason: event.reason };
        break;
      case "run_finished":
        if (event.status === "cancelled") this.stop = event;
        break;
      case "unmatched": // a progress of a call that is not open
        for (const call of event.target?.calls ?? []) this.get(call).unmatched = event.input;
    }
  }
}
