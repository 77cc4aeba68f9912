import { test } from "node:test";
import assert from "node:assert/strict";
import { highlighter, looksLikeJSON } from "../value.js";

// pieces joins the output of a highlighter into [kind, text] by the rule of the
// page: a piece that continues belongs to the previous one.
function pieces(...cuts) {
  const out = [];
  const h = highlighter((kind, text, more) => {
    if (more && out.length > 0) {
      assert.equal(out.at(-1)[0], kind, "a piece continues one of its own kind");
      out.at(-1)[1] += text;
    } else out.push([kind, text]);
  });
  for (const cut of cuts) h.feed(cut);
  return { out, text: out.map(([, t]) => t).join(""), inString: h.inString, whole: h.whole };
}
const kinds = (text) => pieces(text).out.filter(([k]) => k !== "space" && k !== "mark");

test("an object: keys, strings, numbers and words", () => {
  assert.deepEqual(kinds('{"a":"b","n":-1.5e3,"t":true,"z":null}'), [
    ["key", '"a"'], ["string", '"b"'], ["key", '"n"'], ["number", "-1.5e3"], ["key", '"t"'], ["word", "true"], ["key", '"z"'], ["word", "null"],
  ]);
});

test("layout: what JSON.stringify would do, for any JSON", () => {
  const values = [{}, [], { a: {} }, [[], [[]], {}], { a: [1, { b: null }], "": "" }, "x", 7, [true, false, null, "a\\\"}{][,:"], { "你": ["🚆", "\u2028"] }];
  for (const v of values) {
    for (const text of [JSON.stringify(v), JSON.stringify(v, null, "\t")]) {
      const got = pieces(text);
      assert.equal(got.text, JSON.stringify(v, null, 2), text);
      assert.equal(got.out.some(([k]) => k === "bad"), false, text);
      assert.equal(got.whole || typeof v === "number", true, text);
    }
  }
});

test("large numbers and doubled keys stay as they were written", () => {
  assert.equal(pieces('{"n":98765432109876543210,"n":1.0}').text, '{\n  "n": 98765432109876543210,\n  "n": 1.0\n}');
});

test("the cut does not matter", () => {
  const texts = ['{"città":"a\\"b\\\\","n":[-1.25e+7,true,{"x":{}}],"deep":[[[]]]} tail', '{"a" 1}}], tru nul, "open', '[1,2,,"🚆"]', '{}{}'];
  for (const text of texts) {
    const want = pieces(text);
    const points = [...text];
    for (let i = 0; i <= points.length; i++) {
      assert.deepEqual(pieces(points.slice(0, i).join(""), points.slice(i).join("")), want, text + " cut at " + i);
    }
    assert.deepEqual(pieces(...points), want, text + " cut everywhere");
  }
});

test("an unfinished string is unfinished", () => {
  const { out, inString, whole } = pieces('{"title":"Pack');
  assert.deepEqual([out.at(-1), inString, whole], [["string", '"Pack'], true, false]);
});

test("what is no JSON is marked, and nothing is lost", () => {
  for (const text of ["{]", '{"a":}', "[1 2]", "{,}", "nope", '{"a":1}x', "{a:1}", '["a"b]']) {
    const { out, text: shown } = pieces(text);
    assert.equal(out.some(([k]) => k === "bad"), true, text);
    assert.equal(shown.replace(/\s/g, ""), text.replace(/\s/g, ""), text);
  }
});

test("deep nesting takes no more than linear room", () => {
  const depth = 5000;
  const { text } = pieces("[".repeat(depth) + "]".repeat(depth));
  assert.ok(text.length < depth * 2 * 60, "length " + text.length);
});

test("only objects and arrays are taken for JSON", () => {
  assert.deepEqual(["{", " [1]", "12", "plain {", ""].map(looksLikeJSON), [true, true, false, false, false]);
});
