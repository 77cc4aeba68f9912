// Requests to a server, and their repetition.

import { StreamerError, refusal } from "./errors.js";

const ATTEMPT = 20_000; // ms that one attempt may take; the server answers within 10 s
const LONGEST = 10_000; // ms, longest pause between two attempts

export class Http {
  /**
   * @param {string} url of the server
   * @param {import("./streamer.js").Options} options
   */
  constructor(url, { token, fetch, retryFor = 90_000, onWarning = (text) => console.warn(text) } = {}) {
    if (url) new URL(url); // throws now if it is none
    this.url = url.replace(/\/+$/, "");
    this.token = token;
    this.fetch = fetch ?? ((...request) => globalThis.fetch(...request));
    this.retryFor = retryFor;
    this.warn = (text) => onWarning(`streamer: ${text.replaceAll("streamer: ", "")}`); // of errors in it
    this.warned = new Set();
  }

  /** Warns of each text once. */
  warnOnce(text) {
    if (this.warned.has(text) || this.warned.size > 100) return;
    this.warned.add(text);
    this.warn(text);
  }

  /** Makes one request, and returns its answer. Another status than 2xx is a StreamerError. */
  async request(path, { headers, ...init } = {}) {
    const [, dots] = path.match(/\/(\.\.?)\//) ?? []; // also as %2E, fetch would remove them from the path
    if (dots) throw Object.assign(new StreamerError(`streamer: no URL can name the session "${dots}"; natsSession can`), { status: 400 });
    const token = typeof this.token === "function" ? await this.token() : this.token;
    const response = await this.fetch(this.url + path, {
      cache: "no-store",
      ...init,
      headers: { ...headers, ...(token && { Authorization: `Bearer ${token}` }) },
    }).catch((error) => {
      if (init.signal?.aborted) throw init.signal.reason;
      throw new StreamerError(`streamer: ${this.url} cannot be reached: ${error.cause?.message ?? error.message}`, { cause: error });
    });
    if (!response.ok) throw await refusal(response);
    return response;
  }

  /** Returns the text at a path. */
  text(path, options) {
    return this.repeat(async (signal) => (await this.request(path, { signal })).text(), options);
  }

  /**
   * Stores an input, and returns the answer. Attempts share a key, so the server stores one
   * of them. It compares keys of the last 2 minutes, which is why attempts end before.
   */
  async post(path, body, { key = nonce(), headers, ...options } = {}) {
    const init = { method: "POST", headers: { "Content-Type": "application/json", "Idempotency-Key": key, ...headers } };
    new Headers(init.headers); // throws now if a value cannot be sent
    init.body = body instanceof Uint8Array ? body : JSON.stringify(body);
    return this.repeat(async (signal) => (await this.request(path, { ...init, signal })).json(), options);
  }

  /** Calls request until it succeeds, or fails for good, or time is over. */
  async repeat(request, { signal, retryFor = this.retryFor } = {}) {
    const began = Date.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await request(within(ATTEMPT, signal));
      } catch (error) {
        signal?.throwIfAborted();
        const temporary = error.temporary ?? (error.name === "TimeoutError" || error instanceof TypeError); // a lost connection
        const wait = Math.max(backoff(attempt, 200), error.retryAfter ?? 0);
        if (!temporary || Date.now() - began + wait > retryFor) throw error;
        await pause(wait, signal);
      }
    }
  }
}

/** Returns a signal that is aborted after a time, or by another one. */
function within(ms, signal) {
  const timeout = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}

/** Returns how many ms to wait before an attempt, from 1: full jitter below a ceiling that doubles. */
export function backoff(attempt, base) {
  return base / 4 + Math.random() * Math.min(LONGEST, base * 2 ** Math.min(attempt - 1, 16));
}

/** Waits for a time, or until the signal is aborted. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/** Settles as a promise does, or rejects when the signal is aborted. */
export function orAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Returns a random text. randomUUID does not exist on pages without TLS. */
export function nonce() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
