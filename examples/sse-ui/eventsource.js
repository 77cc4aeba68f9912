// The subscription of sse.js over the EventSource of the browser. An EventSource
// sends no headers, shows neither heartbeats nor the status of a refusal, and
// delivers only the types that are named to it.

import { backoff, complaint, verdict } from "./sse.js";

// TYPES are the types of the frames of a native stream.
export const TYPES = [
  "stream.open", "stream.live", "stream.end", "run_started", "run_finished", "message_started", "message_finished",
  "agent_response_chunk", "part_finished", "human_message", "tool_call_start", "tool_call_args_delta", "tool_call_args_complete",
  "tool_call_awaiting_input", "tool_call_answered", "tool_call_progress", "tool_call_result", "tool_call_late_result", "tool_call_parent",
  "synthetic", "orphan_result", "rejected", "unmatched", "interrupted", "resumed", "session_erased",
];

// subscribe has the options and the result of subscribe of sse.js, except for
// headers. types are further types to deliver.
export function subscribe(options) {
  const { url, onFrame, onState, onBytes, credentials = "same-origin", types = [], random } = options;
  const Source = options.EventSource ?? globalThis.EventSource, get = options.fetch ?? globalThis.fetch?.bind(globalThis);
  let lastId = options.lastEventId ?? "", attempt = 0, timer = 0, source = null, closed = false, finish;
  const finished = new Promise((resolve) => (finish = resolve));

  function address() {
    if (lastId === "") return url;
    return url + (url.includes("?") ? "&" : "?") + "last_event_id=" + encodeURIComponent(lastId);
  }

  function connect() {
    clearTimeout(timer);
    timer = 0;
    onState({ name: "connecting" });
    const mine = (source = new Source(address(), { withCredentials: credentials === "include" }));
    mine.onopen = () => mine === source && onState({ name: "catching-up" });
    mine.onerror = () => mine === source && failed(mine);
    for (const type of [...TYPES, ...types]) mine.addEventListener(type, (message) => mine === source && receive(type, message));
  }

  function receive(type, { data, lastEventId }) {
    lastId = lastEventId || lastId;
    onBytes?.(data.length);
    onFrame({ event: type, data, id: lastId });
    if (type !== "stream.live") return;
    attempt = 0;
    onState({ name: "live" });
  }

  // failed replaces a source whose connection has ended, because one that reconnects
  // by itself keeps its first cursor. A refusal is visible to a second request only.
  async function failed(mine) {
    const refused = mine.readyState === Source.CLOSED;
    mine.close();
    const over = refused ? await inquire() : { why: "the connection has ended" };
    if (closed || mine !== source) return;
    if (over.stop) {
      onState(over.stop);
      return close();
    }
    const wait = backoff(++attempt, 2_000, random);
    onState({ name: "reconnecting", attempt, at: Date.now() + wait, why: over.why });
    timer = setTimeout(connect, wait);
  }

  async function inquire() {
    const abort = new AbortController();
    try {
      const response = await get(address(), { credentials, cache: "no-store", signal: abort.signal, headers: { Accept: "text/event-stream" } });
      const what = verdict(response.status);
      if (what === "") return { why: "the connection has ended" };
      const why = await complaint(response);
      return what === "retry" ? { why } : { stop: { name: what, status: response.status, why } };
    } catch (err) {
      return { why: err.message || "the network failed" };
    } finally {
      abort.abort();
    }
  }

  function close() {
    closed = true;
    clearTimeout(timer);
    source?.close();
    finish();
  }

  Promise.resolve().then(() => closed || connect()); // after the caller has the returned object
  return { finished, retryNow() { if (timer) connect(); }, close };
}
