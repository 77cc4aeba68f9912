// A separator between two parts of the page, which the pointer and the arrow keys move.

import { el } from "./dom.js";
import { stored, store } from "./storage.js";

const STEP = 2; // percent, for an arrow key

// splitter returns the separator. Its value, the share of the first part in percent, is from
// least to most, and is remembered by name. beside says that the parts are beside each other;
// size() returns the length of both in px, apply(value) arranges them, and a double click
// brings the usual value back.
export function splitter({ name, label, usual, least = 15, most = 85, beside = false, size, apply }) {
  const node = el("div", {
    class: "splitter", role: "separator", tabindex: "0", "aria-label": label, "aria-orientation": beside ? "vertical" : "horizontal",
    "aria-valuemin": least, "aria-valuemax": most, onkeydown: key, onpointerdown: drag, ondblclick: () => move(usual),
  });
  let value = usual;

  function set(next) {
    value = Math.round(Math.min(most, Math.max(least, next)) * 10) / 10;
    node.setAttribute("aria-valuenow", String(Math.round(value)));
    apply(value);
  }

  function move(next) {
    set(next);
    store(name, String(value));
  }

  function key(e) {
    const by = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP, PageUp: -5 * STEP, PageDown: 5 * STEP, Home: -100, End: 100 }[e.key];
    if (by === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    move(value + by);
  }

  function drag(e) {
    if (e.button !== 0) return;
    const spot = (e) => (beside ? e.clientX : e.clientY), from = spot(e), began = value;
    node.setPointerCapture(e.pointerId);
    node.onpointermove = (e) => move(began + ((spot(e) - from) / size()) * 100);
    node.onlostpointercapture = () => (node.onpointermove = null);
  }

  set(Number(stored(name, "")) || usual);
  return node;
}
