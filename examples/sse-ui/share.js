// One connection for all pages of a browser. Browsers allow six connections to a
// server over HTTP/1.1, so that a seventh page would wait for ever.
//
// The page that holds a Web Lock is the leader. It reads the sessions of all pages
// from one stream and passes the frames on through a BroadcastChannel. Each page
// reads its history on a connection of its own, which it closes at the end of the
// history. A page whose leader is silent reads alone.

import { subscribe } from "./sse.js";

const LEADER = "streamer leader", CHANNEL = "streamer events";
const BATCH = 64; // maximum number of frames passed on at a time
const GATHER = 50; // ms in which the leader collects wishes before it connects again

const stops = new Set(["ended", "gone", "refused"]);

// sharing returns {subscribe, close}; subscribe has the options of sse.js and also
// session. Without Web Locks or BroadcastChannel each subscription has its own
// connection.
//
//   address(sessions)  returns the URL of the stream of the sessions
//   wait               ms after which a page without a leader reads alone
//   patience           ms of silence after which a leader is replaced; browsers
//                      may delay the timers of hidden pages by a minute
export function sharing(options) {
  const { address, open = subscribe, wait = 3_000, patience = 100_000 } = options;
  const locks = options.locks ?? globalThis.navigator?.locks;
  const channel = options.channel ?? (globalThis.BroadcastChannel && locks ? new BroadcastChannel(CHANNEL) : null);
  if (!locks || !channel) return { subscribe: (o) => open(o), restart() {}, close() {} };

  const page = crypto.randomUUID(), members = new Set();
  let leader = null, heard = 0, count = 0, closed = false;
  // The last frame of the shared stream and its session: the cursor of the next leader.
  const last = { id: 0, session: "" };

  // say passes a message to all pages, this one included.
  function say(message) {
    if (closed) return;
    channel.postMessage(message);
    hear(message);
  }

  function hear(message) {
    if (closed) return;
    if (Object.hasOwn(toLeader, message.kind)) return void (leader && toLeader[message.kind](message));
    heard = Date.now();
    if (message.kind === "frames" && message.list.length > 0) ({ id: last.id, session: last.session } = message.list.at(-1));
    for (const member of members) member.hear(message);
  }
  const toLeader = {
    want: (m) => leader.want(m),
    leave: (m) => leader.leave(m.id),
    retry: () => leader.retry(),
  };
  channel.onmessage = ({ data }) => hear(data);

  // apply waits until this page is the leader, at once with steal.
  function apply(steal = false) {
    const held = () => closed ? undefined : new Promise((resolve) => {
      leader = lead({ address, open, locks, say, last, patience, resolve });
      say({ kind: "leader" });
    });
    locks.request(LEADER, { steal }, held).catch((err) => {
      // AbortError: another page has replaced this one.
      leader?.close();
      leader = null;
      if (!closed && err.name === "AbortError") apply();
    });
  }
  apply();

  const watch = setInterval(() => {
    const relying = [...members].some((m) => m.relies());
    if (!relying) heard = Date.now();
    else if (!leader && Date.now() - heard > patience) {
      heard = Date.now();
      apply(true);
    }
  }, Math.max(10, patience / 9));

  return {
    subscribe(o) {
      const id = page + " " + ++count;
      let release;
      // The lock tells the leader when this page is gone.
      locks.request(tabLock(id), () => new Promise((resolve) => (release = resolve)));
      const member = join(o, { id, open, wait, say });
      members.add(member);
      member.finished.then(() => {
        members.delete(member);
        say({ kind: "leave", id });
        release?.();
      });
      return member;
    },
    // restart opens the shared connection again, if this page has it.
    restart() { leader?.restart(); },
    close() {
      closed = true;
      clearInterval(watch);
      for (const member of members) member.close();
      leader?.close();
      channel.close();
    },
  };
}

const tabLock = (id) => "streamer page " + id;

// lead reads the stream of all wanted sessions until close().
function lead({ address, open, locks, say, last, patience, resolve }) {
  const wants = new Map(); // id of a subscription → its session
  let stream = null, timer = 0, carried = [], list = [];
  const beat = setInterval(say, patience / 6, { kind: "pulse" });
  let state = { name: "connecting" }, at = 0, opened = false;
  let adding = false; // the stream is opened again for another session, which is no news for the others

  const announce = () => say({ kind: "carry", sessions: carried, at: Math.max(at, last.id), state, pages: wants.size });

  function flush() {
    if (list.length > 0) say({ kind: "frames", list: list.splice(0) });
  }

  function onFrame({ event, data, id }) {
    if (event === "stream.open") {
      at = Number(JSON.parse(data).from) || 0, opened = true;
      return announce();
    }
    if (event === "stream.live") flush(), say({ kind: "aside", frame: { event, data, id } });
    if (event.startsWith("stream.")) return;
    if (list.length === 0) queueMicrotask(flush);
    list.push({ event, data, id: Number(id), session: (carried.length > 1 && JSON.parse(data).session) || carried[0] });
    if (list.length >= BATCH) flush(); // within the time that the reader takes for itself
  }

  function onState(next) {
    flush();
    if (adding && (next.name === "connecting" || next.name === "catching-up")) return;
    adding = false, state = next;
    if (!stops.has(next.name)) return say({ kind: "state", state });
    stop();
    wants.clear();
    say({ kind: "failed" });
  }

  function stop() {
    flush();
    stream?.close();
    stream = null, carried = [], opened = false;
  }

  function connect() {
    timer = 0;
    flush();
    const cursor = last.id, sessions = [...new Set(wants.values())];
    // A cursor is an event of one of the sessions of its stream.
    if (cursor > 0 && !sessions.includes(last.session)) sessions.push(last.session);
    stop();
    if (wants.size === 0) return;
    carried = sessions, adding = true;
    const mine = (stream = open({
      url: address(sessions), lastEventId: cursor > 0 ? String(cursor) : "",
      onFrame: (f) => mine === stream && onFrame(f),
      onComment: (text) => mine === stream && say({ kind: "aside", text }),
      onState: (s) => mine === stream && onState(s),
    }));
  }

  return {
    want({ id, session, seen }) {
      if (!wants.has(id)) locks.request(tabLock(id), () => this.leave(id));
      wants.set(id, session);
      if (carried.includes(session)) return opened ? announce() : say({ kind: "state", state });
      flush();
      // A later cursor spares the history; the pages whose events before it are missing read them.
      if (seen > last.id) Object.assign(last, { id: seen, session });
      say({ kind: "state", state });
      timer ||= setTimeout(connect, GATHER);
    },
    leave(id) {
      if (!wants.delete(id)) return;
      if (wants.size === 0) stop();
      else if (opened) announce();
    },
    retry: () => stream?.retryNow(),
    restart: () => stream && connect(),
    close() {
      clearTimeout(timer);
      clearInterval(beat);
      stop();
      wants.clear();
      resolve();
    },
  };
}

// join is the subscription of one page. Its phases are reading (the history, on a
// connection of its own), waiting (for the shared stream), attached and alone.
function join(options, { id, open, wait, say }) {
  const { session, onFrame, onState, onBytes, onComment } = options;
  let phase = "", own = null, timer = 0, finish;
  let seen = Number(options.lastEventId) || 0; // the last event of the session
  let covered = 0; // all events of the session until this sequence have been received
  let carrying = false, at = 0, reached = 0, buffer = [], pages = 1, shared = { name: "connecting" };

  function deliver(frame) {
    if (frame.id !== "" && !frame.event.startsWith("stream.")) {
      const seq = Number(frame.id);
      if (seq <= seen) return;
      seen = seq;
    }
    onFrame(frame);
  }

  // connect opens a connection of the page's own; live() is called at the end of the history.
  function connect(live, quiet = false) {
    own?.close();
    let bound = 0;
    const mine = (own = open({
      ...options, lastEventId: seen > 0 ? String(seen) : "",
      onFrame(frame) {
        if (mine !== own) return;
        if (frame.event === "stream.open") bound = Number(JSON.parse(frame.data).last) || 0;
        deliver(frame);
      },
      onState(state) {
        if (mine !== own) return;
        if (state.name === "live") {
          covered = Math.max(covered, bound, seen);
          return live(state);
        }
        if (!quiet || state.name === "reconnecting" || stops.has(state.name)) onState(state);
        if (stops.has(state.name)) close();
      },
    }));
  }

  function read() {
    const quiet = phase === "attached" || phase === "waiting";
    phase = "reading";
    clearTimeout(timer);
    connect(() => {
      own.close();
      own = null;
      if (carrying) return attach();
      phase = "waiting";
      ask();
    }, quiet);
  }

  function ask() {
    clearTimeout(timer);
    timer = setTimeout(alone, wait);
    say({ kind: "want", id, session, seen });
  }

  function alone() {
    phase = "alone";
    clearTimeout(timer);
    connect(onState);
  }

  // attach continues with the shared stream, or reads what lies between.
  function attach() {
    if (at > covered) return read();
    phase = "attached";
    clearTimeout(timer);
    covered = Math.max(covered, reached);
    for (const f of buffer.splice(0)) deliver(f);
    report();
  }

  function report() {
    if (phase === "attached") onState({ ...shared, shared: pages });
  }

  const messages = {
    leader() {
      carrying = false;
      if (phase === "attached") phase = "waiting";
      if (phase === "waiting") ask();
      else if (phase === "alone") say({ kind: "want", id, session, seen });
    },
    carry(m) {
      ({ pages, at, state: shared } = m);
      carrying = m.sessions.includes(session);
      buffer = [], reached = at;
      if (!carrying) return messages.leader();
      if (phase === "alone") read();
      else if (phase !== "reading") attach();
    },
    frames({ list }) {
      if (!carrying) return;
      reached = list.at(-1).id;
      for (const f of list) if (f.session === session) take({ event: f.event, data: f.data, id: String(f.id) });
      if (phase === "attached") covered = Math.max(covered, reached);
    },
    state(m) {
      shared = m.state;
      if (phase === "waiting") clearTimeout(timer); // the leader has the wish
      report();
    },
    // aside passes on what is about the shared connection.
    aside({ frame, text }) {
      if (phase !== "attached") return;
      if (frame) onFrame(frame);
      else onComment?.(text);
    },
    failed() {
      carrying = false;
      if (phase !== "alone") alone();
    },
    pulse() {},
  };

  function take(frame) {
    onBytes?.(frame.data.length);
    if (phase === "attached") deliver(frame);
    else buffer.push(frame);
  }

  function close() {
    phase = "closed";
    clearTimeout(timer);
    own?.close();
    own = null;
    finish();
  }

  const finished = new Promise((resolve) => (finish = resolve));
  Promise.resolve().then(() => phase === "" && read()); // after the caller has the returned object
  return {
    finished,
    hear(message) { if (phase !== "closed" && phase !== "") messages[message.kind]?.(message); },
    relies: () => phase === "attached" || phase === "waiting",
    retryNow() {
      own?.retryNow();
      say({ kind: "retry" });
    },
    close,
  };
}
