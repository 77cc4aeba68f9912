// The waterfall: the calls of a run on one time axis, each a bar in its phases.
// Only the rows on the screen exist. A treegrid for screen readers, which has in
// words what the bars show.

import { el, icon, say, mark } from "./dom.js";
import { terminal } from "./reduce.js";
import { axis } from "./axis.js";
import { agentOf } from "./card.js";
import { barRow } from "./bars.js";
import { overview } from "./overview.js";
import { range } from "./range.js";
import * as rows from "./rows.js";
import { duration, plural, time } from "./words.js";

const AROUND = 6; // rows that exist above and below the visible ones
const TICK_WIDTH = 96; // px, least distance of two lines of the axis
const AHEAD = 0.16; // part of the axis after now, for deadlines that come near
const LABEL = 40, SOON = 96, NEXT = 64; // px that the text of a line, of a deadline, and of a line beside a break needs
const ZOOM = 1.6; // factor of a zoom step
const TICK = 250; // ms between arrangements while only the time changes
const SHARE = 8; // how much longer the pause between two arrangements is than an arrangement
const PAN = 0.2; // part of the shown range that a step moves
const RUN_WORDS = { completed: "completed", error: "failed", cancelled: "cancelled", interrupted: "paused", "": "open" };

// waterfall draws into root. choose(key, byKeyboard) is called with the key of a
// call that the reader opens, zoomed() after another part of the axis is shown. It returns:
//
//   show(calls, runs)   draws the calls and the runs of a session, in their order
//   tick(now)           sets the time; open bars end there
//   select(key)         shows the row of a call
//   selectRun(id)       shows a run
//   zoom, zoomTo(text)  the shown part of the axis as "from-to" in ms, "" for all of it
//   clear()             forgets the session
export function waterfall(root, { choose, zoomed }) {
  const view = range();
  const strip = overview(view, changed);
  const parts = build(root, strip.node, handlers());
  const { grid, box, canvas, head, lines, labels, cursor } = parts;
  const collapsed = new Set(), pool = new Map();
  let calls = [], runs = [], held = null; // held: {calls, runs, now} while paused
  let now = 0, run = "", critical = true, selected = "", serial = 0, frame = 0, later = 0, arranged = { at: 0, took: 0 };
  let wantedZoom = null; // the part of the axis to show, in ms from its origin
  let scope = [], list = [], path = new Set(), origin = 0, line = axis([], 0), rowHeight = 32, width = 800;
  let top = 0, height = 480; // of the visible part of the list; reading them from the page takes long

  const measure = new ResizeObserver(() => {
    rowHeight = parseFloat(getComputedStyle(grid).getPropertyValue("--row")) || 32;
    root.style.setProperty("--gutter", grid.offsetWidth - grid.clientWidth + "px");
    width = lines.clientWidth || 800;
    height = grid.clientHeight || 480; // it can be hidden
    soon();
  });
  measure.observe(grid);

  // ---- the model of what is drawn

  function show(nextCalls, nextRuns) {
    calls = nextCalls, runs = nextRuns;
    if (held) return drawPause();
    soon();
  }

  // soon arranges the rows in a task of their own. Many calls take long to arrange: most
  // of the time is left for the rest of the page.
  function soon() {
    later ||= setTimeout(arrange, arranged.at + SHARE * arranged.took - performance.now());
  }

  function arrange() {
    clearTimeout(later);
    later = 0;
    const began = performance.now();
    showRuns();
    layout();
    arranged = { at: performance.now(), took: performance.now() - began };
  }

  const drawn = () => ({ ...view.now(), room: (100 * SOON) / width, at: line.at });
  const shown = () => held ?? { calls, runs, now };

  function layout() {
    const { calls: all, runs: list_ } = shown();
    const last = all.at(-1)?.run ?? list_.at(-1)?.id ?? "";
    const id = run === "newest" || run === "" ? last : run;
    scope = run === "all" ? all : all.filter((c) => c.run === id);
    const roots = rows.tree(scope, agentOf);
    list = rows.flatten(roots, collapsed);
    const end = shown().now;
    const span = rows.bounds(scope, end);
    const before = view.zoomed && !view.following && view.now(), earlier = line;
    origin = span.from, line = axis(scope, end);
    view.grow({ from: line.at(span.from), to: line.at(span.to) }, scope.some(isOpen) ? AHEAD : undefined);
    if (before) view.set(line.at(earlier.time(before.from)), line.at(earlier.time(before.to)));
    if (wantedZoom && scope.length > 0) {
      view.set(line.at(origin + wantedZoom[0]), line.at(origin + wantedZoom[1]));
      wantedZoom = null;
      drawPause();
    }
    path = critical ? rows.criticalPath(roots, end) : new Set();
    grid.setAttribute("aria-rowcount", String(list.length + 1));
    canvas.style.height = list.length * rowHeight + "px";
    mark(grid, "tree", String(list.some((r) => r.expanded !== null)));
    mark(root, "empty", String(scope.length === 0));
    summarize(end);
    draw();
  }

  function summarize(end) {
    const open = scope.filter(isOpen).length;
    const { steps, max } = rows.concurrency(scope, end);
    const span = rows.bounds(scope, end);
    const words = scope.length === 0 ? [] : [plural(scope.length, "call"), open > 0 ? open + " open" : "", duration(span.to - span.from),
      max > 1 ? "at most " + max + " at once" : "", path.size > 1 ? "critical path: " + plural(path.size, "call") : ""];
    say(parts.summary, words.filter(Boolean).join(" · "));
    strip.draw({ steps, max }, line, origin, end);
  }

  function showRuns() {
    const items = [...runs].map((r, i) => [r.id, "Run " + (i + 1) + " · " + time(r.startedAt) + " · " + (RUN_WORDS[r.status] ?? r.status)]);
    const options = [["newest", "Newest run"], ...items.reverse(), ["all", "All runs"]];
    const key = JSON.stringify(options);
    parts.runs.hidden = runs.length < 2;
    if (parts.runs.dataset.key === key) return;
    parts.runs.dataset.key = key;
    parts.runs.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
    parts.runs.value = run || "newest";
  }

  // ---- drawing

  // changed is called after the reader changed the range.
  function changed() {
    drawPause();
    draw();
    strip.place();
    zoomed();
  }

  function draw() {
    const first = Math.max(0, Math.floor(top / rowHeight) - AROUND);
    const last = Math.min(list.length, Math.ceil((top + height) / rowHeight) + AROUND);
    const used = new Set();
    const end = shown().now, window = drawn();
    for (let i = first; i < last; i++) {
      const row = list[i], key = row.node.key;
      used.add(key);
      let bar = pool.get(key);
      if (!bar) {
        pool.set(key, (bar = barRow("wf-row-" + ++serial, { toggle, choose: clicked })));
        canvas.append(bar.node);
      }
      bar.show(row, { index: i, top: i * rowHeight, selected: key === selected, critical: path.has(key), origin });
      bar.move(window, end);
    }
    for (const [key, bar] of pool) {
      if (used.has(key)) continue;
      bar.node.remove();
      pool.delete(key);
    }
    const active = pool.get(selected);
    if (active) grid.setAttribute("aria-activedescendant", active.node.id);
    else grid.removeAttribute("aria-activedescendant");
    const below = list.length - Math.floor((top + height - head.offsetHeight) / rowHeight);
    mark(box, "below", below > 0 ? below + " more below" : "");
    drawAxis(window);
  }

  // drawAxis draws the lines with their times, and the breaks with what they leave out.
  function drawAxis({ from, to }) {
    const { step, list: times } = rows.ticks(line, from, to, origin, Math.max(2, Math.floor(width / TICK_WIDTH)));
    const share = (time) => (line.at(time) - from) / (to - from);
    const gaps = line.breaks.filter((b) => share(b.to) > 0 && share(b.from) < 1);
    fill(lines, times.length, "i"), fill(labels, times.length + gaps.length, "span"), fill(parts.gaps, gaps.length, "i");
    const label = (i, time, text, hidden) => {
      labels.children[i].style.left = (share(time) * 100).toFixed(3) + "%";
      if (labels.children[i].textContent !== text) labels.children[i].textContent = text;
      labels.children[i].hidden = hidden || share(time) * width > width - LABEL;
      mark(labels.children[i], "gap", String(i >= times.length));
    };
    times.forEach((time, i) => {
      lines.children[i].style.left = (share(time) * 100).toFixed(3) + "%";
      label(i, time, rows.offset(time - origin, step), gaps.some((b) => Math.abs(share(time) - share(b.from)) * width < NEXT));
    });
    gaps.forEach((b, i) => {
      const { style } = parts.gaps.children[i];
      style.left = (share(b.from) * 100).toFixed(3) + "%", style.width = ((share(b.to) - share(b.from)) * 100).toFixed(3) + "%";
      label(times.length + i, b.from, duration(b.to - b.from), false);
    });
    const end = shown().now, open = scope.some(isOpen) && share(end) <= 1 && share(end) >= 0;
    parts.edge.hidden = !open;
    if (open) parts.edge.style.left = (share(end) * 100).toFixed(3) + "%";
  }

  function tick(at) {
    now = at;
    if (held || !scope.some(isOpen)) return;
    line.grow(now);
    const { from, to } = rows.bounds(scope, now);
    view.grow({ from: line.at(from), to: line.at(to) }, AHEAD);
    if (performance.now() - arranged.at >= TICK) soon();
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const window = drawn();
      for (const bar of pool.values()) bar.move(window, now);
      drawAxis(window);
    });
  }

  // ---- what the reader does

  function handlers() {
    return {
      pause, fit: () => (view.fit(), changed()), more: () => zoomTo(1 / ZOOM), less: () => zoomTo(ZOOM),
      critical() {
        critical = !critical;
        parts.critical.setAttribute("aria-pressed", String(critical));
        layout();
      },
      run(e) {
        run = e.target.value;
        view.fit();
        layout();
      },
    };
  }

  function pause() {
    if (!held) held = { calls, runs, now };
    else if (held) held = null, view.follow();
    layout();
    drawPause();
  }

  function drawPause() {
    const more = held ? calls.length - held.calls.length : 0;
    const still = held || !view.following;
    say(parts.pauseText, held ? "Continue" + (more > 0 ? " · " + more + " new" : "") : "Pause");
    parts.pause.setAttribute("aria-pressed", String(!!held));
    parts.pauseIcon.firstChild.setAttribute("href", held ? "#i-play" : "#i-pause");
    mark(root, "still", String(!!still));
    parts.fit.disabled = !view.zoomed;
  }

  function toggle(row) {
    const { key } = row.node;
    if (row.expanded === null) return;
    if (!collapsed.delete(key)) collapsed.add(key);
    layout();
  }

  function clicked(row) {
    grid.focus({ preventScroll: true });
    pick(list.findIndex((r) => r.node.key === row.node.key));
    if (row.node.call) choose(row.node.key);
  }

  // pick selects the row at an index and scrolls to it.
  function pick(index) {
    if (list.length === 0) return;
    const at = Math.max(0, Math.min(list.length - 1, index));
    selected = list[at].node.key;
    const start = at * rowHeight, space = grid.clientHeight - head.offsetHeight;
    if (start < grid.scrollTop) grid.scrollTop = start;
    else if (start + rowHeight > grid.scrollTop + space) grid.scrollTop = start + rowHeight - space;
    top = grid.scrollTop;
    draw();
  }

  function select(key) {
    const call = calls.find((c) => c.call === key);
    if (!call) return;
    if (run !== "all" && !scope.includes(call)) run = parts.runs.value = call.run;
    const parents = rows.parentsOf(calls);
    for (let at = parents.get(key); at; at = parents.get(at)) collapsed.delete(at);
    layout();
    pick(list.findIndex((r) => r.node.key === key));
  }

  const index = () => list.findIndex((r) => r.node.key === selected);

  function keyed(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== grid) return;
    const at = index(), row = list[at], page = Math.max(1, Math.floor(grid.clientHeight / rowHeight) - 2);
    const actions = {
      ArrowDown: () => pick(at + 1), ArrowUp: () => pick(at < 0 ? 0 : at - 1), PageDown: () => pick(at + page), PageUp: () => pick(at - page),
      Home: () => pick(0), End: () => pick(list.length - 1),
      ArrowRight: () => (e.shiftKey ? pan(PAN) : row && (row.expanded === false ? toggle(row) : row.expanded && pick(at + 1))),
      ArrowLeft: () => (e.shiftKey ? pan(-PAN) : row && (row.expanded ? toggle(row) : row.parent >= 0 && pick(row.parent))),
      Enter: () => row?.node.call && choose(row.node.key, true),
      "+": () => zoomTo(1 / ZOOM), "=": () => zoomTo(1 / ZOOM), "-": () => zoomTo(ZOOM), 0: () => (view.fit(), changed()), " ": pause,
    };
    if (!Object.hasOwn(actions, e.key)) return;
    e.preventDefault();
    actions[e.key]();
  }

  function pan(part) {
    view.move(part);
    changed();
  }

  // zoomTo zooms around the middle of the selected row.
  function zoomTo(factor) {
    const row = list[index()], now_ = shown().now;
    const span = row && rows.bounds(rows.callsBelow(row.node), now_);
    view.by(factor, span && span.to < now_ ? line.at((span.from + span.to) / 2) : undefined);
    changed();
  }

  const placeAt = (x) => {
    const box = lines.getBoundingClientRect(), { from, to } = view.now();
    return from + ((x - box.left) / box.width) * (to - from);
  };

  function wheel(e) {
    const across = e.shiftKey ? e.deltaY : e.deltaX;
    if (e.ctrlKey || e.metaKey) view.by(Math.exp(e.deltaY / 300), placeAt(e.clientX));
    else if (across !== 0 && view.zoomed) view.move(across / width);
    else return;
    e.preventDefault();
    changed();
  }

  // drag moves the range from the tracks, and begins a new one from the axis.
  function drag(e) {
    const onAxis = head.contains(e.target);
    if (e.button !== 0 || e.pointerType === "touch" || !(onAxis || (view.zoomed && e.target.closest(".wf-track")))) return;
    const x = e.clientX, began = placeAt(x), { from, to } = view.now();
    const pixel = (to - from) / width;
    let moved = false;
    const move = (next) => {
      if (!moved && Math.abs(next.clientX - x) < 4) return;
      if (!moved) grid.setPointerCapture(next.pointerId);
      moved = true;
      if (!onAxis) view.set(from - (next.clientX - x) * pixel, to - (next.clientX - x) * pixel);
      else place(parts.brush, began, placeAt(next.clientX));
      if (!onAxis) changed();
    };
    const up = (next) => {
      removeEventListener("pointermove", move);
      parts.brush.hidden = true;
      if (!moved || !onAxis) return;
      const at = placeAt(next.clientX);
      view.set(Math.min(began, at), Math.max(began, at));
      changed();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up, { once: true });
  }

  function place(node, a, b) {
    const { from, to } = view.now();
    const share = (at) => Math.min(1, Math.max(0, (at - from) / (to - from))) * 100;
    node.hidden = false;
    node.style.left = share(Math.min(a, b)) + "%";
    node.style.width = Math.abs(share(b) - share(a)) + "%";
  }

  function hover(e) {
    const at = placeAt(e.clientX), { from, to } = view.now();
    cursor.hidden = !(at >= from && at <= to) || e.pointerType === "touch";
    if (cursor.hidden) return;
    cursor.style.left = ((at - from) / (to - from)) * 100 + "%";
    cursor.firstChild.textContent = rows.offset(line.time(at) - origin, (to - from) / 100);
  }

  grid.addEventListener("keydown", keyed);
  grid.addEventListener("focus", () => selected === "" && pick(0));
  grid.addEventListener("wheel", wheel, { passive: false });
  grid.addEventListener("pointerdown", drag);
  grid.addEventListener("pointermove", hover);
  grid.addEventListener("pointerleave", () => (cursor.hidden = true));
  grid.addEventListener("dblclick", (e) => {
    const row = list.find((r) => r.node.key === e.target.closest(".wf-row")?.dataset.key);
    if (!row) return;
    const span = rows.bounds(rows.callsBelow(row.node), shown().now);
    const from = line.at(span.from), to = line.at(span.to);
    view.set(from - (to - from) * 0.1, to + (to - from) * 0.1);
    changed();
  });
  grid.addEventListener("scroll", () => {
    top = grid.scrollTop;
    draw();
  }, { passive: true });

  return {
    show, tick, select,
    get zoom() {
      const { from, to } = view.now();
      return view.zoomed ? Math.round(line.time(from) - origin) + "-" + Math.round(line.time(to) - origin) : "";
    },
    zoomTo(text) {
      const parts = /^(-?\d+)-(\d+)$/.exec(text);
      if (!parts) return;
      wantedZoom = [Number(parts[1]), Number(parts[2])];
      soon();
    },
    selectRun(id) {
      run = parts.runs.value = id;
      view.fit();
      layout();
    },
    clear() {
      clearTimeout(later);
      later = 0;
      calls = [], runs = [], held = null, run = "", selected = "", collapsed.clear();
      view.fit();
      layout();
      drawPause();
    },
    close() {
      measure.disconnect();
      cancelAnimationFrame(frame);
      root.replaceChildren();
    },
  };
}

const isOpen = (call) => !terminal(call.status);

// fill makes a node have n children.
function fill(node, n, tag) {
  while (node.children.length > n) node.lastChild.remove();
  while (node.children.length < n) node.append(el(tag));
}

// build creates the elements of the waterfall.
function build(root, strip, on) {
  const button = (name, text, attributes, ...more) => el("button", { type: "button", class: "quiet small", ...attributes }, icon(name), ...more, text && el("span", {}, text));
  const summary = el("p", { class: "wf-summary" });
  const runs = el("select", { "aria-label": "Runs shown", onchange: on.run, hidden: true });
  const pauseText = el("span", {}, "Pause"), pauseIcon = icon("pause");
  const pause = el("button", { type: "button", class: "quiet small", "aria-pressed": "false", onclick: on.pause }, pauseIcon, pauseText);
  const fit = button("fit", "Fit", { onclick: on.fit, disabled: true });
  const critical = button("path", "Critical path", { onclick: on.critical, "aria-pressed": "true" });
  const tools = el("div", { class: "wf-tools", role: "toolbar", "aria-label": "Waterfall" }, runs, pause, critical,
    el("span", { class: "wf-zoom" }, button("minus", "", { onclick: on.less, "aria-label": "Zoom out" }), button("plus", "", { onclick: on.more, "aria-label": "Zoom in" }), fit));
  const lines = el("div", { class: "wf-lines" }), labels = el("div", { class: "wf-labels" });
  const edge = el("i", { class: "wf-edge", hidden: true }), gaps = el("div", { class: "wf-gaps" });
  const marks = el("div", { class: "wf-plane wf-marks", "aria-hidden": "true" }, gaps, edge);
  const brush = el("i", { class: "wf-brush", hidden: true });
  const cursor = el("i", { class: "wf-cursor", hidden: true }, el("b"));
  const head = el("div", { class: "wf-head", role: "row", "aria-rowindex": "1" },
    el("div", { class: "wf-name", role: "columnheader" }, "Call"), el("div", { class: "wf-track", role: "columnheader" }, "Time"), el("div", { class: "wf-end", role: "columnheader" }, "State"));
  const canvas = el("div", { class: "wf-canvas", role: "rowgroup" });
  const behind = el("div", { class: "wf-plane", "aria-hidden": "true" }, lines);
  const above = el("div", { class: "wf-plane above", "aria-hidden": "true" }, labels, brush, cursor);
  const grid = el("div", { class: "wf-grid", role: "treegrid", tabindex: "0", "aria-label": "Calls on a time axis" }, head, canvas);
  const box = el("div", { class: "wf-box" }, behind, grid, marks, above);
  const legend = el("p", { class: "wf-legend" }, ...[["args", "Arguments"], ["waiting", "Waiting"], ["running", "Running"], ["due", "Deadline"], ["path", "Critical path"]]
    .map(([phase, text]) => el("span", {}, el("i", { "data-phase": phase }), text)));
  root.replaceChildren(el("header", { class: "wf-header" }, el("h2", {}, "Waterfall"), summary, tools), strip, box, legend);
  return { summary, runs, pause, pauseText, pauseIcon, fit, critical, lines, labels, gaps, edge, brush, cursor, head, canvas, box, grid };
}
