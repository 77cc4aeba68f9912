// What the adapters of frameworks share: the published stream of a model, and its calls.

import { StreamerError, Suspended } from "./errors.js";

/** Adapter belongs to one run of one agent, whose model answers one request at a time. */
export class Adapter {
  #published = Promise.resolve();
  #since; // the first input of the newest stream
  #answered; // the ids of earlier calls that a person answered
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

  /** Publishes an answer of the model. A failure is a warning: the agent goes on. */
  publish(stream, { answered, ...options } = {}) {
    this.#answered = answered;
    this.#since = new Promise((resolve) => {
      this.#published = this.session.follow(stream, { ...this.options, ...options, onStart: resolve }).then(
        () => resolve(),
        (error) => {
          this.session.http.warn(`the stream of a model is not published: ${error.message}`);
          resolve();
        },
      );
    });
    return this.#published;
  }

  /** Executes a call of the newest answer, by the id of the provider. */
  async run(id, args, tool, options) {
    const since = this.#answered?.has(id) ? 0 : await this.#since;
    const end = this.session.run({ id, tool_args: args, since }, tool, options);
    const stored = () => this.stored.add(id);
    end.then(stored, (error) => error instanceof StreamerError || error instanceof Suspended || stored());
    return end;
  }

  /** Ends the run when all is published. */
  async end(reason) {
    await this.#published;
    return this.session.end(reason, this.options);
  }
}
