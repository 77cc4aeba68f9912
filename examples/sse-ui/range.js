// The part of a time axis that is shown: all of it, or a range that stays, or a
// range that follows its end. No DOM, no clock.

const LEAST = 4; // ms, minimum length of a range
const PAD = 0.02; // of the length, beside the first and the last time

// range returns the shown part of an axis. all is the first and the last time of
// the axis, and grows.
export function range() {
  let all = { from: 0, to: LEAST }, after = PAD, zoom = null, following = true;

  function full() {
    const length = Math.max(all.to - all.from, LEAST);
    return { from: all.from - length * PAD, to: all.from + length * (1 + after) };
  }

  function now() {
    if (!zoom) return full();
    const behind = following ? Math.max(0, full().to - zoom.to) : 0;
    return { from: zoom.from + behind, to: zoom.to + behind };
  }

  function set(from, to) {
    const limits = full();
    const length = Math.min(Math.max(to - from, LEAST), limits.to - limits.from);
    const start = Math.min(Math.max(from, limits.from), limits.to - length);
    zoom = length >= (limits.to - limits.from) * 0.999 ? null : { from: start, to: start + length };
    following = !zoom || zoom.to >= all.to;
  }

  return {
    full, now, set,
    // grow sets the bounds of the axis, and the part of its length that is shown
    // after the last time.
    grow(bounds, ahead = PAD) { all = bounds, after = ahead; },
    // by zooms: 2 shows twice as much, 0.5 half of it. The time at stays in place.
    by(factor, at) {
      const { from, to } = now();
      at ??= following ? to : (from + to) / 2;
      const end = to - from < LEAST * 2 && factor < 1 ? 1 : factor;
      set(at - (at - from) * end, at + (to - at) * end);
    },
    // move shifts the range by a part of its length.
    move(part) {
      const { from, to } = now();
      if (zoom) set(from + part * (to - from), to + part * (to - from));
    },
    fit() { zoom = null, following = true; },
    // follow moves the range to the end of the axis.
    follow() {
      const { from, to } = now();
      if (zoom) set(full().to - (to - from), full().to);
      following = true;
    },
    hold() {
      zoom = now();
      following = false;
    },
    get zoomed() { return zoom !== null; },
    get following() { return following; },
  };
}
