// Server-sent events over fetch: a parser, and a subscription that reconnects.
// The wire format is https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

const PART = 32 << 10; // bytes that are parsed at a time
const BUSY = 10; // ms of reading until other tasks have their turn
const MAX_FRAME = 16 << 20; // maximum number of characters of one frame; no event of a gateway is longer

// parser returns {push(bytes)}. It calls on.frame({event, data, id}) for each
// complete frame, on.comment(text) and on.retry(ms). Bytes may be cut anywhere.
// push throws when a frame grows beyond MAX_FRAME.
export function parser(on, lastId = "") {
  const decoder = new TextDecoder();
  let line = ""; // the unfinished line
  let afterCR = false; // a CR ended the last line: an LF that follows belongs to it
  let event = "", data = [], size = 0, id = lastId;

  function field(name, value) {
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d+$/.test(value)) on.retry?.(Number(value));
  }

  function endLine(text) {
    if (text === "") {
      if (data.length > 0) on.frame({ event: event || "message", data: data.join("\n"), id });
      event = "", data = [], size = 0;
      return;
    }
    size += text.length;
    const colon = text.indexOf(":");
    if (colon === 0) return on.comment?.(text.slice(1));
    if (colon < 0) return field(text, "");
    field(text.slice(0, colon), text.slice(colon + (text[colon + 1] === " " ? 2 : 1)));
  }

  return {
    push(bytes) {
      let text = decoder.decode(bytes, { stream: true });
      if (text === "") return;
      if (afterCR && text[0] === "\n") text = text.slice(1);
      afterCR = text === "" ? false : text.endsWith("\r");
      const breaks = /\r\n|\r|\n/g;
      let from = 0;
      for (let m; (m = breaks.exec(text)); from = breaks.lastIndex) {
        endLine(line + text.slice(from, m.index));
        line = "";
      }
      line += text.slice(from);
      if (size + line.length > MAX_FRAME) throw new Error("sse: a frame is longer than " + MAX_FRAME);
    },
  };
}

// turn resolves in another task. Unlike a timer, it does so at once in a hidden page.
const turn = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => resolve(port1.close());
  port2.postMessage(0);
});

// backoff returns the milliseconds to wait before the given attempt (from 1):
// full jitter below a doubling ceiling, at least 250.
export function backoff(attempt, base, random = Math.random) {
  const ceiling = Math.min(30_000, base * 2 ** Math.min(attempt - 1, 10));
  return Math.max(250, Math.round(random() * ceiling));
}

// complaint returns the text of an error answer: that of {"error": text}, or
// else its status.
export async function complaint(response) {
  const text = json(await response.text().catch(() => ""))?.error;
  return typeof text === "string" ? text.slice(0, 400) : "the server answered " + response.status;
}

function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// verdict returns the meaning of an HTTP status: "" to continue reading,
// "retry", or the state in which the subscription stops.
export function verdict(status) {
  if (status === 204) return "ended";
  if (status === 410) return "gone";
  if (status >= 200 && status < 300) return "";
  if (status === 408 || status === 425 || status === 429 || status >= 500) return "retry";
  return "refused";
}

// subscribe reads url until close() is called or the server ends the stream.
//
//   onFrame({event, data, id})  every frame, in order
//   onState({name, ...})        connecting, catching-up, live, ended, gone,
//                               refused (both with {status, why}), reconnecting
//                               {attempt, at, why}
//   onBytes(n)                  number of bytes received
//   onComment(text)             every comment, such as a heartbeat
//
// headers are sent with each request. credentials is that of fetch: "include"
// sends the cookie to a gateway of another origin.
//
// It resumes with Last-Event-ID. After a silence of three heartbeats, whose
// interval in ms is in stream.open, it reconnects.
export function subscribe(options) {
  const { url, onFrame, onState, onBytes, onComment, headers = {}, credentials = "same-origin" } = options;
  const get = options.fetch ?? globalThis.fetch.bind(globalThis);
  let lastId = options.lastEventId ?? "";
  let heartbeat = options.heartbeat ?? 15_000, base = 2_000, attempt = 0, closed = false;
  let abort = null, wake = null;

  function onEvent(frame) {
    lastId = frame.id;
    onFrame(frame);
    if (frame.event === "stream.live") {
      attempt = 0;
      onState({ name: "live" });
    } else if (frame.event === "stream.open") {
      const told = Number(json(frame.data)?.heartbeat_ms);
      if (told > 0) heartbeat = Math.min(told, 300_000);
    }
  }

  async function read(response, fed) {
    const frames = parser({ frame: onEvent, comment: onComment, retry: (ms) => (base = Math.min(Math.max(ms, 250), 60_000)) }, lastId);
    const reader = response.body.getReader();
    let began = performance.now();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      onBytes?.(value.length);
      for (let from = 0; from < value.length; from += PART) {
        frames.push(value.subarray(from, from + PART));
        fed(); // after the part, which can set the interval of heartbeats
        if (performance.now() - began > BUSY) await turn(), (began = performance.now());
        if (closed) return;
      }
    }
  }

  // once opens one connection and returns when it has ended: {stop: state} or {why, after}.
  async function once() {
    abort = new AbortController();
    let dog, silent = false;
    const fed = () => {
      clearTimeout(dog);
      dog = setTimeout(() => { silent = true; abort.abort(); }, 3 * heartbeat);
    };
    fed();
    try {
      const send = { Accept: "text/event-stream", ...headers };
      if (lastId !== "") send["Last-Event-ID"] = lastId;
      const response = await get(url, { headers: send, credentials, cache: "no-store", signal: abort.signal });
      const what = verdict(response.status);
      if (what !== "") {
        const why = await complaint(response);
        if (what !== "retry") return { stop: { name: what, status: response.status, why } };
        return { why, after: Number(response.headers.get("retry-after")) * 1000 || 0 };
      }
      onState({ name: "catching-up" });
      await read(response, fed);
      return { why: "the server closed the stream" };
    } catch (err) {
      return { why: silent ? "nothing was heard for " + (3 * heartbeat) / 1000 + " s" : err.message || "the network failed" };
    } finally {
      clearTimeout(dog);
      abort.abort();
    }
  }

  function pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => { clearTimeout(timer); resolve(); };
    });
  }

  async function run() {
    while (!closed) {
      onState({ name: "connecting" });
      const over = await once();
      if (closed) return;
      if (over.stop) return onState(over.stop);
      attempt++;
      const wait = Math.max(backoff(attempt, base, options.random), Math.min(over.after ?? 0, 120_000));
      onState({ name: "reconnecting", attempt, at: Date.now() + wait, why: over.why });
      await pause(wait);
    }
  }

  const finished = Promise.resolve().then(run); // after the caller has the returned object
  return {
    finished, // resolves when the subscription has stopped finally
    retryNow() { wake?.(); },
    close() { closed = true; abort?.abort(); wake?.(); },
  };
}
