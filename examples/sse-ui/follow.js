// Following the newest item, until the reader scrolls away from it.

import { $ } from "./dom.js";

const NEAR = 120; // px from the end of the page that count as the end
const GESTURE = 1_000; // ms after a gesture in which scrolling is attributed to it
const EVERY = 100; // ms between two moves while busy

// follower returns {on, toEnd()}. box() returns the element that scrolls, and toEnd
// scrolls it to its end while on is true and ready() returns true, less often while busy() is true.
export function follower(box, ready, busy) {
  let on = true, touched = -GESTURE, lastY = 0, due = 0;

  function toEnd() {
    if (on && ready()) box().scrollTop = 1e9;
  }

  // Only scrolling by a gesture ends the following, because drawing moves the page too.
  for (const gesture of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(gesture, () => (touched = performance.now()), { passive: true });
  }
  addEventListener("scroll", ({ target }) => {
    const node = box();
    if (target !== node && target !== document) return;
    const near = node.scrollHeight - node.clientHeight - node.scrollTop < NEAR;
    if (near) $("latest").hidden = true;
    if (near || (node.scrollTop < lastY && performance.now() - touched < GESTURE)) on = near;
    lastY = node.scrollTop;
  }, { passive: true, capture: true });
  // A burst of calls does not show each of them: those beyond the window cost little.
  new ResizeObserver(() => {
    if (busy()) due ||= setTimeout(() => (due = 0, toEnd()), EVERY);
    else toEnd();
  }).observe($("timeline"));

  return {
    get on() { return on; },
    set on(value) { on = value; },
    toEnd,
  };
}
