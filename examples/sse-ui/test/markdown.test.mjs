import { test } from "node:test";
import assert from "node:assert/strict";

// Enough of a document for dom.js.
class Node {
  constructor(name) { this.localName = name, this.children = [], this.attributes = {}, this.nodeType = 1; }
  append(...nodes) { this.children.push(...nodes); }
  setAttribute(name, value) { this.attributes[name] = value; }
  get lastChild() { return this.children.at(-1); }
  toString() {
    const { href } = this.attributes;
    return "<" + this.localName + (href ? " " + href : "") + ">" + this.children.join("") + "</>";
  }
}
globalThis.document = { createElement: (name) => new Node(name), getElementById: () => null };
const { markdown, isMarkdown } = await import("../markdown.js");

const CASES = [
  ["The **north** is *much* cheaper: `x*y*z`", "<p>The <strong>north</> is <em>much</> cheaper: <code>x*y*z</></>"],
  ["# Title\n\ntext\nmore", "<p><strong>Title</></><p>text\nmore</>"],
  ["- a\n- b **c**\n1. d", "<ul><li>a</><li>b <strong>c</></></><ol><li>d</></>"],
  ["```js\na * b\n\n- c\n```\nafter", "<pre>a * b\n\n- c</><p>after</>"],
  ["```\nnever closed", "<pre>never closed</>"],
  ["[here](https://example.com/a) and [not](javascript:alert(1))", "<p><a https://example.com/a>here</> and [not](javascript:alert(1))</>"],
  ["<img src=x onerror=alert(1)> <b>*x*</b>", "<p><img src=x onerror=alert(1)> <b><em>x</></b></>"],
  ["2 * 3 * 4 and a ** b", "<p>2 * 3 * 4 and a ** b</>"],
];

test("Markdown as elements", () => {
  for (const [text, want] of CASES) assert.equal(markdown(text).join(""), want, text);
});

test("no text is lost at any cut", () => {
  const letters = (s) => s.replace(/[^a-z]/g, "");
  for (const [text] of CASES.filter(([t]) => !/[[<]|^```js|^1/m.test(t))) {
    for (let i = 0; i <= text.length; i++) {
      const read = (n) => (typeof n === "string" ? n : n.children.map(read).join(""));
      assert.equal(letters(markdown(text.slice(0, i)).map(read).join("")), letters(text.slice(0, i)), text.slice(0, i));
    }
  }
});

test("plain text is not read as Markdown", () => {
  assert.equal(isMarkdown("Two lines\nof text - no more."), false);
});
