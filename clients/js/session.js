// A session: one chat thread.

import { Calls } from "./calls.js";
import { Cancelled } from "./errors.js";
import { Events } from "./events.js";
import { follow, headersOf } from "./follow.js";
import { nonce } from "./http.js";
import { run } from "./run.js";
import { subscribe } from "./sse.js";

export class Session {
  /** @param {import("./http.js").Http} http */
  constructor(http, name) {
    if (typeof name !== "string") throw new TypeError(`streamer: session is ${name}, not a text`);
    if (name === "") throw new TypeError("streamer: session is empty");
    this.http = http;
    this.name = name;
    this.path = `/v1/sessions/${encodeURIComponent(name)}`;
    this.calls = new Calls(this);
  }

  /** Stores an input of a kind. */
  post(kind, body, options) {
    return this.http.post(`${this.path}/${kind}`, body, options);
  }

  /** Returns the whole args of an event as text, or its result as JSON. */
  value(seq, part, options) {
    return this.http.text(`${this.path}/events/${seq}/${part}`, options);
  }

  /** Publishes the stream of a model, which it consumes. */
  follow(stream, options) {
    return follow(this, stream, options);
  }

  /** Publishes a message of a person, once by its id: a text, or one with parts. It closes the open calls. */
  say({ id = nonce(), text, parts = [] }) {
    const content = text ?? parts.map((part) => part.text ?? "").join("");
    return this.post("deltas", { id, role: "user", content }, { key: `human:${id}`, headers: headersOf({ format: "openai-chat" }) });
  }

  /** Executes a call, at most once over all processes. */
  run(call, tool, options) {
    return run(this, call, tool, options);
  }

  /** Returns the events after a cursor, or all, and then each new one. */
  events(options) {
    return new Events((range) => subscribe(this.http, `${this.path}/events`, range), options);
  }

  /** Returns the messages of the session, as those of useChat. */
  async messages({ format = "ai-ui", signal } = {}) {
    return JSON.parse(await this.http.text(`${this.path}/messages?format=${format}`, { signal })).messages;
  }

  /** Closes the calls that the fields name, or all. */
  interrupt(fields = {}) {
    return this.post("interrupt", fields);
  }

  /** Posts the result of a call. */
  result(call, content = null, { status } = {}) {
    return this.post("results", { call: nameOf(call), content, status });
  }

  /** Posts that the tool of a call is alive. */
  progress(call, message, percent, options) {
    return this.post("progress", { call: nameOf(call), message: message === undefined ? undefined : String(message), percent }, options);
  }

  /** Ends the run, or the messages of the agent of a namespace. */
  end(reason = "completed", { namespace } = {}) {
    return this.post("end", { reason }, { headers: headersOf({ namespace }) });
  }

  /** Calls an agent with a signal, which is aborted when its run is interrupted. */
  untilStopped(agent) {
    const { calls } = this;
    return calls.use(async () => {
      await calls.live();
      const before = calls.stop?.seq;
      const stop = new AbortController(), over = new AbortController();
      const stopped = calls.until(() => (calls.stop?.seq === before ? undefined : calls.stop), over.signal);
      stopped.then((run) => stop.abort(new Cancelled(run)), () => {}); // without events, there is no stop
      try {
        return await agent(stop.signal);
      } finally {
        over.abort();
      }
    });
  }

  /** Answers a call that waits for a person. */
  answer(call, { decision, args, value, by }) {
    const target = call.call ?? (typeof call === "string" ? call : undefined);
    return this.post("answer", { call: target, interrupt_id: target ? undefined : call.interrupt_id, decision, args, value, by });
  }

  /** Resolves with the answer of a call. */
  waitForAnswer(call, { signal } = {}) {
    const record = () => this.calls.get(nameOf(call));
    return this.calls.use(async () => {
      const { answer, result } = await this.calls.until(() => (record().answer || record().result) && record(), signal);
      if (!answer) throw new Cancelled(result);
      return { decision: answer.decision, args: answer.tool_args, value: answer.value, by: answer.by };
    });
  }

  /** Returns a history in which each call has a result, or the same history where that is not possible. */
  async repair(messages, { shape, provider, session = this.name, options, signal, onUnrepaired = (reason) => this.http.warnOnce(`a history is not repaired: ${reason}`) } = {}) {
    try {
      const request = { messages, format: shape, session: session ?? undefined, options: { provider, ...options } };
      return (await this.http.post("/v1/repair", request, { signal, retryFor: 0 })).messages;
    } catch (error) {
      onUnrepaired(error.message);
      return messages;
    }
  }
}

/** Returns the name of a call, which may be given by any of its events. */
const nameOf = (call) => (typeof call === "string" ? call : call.call);
