// Publishes the stream of a model while it is read.

import { nonce, orAborted } from "./http.js";

const PIECE = 256 << 10; // bytes of one input; a server takes 1 MiB, if not configured otherwise
const MOST = 8 << 20; // bytes that wait before the source has to
const MANY = 10_000; // chunks, likewise

/**
 * Publishes a stream to its end, in order.
 * @param {import("./session.js").Session} session
 * @returns {Promise<import("./streamer.js").Followed>}
 */
export async function follow(session, source, { format, namespace, parentCall, accepted = false, signal, onStart } = {}) {
  const publishing = new Publishing(session, headersOf({ format, namespace, parentCall }), onStart);
  const failed = source.ok === false ? new Error(`the model answered ${source.status}`) : undefined;
  let error = failed;
  try {
    if (failed) await source.body?.cancel();
    else for await (const chunk of chunksOf(source, signal)) if (!accepted) await publishing.add(chunk);
  } catch (cause) {
    if (publishing.failure) throw cause;
    error = cause;
  }
  await publishing.end();
  const status = !error ? "completed" : error.name === "AbortError" || signal?.aborted ? "cancelled" : "error";
  if (error && !accepted) await session.end(status, { namespace });
  return { status, error, first: publishing.first, last: publishing.last };
}

export const headersOf = ({ format, namespace, parentCall }) => ({
  ...(format && { "Streamer-Format": format }),
  ...(namespace && { "Streamer-Namespace": namespace }),
  ...(parentCall && { "Streamer-Parent-Call": parentCall }),
});

/** Yields the bytes of a Response, of a ReadableStream or of an async iterable. */
async function* chunksOf(source, signal) {
  if (source.body === null) return; // an answer without content
  const encoder = new TextEncoder();
  for await (const chunk of values(source.body?.getReader ? source.body : source, signal)) {
    if (chunk instanceof Uint8Array) yield chunk;
    else yield encoder.encode(typeof chunk === "string" ? chunk : JSON.stringify(chunk) + "\n");
  }
}

/** Yields the values of a source, which it cancels when the consumer or the signal ends it. */
async function* values(source, signal) {
  const reader = source.getReader ? source.getReader() : undefined;
  const values = reader ? { next: () => reader.read(), return: () => reader.cancel() } : (source[Symbol.asyncIterator] ?? source[Symbol.iterator]).call(source);
  let ended = false;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { value, done } = await orAborted(values.next(), signal);
      if ((ended = done)) return;
      yield value;
    }
  } catch (error) {
    ended = !signal?.aborted; // the source has failed
    throw error;
  } finally {
    if (!ended) Promise.resolve(values.return?.()).catch(() => {}); // it may wait for its next value
  }
}

/** Publishing posts bytes in order, one piece at a time. What arrives meanwhile becomes one piece. */
class Publishing {
  /** The sequences of the first and the last input. */
  first;
  last;
  /** Why the stream cannot be published. */
  failure;
  #waiting = [];
  #size = 0; // bytes of these
  #step; // the post of one piece
  #running; // until no bytes wait
  #id = nonce();
  #count = 0;

  constructor(session, headers, onStart) {
    Object.assign(this, { session, headers, onStart });
  }

  /** Adds bytes. It returns when not too many wait. */
  async add(bytes) {
    if (this.failure) throw this.failure;
    if (bytes.length === 0) return;
    this.#waiting.push(bytes);
    this.#size += bytes.length;
    this.#running ??= this.#run();
    while ((this.#size > MOST || this.#waiting.length > MANY) && !this.failure) await this.#step.catch(() => {});
  }

  /** Returns when all bytes are published. */
  async end() {
    await this.#running;
    if (this.failure) throw this.failure;
  }

  async #run() {
    try {
      while (this.#waiting.length > 0) {
        this.#step = this.#post(this.#take());
        await this.#step;
      }
    } catch (error) {
      this.failure = error;
    }
    this.#running = undefined;
  }

  async #post(piece) {
    const { seq } = await this.session.post("deltas", piece, { key: `${this.#id}-${++this.#count}`, headers: this.headers });
    this.last = seq;
    if (this.first !== undefined) return;
    this.first = seq;
    this.onStart?.(seq);
  }

  /** Removes the next piece from the bytes that wait. */
  #take() {
    const piece = new Uint8Array(Math.min(this.#size, PIECE));
    for (let filled = 0; filled < piece.length; ) {
      const bytes = this.#waiting.shift();
      const part = bytes.subarray(0, piece.length - filled);
      if (part.length < bytes.length) this.#waiting.unshift(bytes.subarray(part.length));
      piece.set(part, filled);
      filled += part.length;
    }
    this.#size -= piece.length;
    return piece;
  }
}
