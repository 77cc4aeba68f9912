// Announcements for screen readers: the start and end of calls, collected so
// that a burst is one sentence. Deltas and timers are never announced.

import { terminal } from "./reduce.js";
import { state as stateOf, duration, plural, visible } from "./words.js";

const GATHER = 1_200; // ms
const NAMED = 3; // maximum number of calls that are named; more are counted

// announcer writes into the two live regions. heard(call) receives each change
// of a call. With quiet, it records the change without announcing it, as for
// history.
export function announcer(polite, assertive) {
  const told = new Map(); // key of a call → the status announced last
  let waiting = new Map(), timer = 0, open = 0;

  function sentence(call) {
    const name = call.tool || "a call";
    if (!terminal(call.status)) return call.status === "awaiting_input" ? name + " waits for you" : name + " started";
    const took = call.durationMs === undefined ? "" : " after " + duration(call.durationMs);
    return name + " " + stateOf(call).word.toLowerCase() + took;
  }

  function speak() {
    timer = 0;
    const calls = [...waiting.values()];
    waiting = new Map();
    let text = calls.length <= NAMED ? calls.map(sentence).join("; ") : counted(calls);
    if (open > 0) text += "; " + open + " open";
    polite.textContent = visible(text + ".");
  }

  function counted(calls) {
    const ended = calls.filter((c) => terminal(c.status)).length;
    const begun = calls.length - ended;
    return [begun && plural(begun, "call") + " started", ended && plural(ended, "call") + " ended"].filter(Boolean).join(", ");
  }

  return {
    heard(call, openNow, quiet) {
      open = openNow;
      const stage = terminal(call.status) || call.status === "awaiting_input" ? call.status : "open";
      if (told.get(call.call) === stage) return;
      told.set(call.call, stage);
      if (quiet) return;
      waiting.set(call.call, call);
      timer ||= setTimeout(speak, GATHER);
    },
    alarm(text) { assertive.textContent = text; },
    clear() {
      clearTimeout(timer);
      timer = 0, waiting = new Map(), told.clear();
      polite.textContent = assertive.textContent = "";
    },
  };
}
