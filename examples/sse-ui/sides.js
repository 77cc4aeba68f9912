// The same session in several protocols, side by side.

import { el, say } from "./dom.js";
import { bytes, plural } from "./words.js";
import { parser, complaint } from "./sse.js";
import { mentions } from "./frames.js";
import { splitter } from "./splitter.js";

const PROTOCOLS = { native: "Native", "ai-sdk": "AI SDK", "ag-ui": "AG-UI", langgraph: "LangGraph" };
const MAX_READ = 5_000; // frames of a protocol
const MAX_ROWS = 300; // the newest of them are shown
const SHOWN = 600; // characters of a frame
const QUIET = 5_000; // ms without a frame until a stream is closed: a browser has few connections to a server

// sides returns {node, open(call), close(), draw()}. The native frames are those that
// the page has received; each other protocol is a stream of its own, which is read
// until it ends or is silent. With a call, only the frames that name it are shown.
export function sides(actions) {
  const node = el("div", { class: "sides", hidden: true });
  let columns = [];

  return {
    node,
    open(call) {
      this.close();
      columns = Object.entries(PROTOCOLS).map(([name, title]) => column(name, title, call, actions));
      node.replaceChildren(...columns.flatMap((c, i) => (i === 0 ? [c.node] : [between(columns[i - 1], c), c.node])));
      for (const c of columns) c.read();
    },
    close() {
      for (const c of columns) c.stop();
      columns = [];
    },
    draw() {
      for (const c of columns) c.draw();
    },
  };
}

// between returns the separator of two columns.
function between({ node: left, title }, { node: right }) {
  return splitter({
    name: "side " + title, label: "Width of " + title, usual: 50, beside: true, size: () => left.offsetWidth + right.offsetWidth,
    apply(share) {
      const both = (Number(left.style.flexGrow) || 1) + (Number(right.style.flexGrow) || 1);
      left.style.flexGrow = (both * share) / 100, right.style.flexGrow = both * (1 - share / 100);
    },
  });
}

function column(name, title, call, actions) {
  const frames = [];
  let size = 0, status = "", drawn = 0, due = 0;
  let abort = new AbortController(), quiet = 0;
  const state = el("p", { class: "sides-state" });
  const again = el("button", { type: "button", class: "link", hidden: true, onclick: restart }, "read again");
  const list = el("ol", { tabindex: "0", "aria-label": "Frames of " + title });
  const node = el("section", { "data-protocol": name, "aria-label": title }, el("h3", {}, title), state, again, list);

  function add(frame) {
    frames.push(frame);
    size += frame.data.length;
    if (frames.length >= MAX_READ) abort.abort();
    heard();
    due ||= requestAnimationFrame(draw);
  }

  // heard closes the stream after a silence.
  function heard() {
    clearTimeout(quiet);
    quiet = setTimeout(() => abort.abort(), QUIET);
  }

  function restart() {
    frames.length = size = drawn = 0;
    list.replaceChildren();
    abort = new AbortController();
    read();
  }

  function draw() {
    due = 0;
    if (name === "native") adopt();
    const low = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    for (; drawn < frames.length; drawn++) {
      if (call && !mentions(frames[drawn], call)) continue;
      list.append(item(frames[drawn]));
      if (list.childElementCount > MAX_ROWS) list.firstChild.remove();
    }
    if (low) list.scrollTop = list.scrollHeight;
    say(state, [plural(frames.length, "frame"), bytes(size), status].filter(Boolean).join(" · "));
  }

  // adopt takes the frames that the page has received since.
  function adopt() {
    const known = frames.at(-1)?.n ?? 0;
    const all = actions.frames.list;
    for (let i = all.findLastIndex((f) => f.n <= known) + 1; i < all.length; i++) {
      if (all[i].event === "") continue; // a heartbeat
      frames.push(all[i]);
      size += all[i].size;
    }
    status = "";
  }

  async function read() {
    if (name === "native") return draw();
    status = "reading";
    again.hidden = true;
    heard();
    draw();
    try {
      status = await stream(actions.session(), name, abort.signal, add);
    } catch (err) {
      status = !abort.signal.aborted ? err.message || "the network failed" : frames.length >= MAX_READ ? "the first " + MAX_READ : "no more for " + QUIET / 1_000 + " s";
    }
    clearTimeout(quiet);
    again.hidden = false;
    draw();
  }

  return {
    node, title, read, draw,
    stop() {
      clearTimeout(quiet);
      abort.abort();
      cancelAnimationFrame(due);
    },
  };
}

// stream reads a protocol to its end and returns how it ended.
async function stream(session, protocol, signal, add) {
  const url = "/v1/sessions/" + encodeURIComponent(session) + "/events?protocol=" + protocol;
  const response = await fetch(url, { headers: { Accept: "text/event-stream" }, cache: "no-store", signal });
  if (response.status === 204) return "no run yet";
  if (!response.ok) throw new Error(await complaint(response));
  const frames = parser({ frame: add });
  const reader = response.body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return "ended";
    frames.push(value);
  }
}

function item(frame) {
  const long = frame.data.length > SHOWN;
  const pre = el("pre", {}, long ? frame.data.slice(0, SHOWN) + "…" : frame.data);
  const li = el("li", {}, frame.event === "message" ? null : el("code", {}, frame.event), pre);
  if (long) {
    const more = el("button", { type: "button", class: "more", onclick() {
      say(pre, frame.data);
      more.remove();
    } }, "Show all " + bytes(frame.data.length));
    li.append(more);
  }
  return li;
}
