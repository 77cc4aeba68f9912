// A box with a text that may still grow: arguments or a result. Only the added
// part is drawn, JSON is coloured incrementally, and a long text is collapsed at
// first.

import { el } from "./dom.js";
import { bytes, ordered } from "./words.js";

const MAX_COLOURED = 128 << 10; // characters; the rest is drawn plain

// valueBox returns {node, show(text, json, rest), view(made)}. view shows an element instead of
// the text, and a button that changes between both. Beyond limit characters the text
// is collapsed behind a button. With rest, {size, load}, the text is only a
// beginning, and the button shows the text that load() promises.
export function valueBox(label, limit) {
  const pre = el("pre");
  const scroller = el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, pre);
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false", hidden: true, onclick: toggle });
  const flip = el("button", { type: "button", class: "more flip", "aria-pressed": "false", hidden: true, onclick: () => (plain = !plain, place()) }, "As text");
  const node = el("div", { class: "value" }, scroller, more, flip);
  let text = "", json = false, drawn = 0, all = false, rest = null, loaded = false;
  let colours = null, last = null, made = null, plain = false;

  function place() {
    scroller.hidden = !!made && !plain;
    if (made) made.hidden = plain;
    flip.hidden = !made;
    flip.setAttribute("aria-pressed", String(plain));
    draw();
  }

  function view(next) {
    if (made) made.remove();
    made = next;
    if (made) scroller.before(made);
    place();
  }

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
    pre.dir = json ? "ltr" : "auto";
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
    more.hidden = (text.length <= limit && !rest) || scroller.hidden;
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
    node, view,
    show(next, asJSON, more = null) {
      if ((loaded && more) || (next === text && asJSON === json)) return;
      if (made) view(null);
      rest = more;
      // Text usually grows; any other change redraws it.
      if (asJSON !== json || next.length < text.length || !next.startsWith(text)) clear();
      text = next, json = asJSON;
      draw();
    },
  };
}

// ---- highlighting

const WORDS = ["true", "false", "null"];
const MAX_INDENT = 24; // levels of indentation; deeper levels get no more white space

// highlighter returns {feed(text), inString, whole}, an incremental JSON highlighter: it
// emits the same pieces for any cut of a text, laid out over lines, and parses each
// character once. It keeps every character outside white space as the model wrote it,
// so large numbers and repeated keys survive, and it marks invalid JSON instead of
// correcting it.
//
// emit(kind, text, more) is
// called per piece; more means it continues the piece before. Kinds: key,
// string, number, word, mark, space, bad.
export function highlighter(emit) {
  const stack = []; // "{" or "[" for each open value
  let want = "value"; // value, first-key, key, colon, first-value, comma, end
  let token = ""; // the kind of the current token
  let escaped = false;
  let word = ""; // the characters of it so far
  let run = "", runKind = "", runMore = false;

  function flush() {
    if (run !== "") emit(runKind, run, runMore);
    run = "";
  }
  function put(kind, text, more = false) {
    if (!more || kind !== runKind) {
      flush();
      runKind = kind, runMore = more;
    }
    run += text;
  }
  function newline() {
    put("space", "\n" + "  ".repeat(Math.min(stack.length, MAX_INDENT)));
  }
  function afterValue() {
    want = stack.length === 0 ? "end" : "comma";
  }
  // lead sets white space before the first member of an object or array.
  function lead() {
    if (want === "first-key" || want === "first-value") newline();
  }

  function open(c) {
    lead();
    put("mark", c);
    stack.push(c);
    want = c === "{" ? "first-key" : "first-value";
  }
  function close(c) {
    const mine = stack.at(-1) === (c === "}" ? "{" : "[");
    if (!mine || !(want === "comma" || want.startsWith("first-"))) return put("bad", c);
    const empty = want !== "comma";
    stack.pop();
    if (!empty) newline();
    put("mark", c);
    afterValue();
  }
  function separator(c) {
    if (c === ":" && want === "colon") {
      put("mark", ": ");
      want = "value";
    } else if (c === "," && want === "comma") {
      put("mark", ",");
      want = stack.at(-1) === "{" ? "key" : "value";
      newline();
    } else put("bad", c);
  }
  function begin(c) {
    const value = want === "value" || want === "first-value";
    if (c === '"' && (value || want === "key" || want === "first-key")) {
      lead();
      token = value ? "string" : "key";
    } else if (value && /[-0-9]/.test(c)) {
      lead();
      token = "number";
    } else if (value && /[tfn]/.test(c)) {
      lead();
      token = "word";
      word = c;
    } else token = "bad";
    put(token, c);
  }
  function end() {
    if (token === "key") want = "colon";
    else if (token !== "bad") afterValue();
    token = "";
  }

  function goesOn(c) {
    if (token === "number") return /[-+.eE0-9]/.test(c);
    if (token === "bad") return !/[\s{}[\],:"]/.test(c);
    return WORDS.some((w) => w.startsWith(word + c));
  }

  // inside consumes a character of the current token; false if the token has ended before it.
  function inside(c) {
    if (token === "string" || token === "key") {
      put(token, c, true);
      if (escaped) escaped = false;
      else if (c === "\\") escaped = true;
      else if (c === '"') end();
      return true;
    }
    if (!goesOn(c)) {
      end();
      return false;
    }
    if (token === "word") word += c;
    put(token, c, true);
    return true;
  }

  return {
    feed(text) {
      for (const c of text) {
        if (token !== "" && inside(c)) continue;
        if (c === " " || c === "\n" || c === "\r" || c === "\t") continue;
        if (c === "{" || c === "[") want === "value" || want === "first-value" ? open(c) : put("bad", c);
        else if (c === "}" || c === "]") close(c);
        else if (c === ":" || c === ",") separator(c);
        else begin(c);
      }
      flush();
      // The next character may continue the piece just emitted.
      runMore = true;
    },
    get inString() { return token === "string" || token === "key"; },
    get whole() { return want === "end" && token === ""; },
  };
}

// looksLikeJSON reports whether a text begins as an object or array, and is highlighted.
export function looksLikeJSON(text) {
  return /^\s*[[{]/.test(text);
}
