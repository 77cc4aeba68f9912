// The server's clock, as far as it can be known here: timers then agree with
// the times in events, whatever this machine thinks the time is.

// clock returns an estimate that starts at this machine's time. An event told
// live was stamped before it arrived, so the largest difference seen is the
// nearest; a Date header helps until then, where it differs by seconds.
export function clock() {
  let offset = 0, sure = false;
  return {
    date(server, local) {
      if (!sure && Math.abs(server - local) > 2_000) offset = server + 500 - local;
    },
    event(server, local) {
      if (sure && server - local <= offset) return;
      offset = server - local;
      sure = true;
    },
    now(local) { return local + offset; },
  };
}
