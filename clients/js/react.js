// Hooks for React: the state of a session, and of one call.

import { createElement, useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { showCard, showWaterfall } from "streamer-sse-ui/elements.js";
import { createStore } from "streamer-sse-ui/store.js";

import { Gone } from "./errors.js";

const followed = new WeakMap(); // by session, so that all hooks share a connection

/**
 * Returns the state of a session, and of the connection to it.
 * @param {import("./session.js").Session} session
 */
export function useSession(session) {
  const { subscribe, snapshot } = of(session);
  return useSyncExternalStore(subscribe, snapshot, snapshot);
}

/**
 * Returns a call of a session, and what a person can do with it. A call without an event yet is undefined.
 * @param {import("./session.js").Session} session
 * @param {string} id its name, or the toolCallId of a chat
 */
export function useCall(session, id) {
  const { subscribe, find } = of(session);
  const snapshot = useCallback(() => find(id), [find, id]);
  const call = useSyncExternalStore(subscribe, snapshot, snapshot);
  return useMemo(() => ({
    call,
    answer: (answer) => session.answer(call, answer),
    stop: (reason) => session.interrupt({ call: call.call, reason }),
  }), [session, call]);
}

/**
 * Keeps a chat of useChat equal to its session: it shows the runs and the ends of calls of other tabs and devices.
 * @param {import("./session.js").Session} session
 * @param {object} chat what useChat returns
 * @param {() => Promise<object[]>} load returns the messages
 */
export function useFollow(session, { status, setMessages, resumeStream, stop }, load = () => session.messages()) {
  const { state, connection } = useSession(session);
  const busy = status === "submitted" || status === "streaming";
  const news = connection === "live" ? [state.timeline.size, state.tally.calls, state.open.length].join() : "";
  const latest = useRef();
  latest.current = { busy, news, run: state.run };
  const seen = useRef(""), resumed = useRef(false);
  useEffect(() => {
    if (busy && resumed.current && !state.run && state.open.length > 0) stop(); // the reading of a run that waits for a person
    if (busy) seen.current = ""; // a request that fails leaves what the log does not have
    if (busy || !news || seen.current === news) return;
    seen.current = news;
    load().then((messages) => {
      if (latest.current.busy || latest.current.news !== news) return; // a later effect loads them
      setMessages(messages);
      if (!latest.current.run) return;
      resumed.current = true;
      resumeStream().finally(() => (resumed.current = false));
    }, (error) => {
      seen.current = "";
      session.http.warn(`the messages of a chat are not loaded: ${error.message}`);
    });
  }, [busy, news, state.run]);
}

function of(session) {
  if (!followed.has(session)) followed.set(session, new Followed(session));
  return followed.get(session);
}

/** Followed reads the events of a session while a component uses it. */
class Followed {
  #store = createStore();
  #session;
  #connection = "connecting";
  #listeners = new Set();
  #snapshot;
  #reading;

  constructor(session) {
    this.#session = session;
    this.#store.subscribe(() => this.#become(this.#connection));
    this.#become("connecting");
  }

  snapshot = () => this.#snapshot;

  find = (id) => {
    const { calls } = this.#snapshot.state;
    if (calls.has(id)) return calls.get(id);
    for (let i = 1; i <= calls.size; i++) if (calls.at(-i).uid === id) return calls.at(-i);
  };

  subscribe = (listener) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#read();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#reading.abort();
    };
  };

  async #read() {
    const { signal } = (this.#reading = new AbortController());
    this.#become("connecting");
    try {
      const after = this.#store.getSnapshot().seq || undefined;
      const events = this.#session.events({ after, signal, onLive: () => this.#become("live") });
      for await (const event of events) {
        if (signal.aborted) return;
        this.#store.push(event, event.seq);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Gone)) return this.#become("failed", error);
      this.#store.reset();
      this.#read();
    }
  }

  #become(connection, error) {
    this.#connection = connection;
    this.#snapshot = { state: this.#store.getSnapshot(), connection, error };
    for (const listener of this.#listeners) listener();
  }
}

/** Draws a call. The actions are those of showCard of streamer-sse-ui. */
export const CallCard = ({ call, actions, ...attributes }) => useDrawn(showCard, call, actions, attributes);

/** Draws the calls of a state on a time axis. choose gets the name of a call that is chosen. */
export const Waterfall = ({ state, choose, ...attributes }) => useDrawn(showWaterfall, state, { choose }, attributes);

function useDrawn(show, value, options = {}, attributes) {
  const host = useRef(null), drawn = useRef(null), latest = useRef(options);
  latest.current = options;
  const offered = Object.keys(options).filter((name) => options[name] !== undefined);
  useEffect(() => {
    const stable = (name) => (typeof options[name] === "function" ? (...all) => latest.current[name](...all) : options[name]);
    drawn.current = show(host.current, value, Object.fromEntries(offered.map((name) => [name, stable(name)])));
    return () => drawn.current.close();
  }, [offered.join()]);
  useEffect(() => drawn.current.update(value), [value]);
  return createElement("div", { ...attributes, ref: host });
}
