// Server-sent events over fetch, which resume after each lost connection.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

import { StreamerError } from "./errors.js";
import { backoff, pause } from "./http.js";

const MAX_FRAME = 16 << 20; // characters; no event of a server is longer

/** Returns a function that returns the frames {event, data, id, retry} which bytes complete. */
export function parser() {
  const decoder = new TextDecoder();
  let rest = ""; // the unfinished line
  let afterCR = false; // a CR ended the last line: an LF that follows belongs to it
  let frame = { event: "", data: [], size: 0 }, id = "", retry;

  function field(name, value) {
    if (name === "event") frame.event = value;
    else if (name === "data") frame.data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d+$/.test(value)) retry = Number(value);
  }

  function endLine(line, frames) {
    if (line === "") {
      const { event, data } = frame;
      if (data.length > 0) frames.push({ event: event || "message", data: data.join("\n"), id, retry });
      frame = { event: "", data: [], size: 0 };
      return;
    }
    frame.size += line.length;
    const colon = line.indexOf(":");
    if (colon < 0) field(line, "");
    else if (colon > 0) field(line.slice(0, colon), line.slice(colon + (line[colon + 1] === " " ? 2 : 1)));
  }

  return (bytes) => {
    const frames = [];
    let text = decoder.decode(bytes, { stream: true });
    if (text === "") return frames;
    if (afterCR && text[0] === "\n") text = text.slice(1);
    afterCR = text.endsWith("\r");
    const lines = text.split(/\r\n|\r|\n/);
    for (const line of lines.slice(0, -1)) {
      endLine(rest + line, frames);
      rest = "";
    }
    rest += lines.at(-1);
    if (frame.size + rest.length > MAX_FRAME) throw Object.assign(new StreamerError(`streamer: a frame is longer than ${MAX_FRAME} characters`), { status: 200 });
    return frames;
  };
}

/**
 * Yields the frames of the events at a path until the signal is aborted. It connects again
 * with the id of the last frame, so that no event is lost or repeated.
 */
export async function* subscribe(http, events, { after, types, signal }) {
  const path = types ? `${events}?types=${types.map(encodeURIComponent).join(",")}` : events;
  let cursor = after, base = 2_000, attempt = 0;
  const state = { heartbeat: 15_000 };
  while (!signal.aborted) {
    let wait = 0;
    try {
      for await (const frame of connection(http, path, cursor, signal, state)) {
        if (frame.retry !== undefined) base = Math.min(Math.max(frame.retry, 250), 60_000);
        if (frame.event === "stream.open") state.heartbeat = JSON.parse(frame.data).heartbeat_ms ?? state.heartbeat;
        if (frame.event === "stream.live") attempt = 0;
        cursor = frame.id || cursor;
        yield frame;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.temporary === false) throw error;
      if (error.status === 0) http.warnOnce(`no events yet: ${error.message}`);
      wait = error.retryAfter ?? 0;
    }
    if (signal.aborted) return;
    yield { event: "stream.lost" };
    await pause(Math.max(backoff(++attempt, base), wait), signal);
  }
}

/** Yields the frames of one connection. A silence of three heartbeats ends it. */
async function* connection(http, path, cursor, signal, state) {
  const abort = new AbortController();
  const parse = parser();
  let silence;
  const alive = () => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort(), 3 * state.heartbeat);
  };
  const stop = () => abort.abort();
  signal.addEventListener("abort", stop);
  try {
    alive();
    const headers = { Accept: "text/event-stream", ...(cursor ? { "Last-Event-ID": String(cursor) } : {}) };
    const response = await http.request(path, { headers, signal: abort.signal });
    const reader = response.body.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      alive();
      for (const frame of parse(value)) {
        if (signal.aborted) return;
        yield frame;
      }
    }
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", stop);
    abort.abort(); // closes the connection
  }
}
