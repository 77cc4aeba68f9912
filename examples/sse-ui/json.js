// An incremental JSON highlighter: it emits the same pieces for any cut of a
// text, laid out over lines, and parses each character once. It keeps every
// character outside white space as the model wrote it, so large numbers and
// repeated keys survive, and it marks invalid JSON instead of correcting it.

const WORDS = ["true", "false", "null"];
const MAX_INDENT = 24; // levels of indentation; deeper levels get no more white space

// highlighter returns {feed(text), inString, whole}. emit(kind, text, more) is
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
