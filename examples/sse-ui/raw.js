// The frames of the stream as they came, and the same session in other
// protocols.

import { el, say, mark } from "./dom.js";
import { bytes, plural } from "./words.js";
import { callOf } from "./frames.js";
import { sides } from "./sides.js";
import { splitter } from "./splitter.js";

const PAGE = 200; // rows

// rawView fills root. actions has frames (a recorder), session(), call(key),
// counts() and reveal(key), which shows the card of a call.
export function rawView(root, actions) {
  let only = null; // the call whose frames are shown, null for all
  let last = 0; // the number of the last frame shown; 0 for the newest
  let shown = ""; // what the table shows
  const title = el("h2", { id: "raw-title" }, "Frames");
  const numbers = el("p", { class: "raw-numbers" });
  const which = el("p", { class: "raw-which", hidden: true });
  const both = toggle("Side by side", () => arrange(both.getAttribute("aria-pressed") === "true"));
  const beats = toggle("Heartbeats", () => (body.replaceChildren(), (shown = ""), draw()), true);
  const close = el("button", { type: "button", onclick: () => view.hide() }, "Close");
  const older = el("button", { type: "button", onclick: () => turn(-PAGE) }, "Older");
  const newer = el("button", { type: "button", onclick: () => turn(PAGE) }, "Newer");
  const newest = el("button", { type: "button", onclick: () => turn(Infinity) }, "Newest");
  const body = el("tbody");
  const table = el("table", { "aria-labelledby": "raw-title" }, el("thead", {}, el("tr", {},
    ...["Time", "Sequence", "Type", "Size", "Gap", "Call"].map((text) => el("th", { scope: "col" }, text)))), body);
  const scroller = el("div", { class: "raw-scroll", tabindex: "0", role: "group", "aria-label": "Frames as received" }, table);
  const pages = el("div", { class: "raw-pages" }, older, newer, newest);
  const received = el("div", { class: "raw-received" }, scroller, pages);
  const columns = sides(actions);
  const height = splitter({
    name: "frames", label: "Height of the page above the frames", usual: innerWidth > 720 ? 54 : 40, size: () => innerHeight,
    apply: (above) => root.style.setProperty("height", 100 - above + "vh"),
  });
  root.replaceChildren(height, el("header", {}, title, numbers, which, both, beats, close), received, columns.node);

  function arrange(side) {
    received.hidden = beats.hidden = side;
    columns.node.hidden = !side;
    if (side) columns.open(only);
    else columns.close();
    draw();
  }

  function turn(by) {
    const list = wanted();
    const at = last === 0 ? list.length : list.findLastIndex((f) => f.n <= last) + 1;
    const to = Math.max(Math.min(PAGE, list.length), at + by);
    last = to >= list.length ? 0 : list[to - 1].n;
    draw();
    scroller.scrollTop = last === 0 ? scroller.scrollHeight : 0;
  }

  function wanted() {
    const { list } = actions.frames;
    if (only) return list.filter((f) => callOf(f) === only.call);
    return beats.getAttribute("aria-pressed") === "true" ? list : list.filter((f) => f.event !== "");
  }

  function draw() {
    if (root.hidden) return;
    drawNumbers();
    if (!columns.node.hidden) return columns.draw();
    const list = wanted();
    const end = last === 0 ? list.length : list.findLastIndex((f) => f.n <= last) + 1;
    const page = list.slice(Math.max(0, end - PAGE), end);
    older.disabled = end <= PAGE;
    newer.disabled = newest.disabled = last === 0;
    const key = page.length === 0 ? "" : page[0].n + " " + page.at(-1).n;
    if (key === shown) return;
    shown = key;
    const low = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40;
    fill(page);
    if (low && last === 0) scroller.scrollTop = scroller.scrollHeight;
  }

  // fill keeps the rows that stay on the page, so that an opened one stays open.
  function fill(page) {
    const first = page[0]?.n ?? Infinity, final = page.at(-1)?.n ?? -1;
    const have = new Set();
    for (const tr of [...body.rows]) {
      const n = Number(tr.dataset.frame);
      if (n < first || n > final || (only && tr.dataset.call !== only.call)) tr.remove();
      else have.add(n);
    }
    for (const frame of page) {
      if (have.has(frame.n)) continue;
      const next = [...body.rows].find((tr) => Number(tr.dataset.frame) > frame.n);
      body.insertBefore(row(frame), next ?? null);
    }
  }

  function row(frame) {
    const key = callOf(frame);
    const call = key ? actions.call(key) : null;
    const open = el("button", { type: "button", class: "link", "aria-expanded": "false", onclick: () => expand(open, tr, frame) }, frame.event || "comment");
    const link = call ? el("button", { type: "button", class: "link", onclick: () => actions.reveal(key) }, (call.tool || "unnamed tool") + " " + key) : key;
    const tr = el("tr", { "data-frame": frame.n, "data-call": key, "data-repeated": frame.repeated && "true" },
      el("td", {}, CLOCK.format(frame.at)), el("td", {}, String(frame.id)),
      el("td", {}, open, frame.repeated ? el("span", { class: "chip" }, "repeated") : null),
      el("td", {}, bytes(frame.size)), el("td", {}, frame.gap + " ms"), el("td", {}, link));
    return tr;
  }

  function expand(button, tr, frame) {
    const on = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(on));
    if (!on) return tr.nextElementSibling.remove();
    tr.after(el("tr", { "data-frame": frame.n, "data-call": tr.dataset.call }, el("td", { colspan: "6" }, dataBox(frame))));
  }

  function drawNumbers() {
    const { frames, comments, bytes: size, repeated, dropped } = actions.frames.counts;
    const counts = actions.counts();
    say(numbers, [plural(frames, "frame"), plural(comments, "heartbeat"), bytes(size), plural(repeated, "duplicate"), plural(counts.gaps, "gap"),
      dropped > 0 ? "the oldest " + dropped + " are no longer kept" : ""].filter(Boolean).join(" · "));
    which.hidden = !only;
    if (only && which.dataset.call !== only.call) {
      mark(which, "call", only.call);
      which.replaceChildren("Only frames of " + (only.tool || "unnamed tool") + " " + only.call + " ",
        el("button", { type: "button", class: "link", onclick: () => view.show(null) }, "show all"));
    }
  }

  const view = {
    draw,
    // show opens the view with the frames of a call, or with all of them for null.
    show(call) {
      only = call, last = 0, shown = "";
      body.replaceChildren();
      root.hidden = false;
      if (!columns.node.hidden) columns.open(only);
      draw();
      scroller.scrollTop = scroller.scrollHeight;
      title.tabIndex = -1;
      title.focus();
    },
    hide() {
      root.hidden = true;
      columns.close();
      actions.closed(only);
    },
    // clear forgets what is shown, for another session.
    clear() {
      only = null, last = 0, shown = "";
      body.replaceChildren();
      columns.close();
      if (actions.session() === "") root.hidden = true;
      if (!columns.node.hidden && !root.hidden) columns.open(null);
      draw();
    },
  };
  return view;
}

function toggle(text, changed, pressed = false) {
  const button = el("button", { type: "button", "aria-pressed": String(pressed), onclick() {
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false"));
    changed();
  } }, text);
  return button;
}

const SHOWN = 16 << 10; // characters

// dataBox returns the data of a frame, the beginning of it if it is long.
export function dataBox(frame) {
  const pre = el("pre", { tabindex: "0", role: "group", "aria-label": "Data of the frame" }, frame.data.slice(0, SHOWN));
  if (frame.data.length <= SHOWN) return pre;
  const more = el("button", { type: "button", class: "more", onclick() {
    say(pre, frame.data);
    more.remove();
  } }, "Show all " + bytes(frame.size));
  return el("div", {}, pre, more);
}

const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
