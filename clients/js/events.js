// The events of a session, as an async iterable.

/** Events yields each event once, in order, and counts where it is. */
export class Events {
  /** Whether the stored events have been read, so that new ones follow. */
  live = false;
  /** The sequence of the last event, for `after`. */
  cursor;
  #abort = new AbortController();
  #frames;
  #onLive;

  /**
   * @param {(range: {after?: number, types?: string[], signal: AbortSignal}) => AsyncGenerator<object>} read yields frames
   * @param {import("./streamer.js").EventsOptions} options
   */
  constructor(read, { after, types, signal, onLive } = {}) {
    this.cursor = after;
    this.#onLive = onLive;
    if (signal?.aborted) this.#abort.abort();
    signal?.addEventListener("abort", () => this.#abort.abort(), { once: true, signal: this.#abort.signal });
    this.#frames = read({ after, types, signal: this.#abort.signal });
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async next() {
    for (;;) {
      const { value: frame, done } = await this.#frames.next();
      if (done) return { value: undefined, done };
      if (frame.event === "stream.lost") this.live = false;
      if (frame.event === "stream.live") {
        this.live = true;
        this.#onLive?.();
      }
      if (frame.event.startsWith("stream.")) continue;
      this.cursor = Number(frame.id);
      return { value: eventOf(frame), done: false };
    }
  }

  async return() {
    this.#abort.abort();
    this.#frames.return(); // where it waits for a reader, it ends now
    return { value: undefined, done: true };
  }
}

/** Returns the event of a frame. seq is its sequence in the event log. */
function eventOf({ event, data, id }) {
  const value = JSON.parse(data);
  return event === "synthetic" ? { type: event, seq: Number(id), message: value } : { ...value, seq: Number(id) };
}

/** Returns the sequence of the input that caused an event. */
export const inputOf = (event) => Number(event.event_id.split(".")[0]);
