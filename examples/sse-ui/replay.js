// The states of a recorded session at any moment, and playback in time.

import { create, reduce } from "./reduce.js";

const EVERY = 64; // events between two states that are kept

// createReplay returns the states of a list of events, which may grow. A state is
// folded from the nearest one that is kept, so that any moment costs at most
// EVERY events.
export function createReplay() {
  const records = []; // {event, seq, bytes, at}
  const kept = [create()]; // kept[i] is the state after i * EVERY events
  let last = { n: 0, state: kept[0] };

  // at returns the state after the first n events.
  function at(n) {
    n = Math.max(0, Math.min(Math.trunc(n), records.length));
    let from = Math.min(Math.floor(n / EVERY), kept.length - 1);
    let state = kept[from], done = from * EVERY;
    if (last.n > done && last.n <= n) ({ n: done, state } = last);
    for (; done < n; done++) {
      const { event, seq, bytes } = records[done];
      state = reduce(state, event, seq, bytes);
      if ((done + 1) % EVERY === 0) kept[(done + 1) / EVERY] ??= state;
    }
    last = { n, state };
    return state;
  }

  // count returns the number of events for which holds(record) is true; it is true
  // for the first ones only.
  function count(holds) {
    let low = 0, high = records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(records[middle])) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    // push adds an event to the end; seq and bytes are those of reduce.
    push(event, seq = 0, bytes = 0) {
      const before = records.at(-1)?.at ?? 0;
      records.push({ event, seq, bytes, at: Math.max(before, Date.parse(event.timestamp) || before) });
    },
    get length() { return records.length; },
    get start() { return records[0]?.at ?? 0; }, // time of the first event, in ms
    get end() { return records.at(-1)?.at ?? 0; },
    record: (n) => records[n],
    at,
    // countAt returns the number of events until the given time, countSeq until
    // the given sequence, both included.
    countAt: (ms) => count((r) => r.at <= ms),
    countSeq: (seq) => count((r) => r.seq <= seq),
    // stateAt returns the state at the given time.
    stateAt: (ms) => at(count((r) => r.at <= ms)),
  };
}

// createPlayer moves a position through the time of a replay. onMove(ms, playing)
// receives each position; the state there is replay.stateAt(ms). frame(f)
// calls f before the next frame, and now() is a clock in ms. gap is the longest
// silence that is played, in ms of the viewer; longer ones are shortened.
export function createPlayer(replay, { onMove, gap = Infinity, frame = requestAnimationFrame, now = () => performance.now() }) {
  let ms = replay.start, speed = 1, playing = false, before = 0, round = 0;

  function move(next) {
    ms = Math.max(replay.start, Math.min(next, replay.end));
    onMove(ms, playing);
  }

  function step(mine) {
    if (!playing || mine !== round) return;
    const time = now();
    let next = ms + (time - before) * speed;
    before = time;
    const coming = replay.record(replay.countAt(ms));
    if (coming) next = Math.max(next, coming.at - gap * speed);
    if (next >= replay.end) playing = false;
    move(next);
    if (playing) frame(() => step(mine));
  }

  return {
    get position() { return ms; },
    get playing() { return playing; },
    get speed() { return speed; },
    // play continues at the given multiple of the recorded speed, from the start if
    // the end is reached.
    play(times = speed) {
      speed = times;
      if (playing) return;
      if (ms >= replay.end) ms = replay.start;
      playing = true, before = now();
      const mine = ++round;
      onMove(ms, playing);
      frame(() => step(mine));
    },
    pause() {
      playing = false;
      onMove(ms, playing);
    },
    seek: move,
  };
}
