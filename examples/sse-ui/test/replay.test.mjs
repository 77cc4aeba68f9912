import { test } from "node:test";
import assert from "node:assert/strict";
import { create, reduce } from "../reduce.js";
import { createReplay, createPlayer } from "../replay.js";

// recorded returns a replay of n deltas of one call, 100 ms apart from time 0, and the
// state after each.
function recorded(n) {
  const replay = createReplay(), states = [create()];
  for (let i = 0; i < n; i++) {
    const event = { type: "tool_call_args_delta", call: "1.0", message_id: "m", offset: i, args: "x", timestamp: new Date(1_000 + i * 100).toISOString() };
    replay.push(event, 10 + i, 5);
    states.push(reduce(states.at(-1), event, 10 + i, 5));
  }
  return { replay, states };
}
const plain = (state) => JSON.stringify([state.seq, state.counts, [...state.timeline], [...state.calls]]);

test("the state after any number of events, in any order of asking", () => {
  const { replay, states } = recorded(300);
  const order = [300, 0, 64, 63, 65, 299, 128, 1, 150, 151, 149, 300];
  for (const n of order) assert.equal(plain(replay.at(n)), plain(states[n]), "after " + n);
  assert.equal(plain(replay.at(999)), plain(states[300]));
  assert.equal(plain(replay.at(-1)), plain(states[0]));
});

test("the state at a time and at a sequence; the list may grow", () => {
  const { replay, states } = recorded(10);
  assert.deepEqual([replay.start, replay.end, replay.length], [1_000, 1_900, 10]);
  assert.deepEqual([999, 1_000, 1_250, 1_900, 9_999].map(replay.countAt), [0, 1, 3, 10, 10]);
  assert.deepEqual([9, 10, 14, 99].map(replay.countSeq), [0, 1, 5, 10]);
  assert.equal(plain(replay.stateAt(1_250)), plain(states[3]));
  replay.push({ type: "run_started", run: "r", timestamp: new Date(500).toISOString() }, 20);
  assert.deepEqual([replay.end, replay.at(11).run], [1_900, "run #11"]);
});

// watched returns a player on a clock that the test moves, and the positions.
function watched(replay, options = {}) {
  let time = 0, waiting = [];
  const seen = [];
  const player = createPlayer(replay, { onMove: (ms, playing) => seen.push(playing ? ms : ms + " paused"), frame: (f) => waiting.push(f), now: () => time, ...options });
  const pass = (ms) => {
    time += ms;
    for (const f of waiting.splice(0)) f();
  };
  return { player, seen, pass };
}

test("playback at any speed, with pauses, to the end and again", () => {
  const { player, seen, pass } = watched(recorded(10).replay);
  player.play();
  pass(16);
  player.play(10);
  pass(16);
  player.pause();
  pass(500);
  player.seek(1_500);
  player.play();
  pass(16);
  pass(100);
  assert.deepEqual(seen, [1_000, 1_016, 1_176, "1176 paused", "1500 paused", 1_500, 1_660, "1900 paused"]);
  player.play(1);
  assert.deepEqual([player.position, player.playing], [1_000, true]);
});

test("a pause and a new start leave one playback", () => {
  const { player, seen, pass } = watched(recorded(10).replay);
  player.play();
  player.pause();
  player.play();
  pass(10);
  assert.deepEqual(seen, [1_000, "1000 paused", 1_000, 1_010]);
});

test("long silences are shortened", () => {
  const replay = createReplay();
  for (const s of [1, 2, 600]) replay.push({ type: "x", timestamp: new Date(s * 1_000).toISOString() });
  const { player, pass } = watched(replay, { gap: 500 });
  player.play();
  pass(10);
  assert.equal(player.position, 1_500);
  player.seek(2_000);
  pass(10);
  assert.equal(player.position, 599_500);
});
