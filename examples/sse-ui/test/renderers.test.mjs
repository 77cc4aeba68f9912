import { test } from "node:test";
import assert from "node:assert/strict";

// Enough of a document for dom.js. A node is printed as its tag, its children, and no more.
class Node {
  constructor(name) { this.localName = name, this.children = [], this.attributes = {}, this.nodeType = 1; }
  append(...nodes) { this.children.push(...nodes); }
  setAttribute(name, value) { this.attributes[name] = value; }
  removeAttribute(name) { delete this.attributes[name]; }
  find(tag) { return this.children.flatMap((c) => (c instanceof Node ? [...(c.localName === tag ? [c] : []), ...c.find(tag)] : [])); }
  get text() { return this.children.map((c) => (c instanceof Node ? c.text : c)).join(""); }
}
const sheets = [];
globalThis.document = { createElement: (name) => new Node(name), getElementById: () => null, adoptedStyleSheets: sheets };
globalThis.CSSStyleSheet = class { replaceSync(text) { this.text = text; } };
const { createRenderers, compare } = await import("../renderers.js");

const call = (tool, args) => ({ tool, argsDone: true, args: { text: typeof args === "string" ? args : JSON.stringify(args) } });
const draw = (side, value, of = call("any", {})) => createRenderers().draw(side, typeof value === "string" ? value : JSON.stringify(value), of);
const kind = (node) => node?.attributes["data-view"] ?? null;

test("the form of a value decides what it is shown as", () => {
  const png = "data:image/png;base64,iVBORw0KGgo=";
  const CASES = [
    ["args", { file_path: "a", old_string: "x", new_string: "y" }, "diff"],
    ["args", { path: "a", command: "str_replace", old_str: "x", new_str: "y" }, "diff"],
    ["args", { file_path: "a", edits: [{ old_string: "x", new_string: "y" }] }, "diff"],
    ["args", "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch", "diff"],
    ["result", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y", "diff"],
    ["args", { command: "ls" }, "terminal"],
    ["args", { command: ["bash", "-lc", "ls"] }, "terminal"],
    ["args", { action: { type: "exec", command: ["ls", "-l"] } }, "terminal"],
    ["args", { command: "view", path: "a" }, "map"],
    ["result", [{ a: 1 }, { b: 2 }], "table"],
    ["result", { a: 1, list: [{ b: 2 }] }, "map"],
    ["result", [{ type: "text", text: "hello" }], "content"],
    ["result", [{ type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } }], "content"],
    ["result", [{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }], "content"],
    ["result", { type: "image_url", image_url: { url: "https://example.com/a" } }, "content"],
    ["result", png, "content"],
    ["result", "https://example.com/a.png", "content"],
    ["result", "https://example.com/a.html", null],
    ["result", "plain text", null],
    ["result", [1, 2], null],
    ["result", [], null],
    ["result", {}, null],
    ["result", "7", null],
    ["result", "null", null],
    ["result", JSON.stringify({ a: "x".repeat(300 << 10) }), null],
  ];
  for (const [side, value, want] of CASES) assert.equal(kind(draw(side, value)), want, side + " " + JSON.stringify(value).slice(0, 80));
});

test("only images that are part of the value are loaded, and no script is an address", () => {
  const shown = draw("result", [
    { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }, { type: "image_url", image_url: "https://pictures.example.com/a.png?b" },
  ]);
  assert.deepEqual(shown.find("img").map((n) => n.attributes.src), ["data:image/png;base64,iVBORw0KGgo="]);
  assert.deepEqual(shown.find("a").map((n) => [n.attributes.href, n.attributes.rel, n.text]), [["https://pictures.example.com/a.png?b", "noopener noreferrer", "Open the image at pictures.example.com"]]);
  for (const address of ["javascript:alert(1)//.png", "data:image/svg+xml;base64,AAAA", "data:text/html;base64,AAAA", "file:///a.png", "https://a b.png", "//example.com/a.png"]) {
    const node = draw("result", [{ type: "image_url", image_url: { url: address } }]);
    assert.ok(!node || (node.find("img").length === 0 && node.find("a").length === 0), address);
  }
});

test("images are found in the results of MCP and of Gemini, and between blocks of other types", () => {
  const data = "iVBORw0KGgo=", image = { type: "image", data, mimeType: "image/png" };
  for (const [value, images, links, said] of [
    [{ content: [{ type: "text", text: "a" }, image], isError: false }, 1, 0, "contentaisErrorfalse"],
    [[image, { type: "audio", data: "x" }], 1, 0, '{"type":"audio","data":"x"}'],
    [[{ text: "a" }, { inlineData: { mimeType: "image/png", data } }], 1, 0, "a"],
    [{ image: "http://example.com/a.png" }, 0, 1, "Open the image at example.com"],
    [[{ name: "a", image: "https://example.com/a.png" }, { name: "b" }], 0, 0, "nameimageahttps://example.com/a.pngb"],
    [{ text: "a" }, 0, 0, "texta"],
  ]) {
    const node = draw("result", value);
    assert.deepEqual([node.find("img").length, node.find("a").length, node.text], [images, links, said]);
  }
});

test("lines of an edit", () => {
  const lines = (a, b) => compare(a, b).map(([k, line]) => k + line).join("|");
  assert.equal(lines("a\nb\nc\n", "a\nB\nc\n"), " a|-b|+B| c");
  assert.equal(lines("", "a\nb"), "+a|+b");
  assert.equal(lines("a", ""), "-a");
  assert.equal(lines("a\nb\nc\nd", "b\nx\nd"), "-a| b|-c|+x| d");
  assert.equal(lines("same", "same"), " same");
  // Both sides can be read from the lines.
  for (let i = 0; i < 50; i++) {
    const random = () => Array.from({ length: 1 + (Math.random() * 8 | 0) }, () => "abc"[Math.random() * 3 | 0]);
    const a = random(), b = random(), all = compare(a.join("\n"), b.join("\n"));
    assert.deepEqual(all.filter(([k]) => k !== "+").map(([, l]) => l), a);
    assert.deepEqual(all.filter(([k]) => k !== "-").map(([, l]) => l), b);
  }
  const many = Array.from({ length: 2_000 }, (_, i) => "line " + i);
  assert.equal(compare(many.join("\n"), many.map((l) => l + "!").join("\n")).length, 4_000);
});

test("a command with its output and its exit code", () => {
  const shell = call("Bash", { command: "make" });
  const output = (value) => draw("result", value, shell)?.text;
  assert.equal(draw("args", shell.args.text).find("pre")[0].text, "$ make");
  assert.equal(output("done\n"), "done\n");
  assert.equal(output({ stdout: "a\u001b[31mb\u001b[0m\n", stderr: "c", exit_code: 2 }), "ab\ncexit code 2");
  assert.equal(output('{"output":"a","metadata":{"exit_code":0}}'), "aexit code 0");
  assert.equal(output([{ type: "text", text: "a" }]), "a");
  assert.equal(kind(draw("result", { rows: 1 }, shell)), "map");
});

test("a table has the columns of all rows, and bounds", () => {
  const node = draw("result", [{ a: 1, b: { c: 1 } }, { d: "<b>", a: null }]);
  assert.deepEqual(node.find("th").map((n) => n.text), ["a", "b", "d"]);
  assert.deepEqual(node.find("td").map((n) => n.text), ["1", '{"c":1}', "", "null", "", "<b>"]);
  const large = draw("result", Array.from({ length: 250 }, () => Object.fromEntries(Array.from({ length: 20 }, (_, i) => ["k" + i, i]))));
  assert.equal(large.find("td").length, 100 * 12);
  assert.match(large.text, /150 more rows8 more columns$/);
});

test("hostile keys and texts are text", () => {
  const node = draw("result", '{"__proto__":{"ran":1},"constructor":"</dl><script>","\u202ea":"\u202e"}');
  assert.deepEqual(node.find("dt").map((n) => n.text), ["__proto__", "constructor", "\\u202ea"]);
  assert.equal(node.find("script").length, 0);
  assert.equal({}.ran, undefined);
});

test("a renderer of a tool comes first, and one that fails does no harm", () => {
  const made = createRenderers(), node = new Node("p");
  made.register("Task", { args: (value, of) => (value.prompt ? Object.assign(node, { of }) : null), telling: (value) => value.description });
  made.register("broken", { args() { throw new Error("broken"); }, telling() { throw new Error("broken"); } });
  const error = console.error, said = [];
  console.error = (text) => said.push(text);
  const task = call("Task", { prompt: "p", description: "North supplier" });
  assert.equal(made.draw("args", task.args.text, task), node);
  assert.equal(node.of, task);
  assert.equal(made.telling(task), "North supplier");
  assert.equal(kind(made.draw("args", '{"a":1}', task)), "map");
  assert.equal(kind(made.draw("args", '{"a":1}', call("broken", {}))), "map");
  assert.equal(made.telling(call("broken", { command: "ls" })), "ls");
  assert.equal(made.telling(call("apply_patch", "*** Begin Patch\n*** Update File: src/a.go\n")), "src/a.go");
  assert.equal(made.telling(call("get_weather", { city: "Oslo" })), "");
  assert.equal(said.length, 2);
  console.error = error;
});
