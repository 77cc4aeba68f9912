// An estimate of the server's clock: timers then agree with the times in
// events, even if the clock of this machine is wrong.

// clock returns an estimate that starts at this machine's time. A timestamp of
// the server is older than its arrival, so the largest difference seen is the
// most accurate.
export function clock() {
  let offset = -Infinity;
  return {
    hear(server, local) {
      if (server > 0) offset = Math.max(offset, server - local);
    },
    now(local) { return offset === -Infinity ? local : local + offset; },
  };
}
