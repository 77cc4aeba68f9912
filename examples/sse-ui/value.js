// A box with a text that may still grow: arguments or a result. Only the added
// part is drawn, JSON is coloured incrementally, and a long text is collapsed at
// first.

import { el } from "./dom.js";
import { highlighter, looksLikeJSON } from "./json.js";
import { bytes, ordered } from "./words.js";

const MAX_COLOURED = 128 << 10; // characters; the rest is drawn plain

// valueBox returns {node, show(text, json, rest)}. Beyond limit characters the text
// is collapsed behind a button. With rest, {size, load}, the text is only a
// beginning, and the button shows the text that load() promises.
export function valueBox(label, limit) {
  const pre = el("pre");
  const scroller = el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, pre);
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false", hidden: true, onclick: toggle });
  const node = el("div", { class: "value" }, scroller, more);
  let text = "", json = false, drawn = 0, all = false, rest = null, loaded = false;
  let colours = null, last = null;

  function clear() {
    pre.replaceChildren();
    drawn = 0, last = null, colours = null;
  }

  function piece(kind, part, goesOn) {
    part = ordered(part);
    if (goesOn && last) last.lastChild.appendData(part);
    else if (kind === "space" || kind === "plain") {
      last = null;
      pre.append(part);
    } else {
      pre.append((last = el("span", { class: kind })));
      last.append(part);
    }
  }

  function draw() {
    const end = all ? text.length : Math.min(limit, text.length);
    if (end > drawn) {
      const coloured = json ? Math.max(drawn, Math.min(end, MAX_COLOURED)) : drawn;
      if (coloured > drawn) {
        colours ??= highlighter(piece);
        colours.feed(text.slice(drawn, coloured));
      }
      if (end > coloured) piece("plain", text.slice(coloured, end));
      drawn = end;
    }
    more.hidden = text.length <= limit && !rest;
    if (!more.hidden) {
      more.textContent = all ? "Show less" : "Show all " + bytes(rest ? rest.size : text.length);
      more.setAttribute("aria-expanded", String(all));
    }
    pre.classList.toggle("folded", drawn < text.length || (rest !== null && !loaded));
  }

  async function toggle() {
    if (rest && !loaded && !(await load())) return;
    all = !all;
    if (!all) clear();
    draw();
  }

  // load replaces the beginning by the whole text.
  async function load() {
    more.textContent = "Loading " + bytes(rest.size);
    try {
      const whole = await rest.load();
      clear();
      text = whole, json = looksLikeJSON(whole), loaded = true;
      return true;
    } catch (err) {
      more.textContent = "Not loaded: " + err.message + ". Try again";
      return false;
    }
  }

  return {
    node,
    show(next, asJSON, more = null) {
      if (loaded || (next === text && asJSON === json)) return;
      rest = more;
      // Text usually grows; any other change redraws it.
      if (asJSON !== json || next.length < text.length || !next.startsWith(text)) clear();
      text = next, json = asJSON;
      draw();
    },
  };
}
