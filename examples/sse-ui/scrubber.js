// The bar that replays a session: play, speed, and a slider for its time.

import { el, icon, setIcon, say } from "./dom.js";
import { createPlayer } from "./replay.js";
import { offset } from "./rows.js";
import { visible } from "./words.js";

const SPEEDS = [0.5, 1, 2, 10, 50];
const GAP = 2_000; // ms, longest silence that is played
const JUMP = 0.1; // of the length, for the page keys
const MARKS = 300; // places on the slider that can have a mark
const MARKED = { tool_call_start: "start", run_started: "run", run_finished: "run" };

// scrubber fills root. onMove(state, ms) receives each position, and onClose() is
// called when the reader ends the replay. With plays it begins to play, otherwise the end is
// shown. It returns {grow(), close()}: grow is
// called after events were added to the replay.
export function scrubber(root, replay, { title, closeText, plays = false, onMove, onClose }) {
  const player = createPlayer(replay, { onMove: moved, gap: GAP });
  const symbol = icon("play"), playText = el("span", { class: "sr" }, "Play");
  const play = el("button", { type: "button", class: "sc-play", onclick: toggle }, symbol, playText);
  const slider = el("input", { type: "range", min: "0", step: "1", "aria-label": "Time in the session", oninput: () => seek(Number(slider.value)), onkeydown: key });
  const marks = el("div", { class: "sc-marks", "aria-hidden": "true" });
  const where = el("output", { class: "sc-time" });
  const speeds = el("fieldset", { class: "segments" }, el("legend", { class: "sr" }, "Speed"),
    ...SPEEDS.map((s) => el("label", {}, el("input", { type: "radio", name: "speed", value: String(s), checked: s === 1, onchange: () => setSpeed(s) }), el("span", {}, s + "×"))));
  const close = el("button", { type: "button", class: "small", onclick: onClose }, closeText);
  root.replaceChildren(play, el("div", { class: "sc-track" }, marks, slider), where, speeds, close);
  root.setAttribute("aria-label", visible(title));
  root.hidden = false;
  let speed = 1, marked = 0;

  function moved(ms, playing) {
    const at = ms - replay.start, n = replay.countAt(ms);
    slider.value = String(Math.round(at));
    const length = replay.end - replay.start, step = length < 2_000 ? 10 : 100;
    slider.setAttribute("aria-valuetext", offset(at, step) + ", event " + n + " of " + replay.length);
    say(where, offset(at, step) + " / " + offset(length, step) + " · event " + n + " of " + replay.length);
    setIcon(symbol, playing ? "pause" : "play");
    say(playText, playing ? "Pause" : "Play");
    onMove(replay.stateAt(ms), ms);
  }

  function toggle() {
    if (player.playing) player.pause();
    else player.play(speed);
  }

  function setSpeed(next) {
    speed = next;
    if (player.playing) player.play(speed);
  }

  function seek(at) {
    player.seek(replay.start + at);
  }

  // byEvents moves to the next or the previous moment at which something happened.
  function byEvents(forward) {
    const now = player.position;
    const next = forward ? replay.record(replay.countAt(now)) : replay.record(replay.countAt(now - 1) - 1);
    player.seek(next ? next.at : forward ? replay.end : replay.start);
  }

  function key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const at = player.position - replay.start, length = replay.end - replay.start;
    const actions = {
      ArrowRight: () => (e.shiftKey ? seek(at + 1_000) : byEvents(true)), ArrowLeft: () => (e.shiftKey ? seek(at - 1_000) : byEvents(false)),
      ArrowUp: () => byEvents(true), ArrowDown: () => byEvents(false),
      PageUp: () => seek(at + JUMP * length), PageDown: () => seek(at - JUMP * length), Home: () => seek(0), End: () => seek(length), " ": toggle,
    };
    if (!Object.hasOwn(actions, e.key)) return;
    e.preventDefault();
    if (e.key !== " ") player.pause();
    actions[e.key]();
  }

  function grow() {
    const length = replay.end - replay.start;
    slider.max = String(Math.max(1, Math.round(length)));
    drawMarks(length);
    moved(player.position, player.playing);
  }

  // drawMarks shows where calls start and end.
  function drawMarks(length) {
    if (marked === replay.length || length === 0) return;
    marked = replay.length;
    const places = new Map(); // place → kind; one mark for events that are close
    for (let i = 0; i < replay.length; i++) {
      const { event, at } = replay.record(i);
      const kind = event.type === "tool_call_result" && event.status !== "completed" ? "bad" : MARKED[event.type];
      const place = Math.round(((at - replay.start) / length) * MARKS);
      if (kind && (kind !== "start" || !places.has(place))) places.set(place, kind);
    }
    marks.replaceChildren(...[...places].map(([place, kind]) => {
      const mark = el("i", { "data-kind": kind });
      mark.style.left = (place / MARKS) * 100 + "%";
      return mark;
    }));
  }

  grow();
  if (plays) player.play(speed); // from the start
  else player.seek(replay.end);
  play.focus({ preventScroll: true });
  return {
    grow, toggle,
    seek: (ms) => player.seek(ms),
    get position() { return player.position; },
    close() {
      player.pause();
      root.hidden = true;
      root.replaceChildren();
    },
  };
}
