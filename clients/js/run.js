// The execution of a call, at most once over all processes.
//
// A process claims a call with a progress. The server does not report which of two equal
// message ids came first, so each claim has an id of its own. The order of the event log
// decides: the process whose claim is the first one of the call executes it.

import { CLAIM, RELEASE } from "./calls.js";
import { Cancelled, StreamerError, Suspended, ToolFailed } from "./errors.js";
import { nonce, orAborted, pause } from "./http.js";

const PROGRESS = 5_000; // ms for the repetition of a progress, because a tool may wait for it
const PASS = 2_000; // ms to wait for the event of a stopped tool; a result that is known has none

/**
 * Executes a call, or waits for its result if another process does.
 * @param {import("./session.js").Session} session
 */
export function run(session, event, tool, { signal, grace = 10_000, within = 30_000 } = {}) {
  return session.calls.use(async () => {
    const call = event.call ?? (await started(session, event, signal, within));
    await session.calls.live(signal);
    const args = taken(session, call) ? {} : await argsOf(session, event, call, signal);
    if (taken(session, call) || !(await claim(session, call, signal))) return resultOf(session, call, signal);
    return new Execution(session, call, grace).run(tool, args, signal);
  });
}

/** Resolves with the name of the newest call with an id of the provider, once it has started. */
async function started({ calls }, { id, since }, signal, within) {
  const patience = AbortSignal.timeout(within);
  try {
    return await calls.until(() => calls.find(id, since), signal ? AbortSignal.any([signal, patience]) : patience);
  } catch (error) {
    signal?.throwIfAborted();
    if (!patience.aborted) throw error;
    throw new StreamerError(`streamer: no call with the id ${id} has started in ${within} ms: is the stream of its model published?`);
  }
}

/** Reports whether a process has claimed or ended a call. */
function taken({ calls }, call) {
  const { claim, result } = calls.get(call);
  return claim !== undefined || result !== undefined;
}

/** Resolves with the args of a call, those that a person edited first: their value, text if they are free text, or their fault. */
async function argsOf(session, event, call, signal) {
  const { calls } = session;
  const { answer } = calls.get(call);
  if (answer?.decision === "edit") return { value: answer.tool_args };
  if (event.tool_args !== undefined) return { value: event.tool_args };
  const known = event.args_valid === undefined ? undefined : event;
  const args = known ?? (await calls.until(() => calls.get(call).args ?? calls.get(call).result, signal));
  if (args.args_valid === undefined) return {}; // the call was closed before they were complete
  if (!args.args_valid) return { fault: new ToolFailed(`The args are not valid: ${args.args_error}`) };
  if (args.args_text !== undefined) return { value: args.args_text }; // valid args without a value are free text
  const text = await session.value(args.seq ?? calls.get(call).args.seq, "args", { signal });
  return { value: parsed(text, args.double_encoded) };
}

function parsed(text, twice) {
  try {
    const value = JSON.parse(text || "{}");
    return twice ? JSON.parse(value) : value;
  } catch {
    return text;
  }
}

/** Claims a call, and reports whether this claim is the first one. A caller that leaves gives it back. */
async function claim(session, call, signal) {
  const claiming = session.calls.use(() => isFirst(session, call));
  try {
    return await orAborted(claiming, signal);
  } catch (error) {
    claiming.then((first) => first && session.progress(call, RELEASE)).catch(() => {});
    throw error;
  }
}

async function isFirst(session, call) {
  const { seq } = await session.post("progress", { call, message: CLAIM }, { key: `run:${call}:${nonce()}` });
  return session.calls.until(() => {
    const { claim, result, unmatched } = session.calls.get(call);
    if (claim !== undefined) return claim === seq;
    if (result || unmatched >= seq) return false; // the call is not open
  });
}

/** Resolves with the result of a call that another process executes, or rejects as its tool did. */
async function resultOf(session, call, signal) {
  const { seq, status, ...result } = await session.calls.until(() => {
    const { start, result, unmatched } = session.calls.get(call);
    if (!result && !start && unmatched) throw new StreamerError(`streamer: the session has no call ${call}`);
    return result;
  }, signal);
  if (status !== "completed" && status !== "error") throw new Cancelled({ ...result, status });
  const content = JSON.parse(await session.value(seq, "result", { signal }));
  if (status === "error") throw new ToolFailed(typeof content === "string" ? content : JSON.stringify(content));
  return content;
}

/** Execution runs the tool of a call that this process has claimed. */
class Execution {
  constructor(session, call, grace) {
    Object.assign(this, { session, call, grace });
    this.abort = new AbortController(); // stops the tool
    this.over = new AbortController(); // stops all that waits
  }

  /** Runs the tool until it ends, or until the call is closed and the grace time is over. */
  async run(tool, args, signal) {
    const { calls } = this.session;
    const { result } = calls.get(this.call);
    if (result) return this.#closed(result, Promise.resolve({ error: result })); // the tool has not begun
    const closed = calls.until(() => calls.get(this.call).result, this.over.signal);
    const ended = this.#start(tool, args, signal);
    try {
      // If the events cannot be read any more, the tool goes on.
      const first = await Promise.race([ended, closed.catch(() => ended)]);
      return await ("status" in first ? this.#closed(first, ended) : this.#ended(first, closed));
    } finally {
      this.over.abort();
    }
  }

  /** Resolves with {value} or {error} when the tool has ended. */
  async #start(tool, { value, fault }, signal) {
    const stop = signal ? AbortSignal.any([signal, this.abort.signal]) : this.abort.signal;
    try {
      if (fault) throw fault;
      return { value: await tool(value, { signal: stop, call: this.call, progress: (...fields) => this.progress(...fields) }) };
    } catch (error) {
      return { error };
    }
  }

  /** Posts progress. Of several that wait, only the last one is posted. */
  progress(message, percent) {
    this.latest = { message, percent };
    return (this.sending ??= this.#send());
  }

  async #send() {
    while (this.latest && !this.abort.signal.aborted && !this.over.signal.aborted) {
      const { message, percent } = this.latest;
      this.latest = undefined;
      await this.session.progress(this.call, message, percent, { retryFor: PROGRESS }).catch((error) => this.session.http.warn(`progress of the call ${this.call}: ${error.message}`));
    }
    this.sending = undefined;
  }

  /** Posts the result of the tool, and returns it if it is the one that closed the call. */
  async #ended(end, closed) {
    await this.sending;
    if (end.error instanceof Suspended) {
      await this.session.progress(this.call, RELEASE);
      throw end.error;
    }
    const body = bodyOf(this.call, end);
    const seq = await this.#store(body, { key: `result:${this.call}`, retryFor: Infinity });
    const result = await closed.catch((error) => this.session.http.warn(`the result of the call ${this.call} is stored, and may be late: ${error.message}`));
    if (result && !(await this.#isOwn(result, seq, body))) throw new Cancelled(result);
    if ("error" in end) throw end.error;
    return end.value;
  }

  /** Reports whether the result of the tool closed the call. */
  async #isOwn(result, seq, { content }) {
    if (result.synthetic) return false;
    if (result.input >= seq) return true; // later: it has waited for complete args
    // A repetition after 2 minutes is another input with the same content.
    const text = content === null ? "" : JSON.stringify(content); // as the log has it, or in quotes
    const closing = await this.session.value(result.seq, "result").catch(() => undefined);
    return closing === text || closing === JSON.stringify(text);
  }

  /** Posts a result, and returns its sequence. One that is refused is an error, so that the call does not stay open. */
  async #store(body, options) {
    try {
      return (await this.session.post("results", body, options)).seq;
    } catch (error) {
      const content = `The result cannot be stored: ${error.message}`;
      if (body.content !== undefined && !error.temporary) {
        await this.session.post("results", { ...body, content, status: "error" }, { ...options, key: `${options.key}:refused` });
      }
      throw error;
    }
  }

  /** Stops the tool after its call was closed, and posts whether it has stopped. */
  async #closed(result, ended) {
    const cancelled = new Cancelled(result);
    this.abort.abort(cancelled);
    const end = await Promise.race([ended, pause(this.grace, this.over.signal)]);
    const body = end && "value" in end ? bodyOf(this.call, end) : { call: this.call };
    body.tool_state = end ? ("value" in end ? "finished_anyway" : "stopped") : "unknown";
    try {
      const seq = await this.#store(body, { key: `state:${this.call}` });
      // If the run was interrupted too, untilStopped knows it before the caller goes on.
      await this.session.calls.until(() => this.session.calls.input >= seq || undefined, AbortSignal.timeout(PASS)).catch(() => {});
    } catch (error) {
      this.session.http.warn(`whether the tool of the call ${this.call} stopped was not stored: ${error.message}`);
    }
    throw cancelled;
  }
}

/** Returns the body of a result. */
function bodyOf(call, end) {
  if ("error" in end) return { call, content: String(end.error?.message ?? end.error), status: "error" };
  return { call, content: end.value ?? null };
}
