// The strip above the waterfall: the number of open calls over time, and a frame
// around the range that the waterfall shows. The frame is moved and resized with
// the pointer and with the arrow keys.

import { el } from "./dom.js";
import { offset } from "./rows.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1_000, HEIGHT = 36; // of the drawing, in its own units
const STEP = 0.02; // of the axis, for an arrow key
const DRAG = 3; // px until a press is a drag

// overview returns {node, draw(steps, axis, origin, now)}. range is the shown part
// of its places; changed() is called after the reader changed it.
export function overview(range, changed) {
  const area = document.createElementNS(SVG, "path");
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 " + WIDTH + " " + HEIGHT);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.append(area);
  const left = handle("Beginning of the shown range", "from");
  const right = handle("End of the shown range", "to");
  const frame = el("div", { class: "wf-frame" }, left, right);
  const plane = el("div", { class: "wf-plane" }, svg, frame);
  const node = el("div", { class: "wf-overview" }, el("span", { class: "wf-label" }, "Open calls"), plane);
  let origin = 0, axis = null;

  function handle(label, side) {
    return el("div", { class: "wf-handle " + side, role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": "0", onkeydown: (e) => key(e, side) });
  }

  const share = (at) => {
    const { from, to } = range.full();
    return (at - from) / (to - from);
  };
  const placeAt = (x) => {
    const { from, to } = range.full();
    const box = plane.getBoundingClientRect();
    return from + Math.min(1, Math.max(0, (x - box.left) / box.width)) * (to - from);
  };

  function key(e, side) {
    const by = { ArrowLeft: -STEP, ArrowDown: -STEP, ArrowRight: STEP, ArrowUp: STEP, PageDown: -5 * STEP, PageUp: 5 * STEP }[e.key];
    const full = range.full(), shown = range.now();
    if (by !== undefined) shown[side] += by * (full.to - full.from);
    else if (e.key === "Home") shown[side] = side === "from" ? full.from : shown.from;
    else if (e.key === "End") shown[side] = side === "to" ? full.to : shown.to;
    else return;
    e.preventDefault();
    e.stopPropagation();
    if (shown.to > shown.from) range.set(shown.from, shown.to);
    changed();
  }

  // A press on a handle moves that side, on the frame all of it, and beside the
  // frame, or where the frame holds everything, it begins a new range.
  plane.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    const began = placeAt(e.clientX), shown = range.now(), x = e.clientX;
    const side = e.target === left ? "from" : e.target === right ? "to" : e.target === frame && range.zoomed ? "both" : "new";
    plane.setPointerCapture(e.pointerId);
    const move = (to) => {
      if (Math.abs(to.clientX - x) < DRAG) return;
      const at = placeAt(to.clientX);
      if (side === "both") range.set(shown.from + at - began, shown.to + at - began);
      else {
        const fixed = side === "from" ? shown.to : side === "to" ? shown.from : began;
        range.set(Math.min(fixed, at), Math.max(fixed, at));
      }
      changed();
    };
    plane.addEventListener("pointermove", move);
    plane.addEventListener("lostpointercapture", () => plane.removeEventListener("pointermove", move), { once: true });
  });
  plane.addEventListener("dblclick", () => {
    range.fit();
    changed();
  });

  function place() {
    const { from, to } = range.now(), full = range.full();
    const a = Math.max(0, share(from)), b = Math.min(1, share(to));
    frame.style.left = a * 100 + "%";
    frame.style.width = (b - a) * 100 + "%";
    node.dataset.zoomed = String(range.zoomed);
    for (const [side, at] of [[left, from], [right, to]]) {
      side.setAttribute("aria-valuemax", String(Math.round(full.to - full.from)));
      side.setAttribute("aria-valuenow", String(Math.round(at - full.from)));
      side.setAttribute("aria-valuetext", offset(axis.time(at) - origin, 10));
    }
  }

  return {
    node, place,
    draw({ steps, max }, line, begin, now) {
      axis = line, origin = begin;
      const y = (n) => HEIGHT - (n / Math.max(max, 1)) * (HEIGHT - 6);
      const points = ["M0 " + HEIGHT];
      let last = 0;
      for (const [at, n] of steps) {
        const x = (share(axis.at(Math.min(at, now))) * WIDTH).toFixed(1);
        points.push("L" + x + " " + y(last).toFixed(1), "L" + x + " " + y(n).toFixed(1));
        last = n;
      }
      points.push("L" + WIDTH + " " + HEIGHT + "Z");
      area.setAttribute("d", points.join(""));
      place();
    },
  };
}
