// A recording of the frames of a stream as they came. No DOM, no clock.

import { utf8 } from "./text.js";

const MAX_FRAMES = 20_000; // maximum number of frames kept; older ones are counted
const MAX_CHARS = 32 << 20; // maximum number of characters of them

// recorder returns {list, counts, add(frame, at), clear()}. A frame of list is
// {n, at, gap, id, event, data, size, repeated}: its number from 1, the time of its
// arrival and the time since the frame before in ms, the size of its data in
// bytes, and whether its sequence is not after that of an earlier frame. The event
// of a comment, such as a heartbeat, is "".
export function recorder() {
  const list = [];
  const counts = {};
  let n, chars, before, last;

  function clear() {
    list.length = 0;
    Object.assign(counts, { frames: 0, comments: 0, bytes: 0, repeated: 0, dropped: 0 });
    n = chars = before = last = 0;
  }
  clear();

  // drop removes the oldest frames, many at a time: it moves all others.
  function drop() {
    let n = Math.ceil(list.length / 10);
    for (let i = 0; i < n; i++) chars -= list[i].data.length;
    while (chars > MAX_CHARS && n < list.length - 1) chars -= list[n++].data.length;
    counts.dropped += n;
    list.splice(0, n);
  }

  return {
    list, counts,
    add({ event, data, id }, at) {
      const sequence = event.startsWith("stream.") ? 0 : Number(id) || 0;
      const repeated = sequence > 0 && sequence <= last;
      last = Math.max(last, sequence);
      const frame = { n: ++n, at, gap: before ? at - before : 0, id: sequence || "", event, data, size: utf8(data), repeated };
      before = at;
      counts[event === "" ? "comments" : "frames"]++;
      counts.bytes += frame.size;
      if (repeated) counts.repeated++;
      chars += data.length;
      list.push(frame);
      if (list.length > MAX_FRAMES || chars > MAX_CHARS) drop();
      return frame;
    },
    clear,
  };
}

// callOf returns the key of the call that a frame of the native stream is about, "" if
// there is none.
export function callOf(frame) {
  return /"call":"([0-9.]+)"/.exec(frame.data.slice(0, 4_096))?.[1] ?? "";
}

// mentions reports whether a frame of any protocol is about a call. Other protocols
// name it by its id.
export function mentions(frame, call) {
  return callOf(frame) === call.call || [call.uid, call.id].some((id) => id && frame.data.includes(JSON.stringify(id)));
}
