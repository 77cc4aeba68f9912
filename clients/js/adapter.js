// What the adapters of frameworks share: the published stream of a model, and its calls.

import { StreamerError, Suspended } from "./errors.js";

const PATIENCE = 30_000; // ms to wait for the events of a session

/** Adapter belongs to one run of one agent, whose model answers one request at a time. */
export class Adapter {
  #published = Promise.resolve();
  #since; // the first input of the newest stream
  /** Whether the stream has all parts of an answer: approvals, results and its end. */
  whole = false;
  /** The ids of calls of earlier answers that run now. */
  earlier = new Set();
  /** The ids of calls whose results are in the log. */
  stored = new Set();

  /**
   * @param {import("./session.js").Session} session
   * @param {{namespace?: string, parentCall?: string}} [options] of each stream
   */
  constructor(session, options) {
    this.session = session;
    this.options = options;
  }

  /**
   * Publishes an answer of the model, after the ends of calls that were denied since the one
   * before: [{id, reason}]. A failure is a warning: the agent goes on.
   */
  publish(stream, options, denied = []) {
    const [before, since] = [this.#published, this.#since];
    this.#since = new Promise((resolve) => {
      this.#published = this.#warned("the stream of a model is not published", async () => {
        if (denied.length > 0) await before.then(async () => this.#deny(denied, await since));
        await this.session.follow(stream, { ...this.options, ...options, onStart: resolve });
      }).then(resolve);
    });
    return this.#published;
  }

  /** Publishes events about the newest answer after it, unless unneeded() is true by then. */
  add(events, options, unneeded = () => false) {
    this.#published = this.#published.then(() =>
      this.#warned("events of an agent are not published", async () => {
        if (!unneeded()) await this.session.follow(events, { ...this.options, ...options });
      }),
    );
    return this.#published;
  }

  /**
   * Executes a call of the newest answer, by the id of the provider. One that waits for a
   * person was approved: the framework would not execute it otherwise.
   */
  async run(id, args, tool, options) {
    const { calls } = this.session;
    const since = this.earlier.has(id) ? 0 : await this.#since;
    const end = calls.use(async () => {
      await calls.live(options?.signal);
      await this.#answer(calls.find(id, since), (call, { waits }) => waits && this.session.answer(call, { decision: "approve" }));
      return this.session.run({ id, tool_args: args, since }, tool, options);
    });
    const stored = () => this.stored.add(id);
    end.then(stored, (error) => error instanceof StreamerError || error instanceof Suspended || stored());
    return end;
  }

  /** Ends calls that were denied: the framework does not execute them. Those of this run may not have started yet. */
  #deny(list, since) {
    const { calls } = this.session;
    return this.#warned("the denials of calls are not published", () =>
      calls.use(async () => {
        const patience = AbortSignal.timeout(PATIENCE);
        await calls.live(patience);
        for (const { id, reason } of list) {
          const call = since === undefined ? calls.find(id) : await calls.until(() => calls.find(id, since), patience);
          await this.#answer(call, (call, { waits }) =>
            waits ? this.session.answer(call, { decision: "deny", value: reason }) : this.session.result(call, reason ?? "The tool call was denied.", { status: "denied" }),
          );
        }
      }),
    );
  }

  /** Calls fn with a call that is open, and with what is known of it. */
  async #answer(call, fn) {
    const known = call && this.session.calls.get(call);
    if (known && !known.result) await this.#warned(`the answer to the call ${call} is not published`, async () => fn(call, known));
  }

  /** Calls fn. Its failure is a warning: the agent goes on. */
  #warned(what, fn) {
    return fn().catch((error) => this.session.http.warn(`${what}: ${error.message}`));
  }

  /** Ends the run when all is published, with the last events of a stream if there are some. */
  async end(reason, events, options) {
    await this.#published;
    if (!events) return this.session.end(reason, this.options);
    const { last } = await this.session.follow(events, { ...this.options, ...options });
    return { session: this.session.name, seq: last };
  }
}
