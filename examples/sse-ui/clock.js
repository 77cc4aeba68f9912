// The server's clock, as far as it can be known here: timers then agree with
// the times in events, whatever this machine thinks the time is.

// clock returns an estimate that starts at this machine's time. What the server
// stamps now was stamped before it arrived, so the largest difference heard is
// the nearest.
export function clock() {
  let offset = -Infinity;
  return {
    hear(server, local) {
      if (server > 0) offset = Math.max(offset, server - local);
    },
    now(local) { return offset === -Infinity ? local : local + offset; },
  };
}
