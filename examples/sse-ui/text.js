// A text that arrives in pieces, each with its byte offset: {text, bytes,
// missing}. It is never changed; grow returns another one. The engine keeps a sum
// of strings as a tree until the text is read, so that growing costs no copy.

export const EMPTY = Object.freeze({ text: "", bytes: 0, missing: 0 });

// whole returns a complete text.
export const whole = (text) => ({ text, bytes: utf8(text), missing: 0 });

// grow returns into with the piece that begins at the given byte offset. Bytes that
// are present are skipped. A piece after a gap is left out, and missing is the
// number of bytes of the gap, so that the text is always a true prefix.
export function grow(into, piece, offset = into.bytes) {
  if (offset > into.bytes) return { ...into, missing: offset - into.bytes };
  const rest = offset === into.bytes ? piece : cut(piece, into.bytes - offset);
  if (rest === "") return into;
  return { text: into.text + rest, bytes: into.bytes + utf8(rest), missing: 0 };
}

// cut returns text without its first n bytes.
function cut(text, n) {
  let i = 0;
  for (const c of text) {
    if (n <= 0) break;
    n -= utf8(c);
    i += c.length;
  }
  return text.slice(i);
}

// utf8 returns the length of a text in bytes.
export function utf8(text) {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) continue;
    n += c < 0x800 ? 1 : c >= 0xd800 && c < 0xdc00 ? 2 : c >= 0xdc00 && c < 0xe000 ? 0 : 2;
  }
  return n;
}
