// What the page shows: the live session, a moment of its past, or the events of a
// file.

import { subscribe } from "./sse.js";
import { eventOf } from "./store.js";

// stage returns the source of what is drawn. bar is the element of the scrubber,
// and changed() is called when something else is to be drawn.
//
//   state(live), now(live)  the state and the time to draw, instead of the live ones
//   name                    live, replay or file
//   replay(url)             replays the stored events of a session
//   file(name, events)      shows the events of a file
//   push(event, seq, bytes) adds a live event to the replay
//   end()                   shows the live session again
export function stage(bar, { changed, left }) {
  let shown = null, loading = null;

  async function show(name, replay, text) {
    const { scrubber } = await import("./later.js");
    const mine = { name, replay, state: replay.at(text.plays ? 0 : replay.length), ms: text.plays ? replay.start : replay.end, bar: null };
    end(false);
    shown = mine;
    mine.bar = scrubber(bar, replay, {
      ...text,
      onMove(state, ms) {
        Object.assign(mine, { state, ms });
        if (mine === shown) changed();
      },
      onClose() {
        end();
        left(name);
      },
    });
    changed();
  }

  function end(draw = true) {
    loading?.close();
    loading = null;
    if (!shown) return;
    shown.bar?.close();
    shown = null;
    if (draw) changed();
  }

  return {
    get name() { return shown?.name ?? "live"; },
    get records() { return shown?.replay; },
    state: (live) => shown?.state ?? live,
    now: (live) => shown?.ms ?? live,
    end,
    push(event, seq, bytes) {
      if (shown?.name !== "replay" || seq <= (shown.replay.record(shown.replay.length - 1)?.seq ?? 0)) return;
      shown.replay.push(event, seq, bytes);
      shown.bar?.grow();
    },
    async replay(url) {
      const replay = await record();
      await load(url, replay, (s) => (loading = s));
      if (replay.length > 0) await show("replay", replay, { title: "Replay", closeText: "Back to live", plays: true });
    },
    async file(name, events) {
      const replay = await record();
      events.forEach((event, i) => replay.push(event, i + 1, 0));
      await show("file", replay, { title: "Replay of " + name, closeText: "Close file" });
    },
  };
}

// record returns an empty replay.
export const record = async () => (await import("./later.js")).createReplay();

// load reads the stored events of a session into replay. begun receives the stream,
// which can be closed.
export function load(url, replay, begun = () => {}) {
  return new Promise((resolve, reject) => {
    const stream = subscribe({
      url,
      onFrame(frame) {
        const event = read(frame);
        if (event) replay.push(event, Number(frame.id) || 0, frame.data.length);
      },
      onState(s) {
        if (s.name === "gone" || s.name === "refused") reject(new Error(s.why));
        if (s.name !== "live") return;
        stream.close();
        resolve(replay);
      },
    });
    begun(stream);
  });
}

function read(frame) {
  try {
    return eventOf(frame);
  } catch {
    return null; // an unreadable frame is left out
  }
}
