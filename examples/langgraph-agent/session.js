// A session of streamer: it publishes what an agent streams, and stops the tools whose
// calls were closed from outside.

import { jetstream } from "@nats-io/jetstream";
import { connect, headers } from "@nats-io/transport-node";
import { randomUUID } from "node:crypto";

/**
 * Connects to NATS and opens a session.
 * @param {string} url of NATS
 * @param {string} name of the session
 */
export async function openSession(url, name) {
  const { host, username, password } = new URL(url); // the client takes no credentials from a URL
  const login = username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  const nc = await connect({ servers: host, ...login, maxReconnectAttempts: -1 });
  const js = jetstream(nc);
  const token = tokenOf(name);
  const prefix = randomUUID(); // message ids of different runs and publishers differ
  let published = 0;
  const run = new AbortController();
  const calls = new Map(); // AbortControllers by id of the call
  const passed = new Map(); // functions that resolve promises, by id of the call

  const call = (id) => {
    if (!calls.has(id)) calls.set(id, new AbortController());
    return calls.get(id);
  };
  watch(nc, `toolcalls.${token}.event.tool_call_result`, (event) => {
    if (event.synthetic) call(event.id).abort(event.tool_result); // no tool answered: it was closed
  });
  watch(nc, `toolcalls.${token}.event.run_finished`, (event) => {
    if (event.status === "cancelled") run.abort(event.reason.text);
  });
  watch(nc, `toolcalls.${token}.event.unmatched`, (event) => {
    for (const id of event.target.tool_call_ids ?? []) passed.get(id)?.();
  });
  await nc.flush(); // from here on, no interrupt is missed

  const publish = (kind, body) => {
    const h = headers();
    if (kind === "delta") h.set("Streamer-Format", "langchain");
    // A publish that is repeated is stored once, because of its id.
    return js.publish(`llm.${token}.${kind}`, JSON.stringify(body), { msgID: `${token}:${kind}:${prefix}-${++published}`, headers: h });
  };

  // An interrupt of everything closes the calls, and then ends the run. A progress of a
  // closed call causes an event of type unmatched. Events are in the order of the
  // inputs, so this event comes after the end of the run, if there is one.
  const interruptPassed = async (id) => {
    const arrived = new Promise((resolve) => passed.set(id, resolve));
    await publish("progress", { tool_call_id: id, message: "stopped" });
    await arrived;
  };

  return {
    /** Aborted when the run is interrupted as a whole. */
    signal: run.signal,

    /** Publishes an input: delta, result, progress or end. Await it, because inputs must arrive in order. */
    publish,

    /** Reports whether a call was closed from outside. */
    stopped: (id) => calls.get(id)?.signal.aborted ?? false,

    /**
     * Returns a tool function that gets a signal. When the call is closed, the tool
     * must end, and its result is the text with which the call was closed. The ids of
     * calls must be unique in the session.
     */
    stoppable: (tool) => async (args, config) => {
      const { signal } = call(config.toolCall.id);
      try {
        return await tool(args, AbortSignal.any([signal, run.signal]));
      } catch (error) {
        if (!signal.aborted) throw error;
        console.log(`${config.toolCall.name} stopped: ${signal.reason}`);
        await interruptPassed(config.toolCall.id);
        run.signal.throwIfAborted(); // the model must not continue
        return signal.reason;
      }
    },

    close: () => nc.drain(),
  };
}

/** Calls a function with each event that the server publishes on a subject. */
function watch(nc, subject, take) {
  nc.subscribe(subject, {
    callback: (error, message) => {
      // A message with another Nats-Subject is not a stored event, see docs/operations.md.
      if (!error && message.headers?.get("Nats-Subject") === message.subject) take(message.json());
    },
  });
}

/** Returns the token of a session in subjects. */
const tokenOf = (name) =>
  Array.from(Buffer.from(name), (byte) => {
    const letter = String.fromCharCode(byte);
    return /[\w-]/.test(letter) ? letter : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
