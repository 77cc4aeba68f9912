// A session over NATS. Values above 64 KiB and repairs need the address of HTTP too.

import { DeliverPolicy, JetStreamError, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { headers } from "@nats-io/nats-core";

import { StreamerError, refused } from "./errors.js";
import { Events } from "./events.js";
import { Http, backoff, nonce, pause } from "./http.js";
import { Session } from "./session.js";

const STREAM = "TOOLCALLS";
const PULL = { expires: 10_000, idle_heartbeat: 1_000 }; // a silence of 2 s begins another consumer
const KINDS = { deltas: "delta", results: "result" }; // the others have the names of the paths

/**
 * Returns a session of the server of a connection.
 * @param {import("@nats-io/nats-core").NatsConnection} connection
 * @param {string} name
 * @param {import("./nats.js").NatsOptions} [options]
 */
export function natsSession(connection, name, { url = "", ...options } = {}) {
  return new NatsSession(connection, name, new Http(url, options));
}

class NatsSession extends Session {
  #id = nonce(); // message ids of different publishers differ

  constructor(connection, name, http) {
    super(http, name);
    this.connection = connection;
    this.js = jetstream(connection);
    this.token = tokenOf(name);
    watch(connection);
  }

  post(kind, body, { key = nonce(), headers: fields = {}, ...options } = {}) {
    const data = body instanceof Uint8Array ? body : JSON.stringify(body);
    const subject = `llm.${this.token}.${KINDS[kind] ?? kind}`;
    const request = { msgID: `${this.token}:${kind}:${key}:${this.#id}`, headers: headers() };
    for (const [name, value] of Object.entries(fields)) request.headers.set(name, value);
    return this.http.repeat(async () => {
      const { seq } = await this.js.publish(subject, data, request).catch(refuse);
      return { session: this.name, seq };
    }, options);
  }

  events(options) {
    return new Events((range) => this.#frames(range), options);
  }

  /** Yields events as the frames of HTTP. An ordered consumer misses none. */
  async *#frames({ after, types, signal }) {
    after = Number(after ?? 0); // HTTP takes a text too
    const given = after;
    const subjects = types?.length ? Array.from(new Set(types), (type) => (type === "synthetic" ? type : `event.${type}`)) : ["event.>", "synthetic"];
    const filter_subjects = subjects.map((subject) => `toolcalls.${this.token}.${subject}`);
    for (let attempt = 1; !signal.aborted; attempt++) {
      const start = after ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: after + 1 } : { deliver_policy: DeliverPolicy.All };
      let messages;
      const stop = () => messages?.stop();
      signal.addEventListener("abort", stop);
      try {
        if (after) await this.#checkCursor(after, given);
        const consumer = await this.js.consumers.get(STREAM, { filter_subjects, ...start });
        const { num_pending } = await consumer.info();
        messages = await consumer.consume(PULL);
        if (signal.aborted) return;
        if (num_pending === 0) yield { event: "stream.live" };
        for await (const m of messages) {
          [after, attempt] = [m.seq, 1];
          yield { event: m.subject.endsWith(".synthetic") ? "synthetic" : "event", data: m.string(), id: String(m.seq) };
          if (m.info.pending === 0) yield { event: "stream.live" };
        }
      } catch (error) {
        if (this.connection.isClosed() || forbidden(error) || error.temporary === false) throw forbidden(error) ?? error;
      } finally {
        signal.removeEventListener("abort", stop);
        messages?.stop();
      }
      if (signal.aborted) return;
      if (denials.get(this.connection)) throw forbidden(denials.get(this.connection));
      yield { event: "stream.lost" };
      await pause(backoff(attempt, 500), signal);
    }
  }

  /** Throws the error with which HTTP refuses a cursor. After a reconnection, the log may seem shorter for some seconds. */
  async #checkCursor(after, given) {
    if (!Number.isSafeInteger(after) || after < 0) throw refused(400, `the cursor "${after}" is not the id of an event`);
    const jsm = await jetstreamManager(this.connection, { checkAPI: false });
    const { first_seq, last_seq } = (await jsm.streams.info(STREAM)).state;
    if (after === given && after > last_seq) throw refused(400, `the log ends at ${last_seq}, before the cursor ${after}: it is the cursor of another log`);
    const events = `toolcalls.${this.token}.`;
    if (after >= first_seq) {
      const event = await jsm.direct.getMessage(STREAM, { seq: after });
      if (event && !event.subject.startsWith(events)) throw refused(400, `the cursor ${after} is an event of another session`);
    } else if (after + 1 < first_seq) {
      const oldest = await jsm.direct.getMessage(STREAM, { seq: 1, next_by_subj: `${events}>` });
      const before = Number(oldest?.header.get("Nats-Expected-Last-Subject-Sequence")); // of the session
      if (oldest && (before <= after || oldest.subject.endsWith(".session_erased"))) return;
      throw refused(410, `events after ${after} are not stored any more: the log begins at ${first_seq}; connect without a cursor to read what is left`);
    }
  }

  /** Reads a value from its event, or over HTTP if it is too large for one. */
  async value(seq, part, options) {
    const jsm = await jetstreamManager(this.connection, { checkAPI: false });
    const event = (await jsm.direct.getMessage(STREAM, { seq })).json();
    const value = part === "args" ? event.args_text : JSON.stringify(event.tool_result);
    if (value !== undefined) return value;
    if (!this.http.url) throw new StreamerError("streamer: a value above 64 KiB is read over HTTP: natsSession needs the url");
    return super.value(seq, part, options);
  }
}

const denials = new WeakMap(); // by connection: the last refusal of a request that reads events

/** Records refusals. A request waits in vain if the server maps its subject to the one that it refuses. */
async function watch(connection) {
  if (denials.has(connection)) return;
  denials.set(connection, undefined);
  for await (const { type, error } of connection.status()) {
    if (type === "error" && /^(streamer\.api|\$JS)\./.test(error.subject)) denials.set(connection, error);
    if (type === "reconnect") denials.set(connection, undefined); // perhaps with other permissions
  }
}

/** Returns the error of a refused permission, or undefined for another error. */
function forbidden({ name, operation, subject, cause }) {
  if (name !== "PermissionViolationError") return cause && forbidden(cause);
  const error = new StreamerError(`streamer: the NATS user has no permission to ${operation === "publish" ? "publish on" : "subscribe to"} ${subject}`);
  return Object.assign(error, { status: 403 });
}

/** Throws an error of a publish. Without an answer of the stream, the same publish may succeed later. */
function refuse(error) {
  if (forbidden(error)) throw forbidden(error);
  const refused = new StreamerError(`streamer: ${error.message}`, { cause: error });
  if (error instanceof JetStreamError || /payload/i.test(error.message)) refused.status = 400;
  throw refused;
}

/** Returns the token of a session in subjects. */
function tokenOf(name) {
  const byteOf = (byte) => {
    const letter = String.fromCharCode(byte);
    return /[\w-]/.test(letter) ? letter : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  };
  const token = Array.from(new TextEncoder().encode(name), byteOf).join("");
  if (token.length > 256) throw refused(400, `session token of ${token.length} bytes is longer than 256`);
  return token;
}
