import { test } from "node:test";
import assert from "node:assert/strict";
import { tree, flatten, parentsOf, bounds, concurrency, criticalPath, ticks, offset } from "../rows.js";
import { axis } from "../axis.js";
import { range } from "../range.js";

let serial = 0;
const call = (from, to, more = {}) => ({
  call: String(++serial), id: "id-" + serial, run: "r", namespace: "", parent: "", seenAt: from, startedAt: from,
  status: to === undefined ? "args_complete" : "completed", endedAt: to ?? 0, waits: [], ...more,
});
const agent = (namespace) => namespace.split("|").slice(0, -1).join("|").split(":")[0];
const shape = (nodes) => nodes.map((n) => [n.group || n.call.call, ...shape(n.children)]);

test("calls are below the call that started them", () => {
  const a = call(0, 9), b = call(1, 3, { parent: a.id, namespace: "x:1|agent:2" }), c = call(2, 4, { namespace: "x:1|other:3" });
  const d = call(3, 4, { parent: b.id, namespace: "y:1|agent:2" });
  assert.deepEqual(shape(tree([a, b, c, d], agent)), [[a.call, [b.call, [d.call]], [c.call]]]);
});

test("calls of a sub-agent without a parent are in a group", () => {
  const a = call(0, 9), b = call(1, 3, { namespace: "x:1|agent:2" }), c = call(2, 4, { namespace: "x:1|agent:2" });
  assert.deepEqual(shape(tree([a, b, c], agent)), [[a.call], ["x", [b.call], [c.call]]]);
});

test("a parent's id that repeats is the newest call before the child", () => {
  const a = call(0, 1, { id: "p" }), b = call(5, 9, { id: "p" }), c = call(6, 7, { parent: "p" }), d = call(9, 9, { id: "p" });
  assert.equal(parentsOf([a, b, c, d]).get(c.call), b.call);
});

test("a cycle of parents is cut", () => {
  const a = call(0, 1, { id: "a", parent: "b" }), b = call(0, 1, { id: "b", parent: "a" }), c = call(0, 1, { id: "c", parent: "c" });
  assert.equal(flatten(tree([a, b, c], agent), new Set()).length, 3);
});

test("children of collapsed rows are left out", () => {
  const a = call(0, 9), b = call(1, 3, { parent: a.id }), c = call(10, 11);
  const roots = tree([a, b, c], agent);
  const rows = (collapsed) => flatten(roots, new Set(collapsed)).map((r) => [r.node.key, r.level, r.position, r.size, r.expanded, r.parent]);
  assert.deepEqual(rows([]), [[a.call, 1, 1, 2, true, -1], [b.call, 2, 1, 1, null, 0], [c.call, 1, 2, 2, null, -1]]);
  assert.deepEqual(rows([a.call]), [[a.call, 1, 1, 2, false, -1], [c.call, 1, 2, 2, null, -1]]);
});

test("an open call ends now", () => {
  assert.deepEqual(bounds([call(5, 9), call(7)], 20), { from: 5, to: 20 });
  assert.deepEqual(bounds([], 20), { from: 20, to: 20 });
});

test("calls that meet are not concurrent", () => {
  const { steps, max } = concurrency([call(0, 5), call(5, 9), call(6, 7)], 9);
  assert.deepEqual([steps, max], [[[0, 1], [5, 1], [6, 2], [7, 1], [9, 0]], 2]);
});

test("the critical path goes back from the call that ended last", () => {
  const a = call(0, 4), b = call(0, 6), c = call(7, 20), d = call(8, 9, { parent: c.id }), e = call(9, 19, { parent: c.id }), f = call(12, 18, { parent: c.id });
  const path = criticalPath(tree([a, b, c, d, e, f], agent), 20);
  assert.deepEqual([...path].sort(), [b, c, d, e].map((x) => x.call).sort());
});

test("the lines of an axis are round and few", () => {
  assert.deepEqual(ticks(axis([], 0), 90, 1_130, 100, 6), { step: 200, list: [100, 300, 500, 700, 900, 1_100] });
  for (const length of [3, 70, 999, 12_345, 600_000, 90_000_000, 4e9]) {
    const { list } = ticks(axis([], 0), 17, 17 + length, 17, 8);
    assert.ok(list.length >= 1 && list.length <= 9, length + " ms has " + list.length + " lines");
  }
});

test("offsets are as exact as the lines", () => {
  const got = [[0, 100], [250, 50], [1_500, 500], [61_000, 1_000], [3_723_000, 60_000], [-40, 10]].map(([ms, step]) => offset(ms, step));
  assert.deepEqual(got, ["0", "250 ms", "1.5 s", "1:01", "1:02:03", "−40 ms"]);
});

test("a range follows the end, holds, and fits", () => {
  const r = range();
  r.grow({ from: 0, to: 1_000 });
  assert.deepEqual(r.now(), { from: -20, to: 1_020 });
  r.by(0.5);
  assert.deepEqual([r.now(), r.following], [{ from: 500, to: 1_020 }, true]);
  r.grow({ from: 0, to: 2_000 });
  assert.equal(r.now().to, 2_040);
  r.set(100, 300);
  r.grow({ from: 0, to: 5_000 });
  assert.deepEqual([r.now(), r.following], [{ from: 100, to: 300 }, false]);
  r.move(-10);
  assert.deepEqual(r.now(), { from: -100, to: 100 });
  r.follow();
  assert.equal(r.now().to, 5_100);
  r.fit();
  assert.deepEqual([r.now(), r.zoomed], [{ from: -100, to: 5_100 }, false]);
});

test("an idle period and one very long call break the axis", () => {
  const quick = (from) => [call(from, from + 200), call(from + 250, from + 500), call(from + 300, from + 600)];
  const CASES = [
    ["a minute without calls", [...quick(0), ...quick(60_000)], 1],
    ["two of them", [...quick(0), ...quick(60_000), ...quick(120_000)], 2],
    ["a call of five minutes among quick ones", [...quick(0), call(100, 300_000), ...quick(300_000)], 1],
    ["an open call", [...quick(0), call(100)], 1],
    ["calls that are alike", [call(0, 10_000), call(10_010, 20_000), call(20_010, 30_000)], 0],
    ["a call alone", [call(0, 60_000)], 0],
    ["a second without calls", [...quick(0), ...quick(1_500)], 0],
    ["pauses that are a small part each", Array.from({ length: 20 }, (_, i) => quick(i * 5_000)).flat(), 0],
    ["no calls", [], 0],
  ];
  for (const [what, calls, want] of CASES) {
    const now = 320_000, line = axis(calls, now), { from, to } = bounds(calls, now);
    assert.equal(line.breaks.length, want, what);
    // Each time has its place, in order, and the quick calls keep their length.
    let last = -Infinity;
    for (let t = from; t <= to; t += (to - from || 1) / 500) {
      const at = line.at(t);
      assert.ok(at > last, what);
      assert.ok(Math.abs(line.time(at) - t) < 0.01, what + ": " + t + " is " + line.time(at));
      last = at;
    }
    if (want > 0) assert.ok(line.at(200) - line.at(0) > 0.02 * (line.at(to) - line.at(from)), what + ": a call of 200 ms is seen");
    for (const at of ticks(line, line.at(from), line.at(to), from, 8).list) assert.ok(line.breaks.every((b) => at <= b.from || at >= b.to), what);
  }
});

test("a break that goes on grows", () => {
  const line = axis([call(0, 200), call(250, 500), call(300)], 60_000), at = line.at(60_000);
  line.grow(70_000);
  assert.ok(Math.abs(line.at(70_000) - at) < 1);
});
