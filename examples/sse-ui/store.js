// A store of one session's state, for any view: getSnapshot returns the state, and
// listeners are called after it has changed.

import { create, reduce } from "./reduce.js";

// createStore returns {getSnapshot, subscribe, push, receive, reset}. Listeners are
// called once for all events that arrive together; schedule(f) decides when.
export function createStore({ state = create(), schedule = queueMicrotask } = {}) {
  const listeners = new Set();
  let due = false;

  function notify() {
    due = false;
    for (const listener of listeners) listener();
  }
  function become(next) {
    if (next === state) return;
    state = next;
    if (due) return;
    due = true;
    schedule(notify);
  }

  return {
    getSnapshot: () => state,
    // subscribe adds a listener and returns the function that removes it.
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    // push folds an event; seq and bytes are those of reduce.
    push(event, seq, bytes) { become(reduce(state, event, seq, bytes)); },
    // receive folds the event of a frame of sse.js, if it has one. It throws
    // if the frame is no JSON object.
    receive(frame) {
      const event = eventOf(frame);
      if (event) become(reduce(state, event, Number(frame.id) || 0, frame.data.length));
      return event;
    },
    reset(next = create()) { become(next); },
  };
}

// eventOf returns the event in a frame, null for a frame about the stream itself. It
// throws if the frame is no JSON object.
export function eventOf({ event, data }) {
  const body = JSON.parse(data);
  if (body === null || typeof body !== "object" || Array.isArray(body)) throw new TypeError("the data of a frame is no object");
  if (event.startsWith("stream.")) return null;
  // The message for the history has no fields of an event, unless the stream has several sessions.
  if (event === "synthetic" && body.type !== "synthetic") return { type: "synthetic", message: body };
  return body;
}
