// Reading the stored events of many sessions. No DOM.

import { create, reduce } from "./reduce.js";
import { subscribe } from "./sse.js";

const GROUP = 50; // sessions of one stream
const PARALLEL = 3; // streams at a time: a browser may have six connections to a server
const TYPES = "tool_call_start,tool_call_args_complete,tool_call_awaiting_input,tool_call_result";

// scan reads the stored events of some types of sessions, calls each(event, seq) for
// every one, and end(whole) after the last; whole is false if they cannot be read. It
// returns {close()}.
export function scan(sessions, types, each, end) {
  let over = false;
  const stop = (whole) => {
    if (over) return;
    over = true;
    stream.close();
    end(whole);
  };
  const stream = subscribe({
    url: "/v1/events?session=" + sessions.map(encodeURIComponent).join("&session=") + "&types=" + types,
    onFrame({ event, data, id }) {
      if (event.startsWith("stream.") || over) return;
      try {
        each(JSON.parse(data), Number(id));
      } catch {
        // An unreadable event is left out.
      }
    },
    onState: ({ name }) => ["live", "gone", "refused", "reconnecting"].includes(name) && stop(name === "live"),
  });
  return { close() { over = true, stream.close(); } };
}

// searchSessions reads the calls of sessions, several streams at a time, and calls
// report({done, unread, calls}) after each: the number of sessions that are done, the
// number of those that could not be read, and the calls for which shows(call) is true,
// each with its session. The calls are in the order of sessions, the newest of each
// first. It returns {close()}.
export function searchSessions(sessions, shows, report, read = scan) {
  const groups = [], found = [], open = new Set();
  for (let i = 0; i < sessions.length; i += GROUP) groups.push(sessions.slice(i, i + GROUP));
  let next = 0, done = 0, unread = 0;

  function start() {
    if (next >= groups.length) return;
    const at = next++, group = groups[at];
    const states = new Map(group.map((name) => [name, create()]));
    const fold = (event, seq) => {
      const state = states.get(event.session);
      if (state) states.set(event.session, reduce(state, event, seq));
    };
    const reading = read(group, TYPES, fold, (whole) => {
      open.delete(reading);
      found[at] = [...states].flatMap(([session, state]) => [...state.calls.values()].reverse().map((call) => ({ ...call, session })).filter(shows));
      done += group.length;
      if (!whole) unread += group.length;
      start();
      report({ done, unread, calls: found.flat() });
    });
    open.add(reading);
  }
  for (let i = 0; i < PARALLEL; i++) start();
  return {
    close() {
      next = groups.length;
      for (const reading of open) reading.close();
    },
  };
}
