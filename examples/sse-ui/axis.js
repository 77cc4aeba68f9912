// The time axis of the waterfall, with breaks: where nothing begins or ends for much longer than
// a call usually takes, such as while a person is away or one call runs for minutes, the axis is
// drawn short. Places on it are ms as times are, less what the breaks leave out. No DOM, no clock.

import { startOf, endOf } from "./rows.js";

const LONG = 8; // times the median duration of calls, beyond which the axis can break
const LEAST = 2_000; // ms, shortest break
const PART = 0.15; // of the whole time, least part that a break leaves out
const WIDTH = 0.04; // of the rest, length of a break on the axis

// axis returns the axis of calls:
//
//   breaks     {from, to} in order, the times between which it is drawn short
//   at(time)   the place of a time
//   time(at)   the time at a place
//   grow(now)  moves the end of a break that goes on
export function axis(calls, now) {
  const breaks = [];
  const times = [...new Set(calls.flatMap((c) => [startOf(c), c.completeAt || startOf(c), ...c.waits.flatMap((w) => [w.from, w.to || startOf(c)]), endOf(c, now)]))].sort((a, b) => a - b);
  const durations = calls.map((c) => endOf(c, now) - startOf(c)).sort((a, b) => a - b);
  const usual = durations[(durations.length - 1) >> 1] ?? 0, whole = times.at(-1) - times[0];
  for (let i = 1; i < times.length; i++) {
    const from = times[i - 1] + usual, to = times[i] - usual;
    if (times[i] - times[i - 1] > Math.max(LEAST, LONG * usual) && to - from > PART * whole) breaks.push({ from, to });
  }
  const width = WIDTH * breaks.reduce((rest, b) => rest - (b.to - b.from), whole);
  const goesOn = times.at(-1) === now && breaks.at(-1)?.to === now - usual;

  return {
    breaks,
    at(time) {
      let cut = 0;
      for (const { from, to } of breaks) if (time > from) cut += (Math.min(time, to) - from) * (1 - width / (to - from));
      return time - cut;
    },
    time(at) {
      let cut = 0;
      for (const { from, to } of breaks) {
        const inside = at + cut - from;
        if (inside <= 0) break;
        if (inside < width) return from + (inside / width) * (to - from);
        cut += to - from - width;
      }
      return at + cut;
    },
    grow(now) {
      if (goesOn) breaks.at(-1).to = now - usual;
    },
  };
}
