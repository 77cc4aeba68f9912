// Renderers: what the args and the result of a call are shown as, by the name of its tool, or
// else by the form of the value. All of a value becomes text of elements, never markup, and
// nothing is loaded from an address in it.

import { el } from "./dom.js";

const MAX_TEXT = 256 << 10; // characters of a value; a longer one stays text
const MAX_LINES = 400, MAX_ROWS = 100, MAX_COLUMNS = 12; // that are shown
const MAX_CELL = 2_000; // characters of a value in a table or a map
const MAX_CELLS = 250_000; // of the matrix of a diff; above it, all lines are removed and added

// createRenderers returns the renderers of a page, or of a shadow root, which gets their style:
//
//   register(tool, renderer)  renders the calls of a tool with {args, result, telling}, each a
//                             function (value, call) and optional: args and result return an
//                             element, or null for the form of the value, and telling returns
//                             the text beside the name of the tool
//   draw(side, text, call)    returns the element for the "args" or the "result" of a call, or null
//                             if its text is the best form
//   telling(call)             returns the text beside the name, "" for the usual one
export function createRenderers(root = document) {
  const own = new Map();
  adopt(root);

  // first returns what a renderer returns; one that throws is as if it were not there.
  function first(call, name, value) {
    try {
      return own.get(call.tool)?.[name]?.(value, call);
    } catch (err) {
      console.error("the renderer of " + call.tool + ":", err);
      return null;
    }
  }

  return {
    register(tool, renderer) { own.set(tool, renderer); },
    draw(side, text, call) {
      if (text.length > MAX_TEXT) return null;
      const value = parsed(text);
      const made = first(call, side, value);
      if (made) return made;
      const forms = side === "args" ? [diff, command, contents, table, map] : [output, diff, contents, table, map];
      for (const form of forms) {
        const node = form(value, call);
        if (node) return node;
      }
      return null;
    },
    telling(call) {
      if (!call.argsDone || call.args.text.length > MAX_TEXT) return "";
      const value = parsed(call.args.text);
      return first(call, "telling", value) || lineOf(value) || pathOf(value) || "";
    },
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const short = (value) => (value.length > MAX_CELL ? value.slice(0, MAX_CELL) + "…" : value);
const rest = (n, what) => (n > 0 ? el("p", { class: "label" }, n + " more " + what) : null);
const box = (kind, label, ...children) => el("div", { class: "view", "data-view": kind, tabindex: "0", role: "group", "aria-label": label }, ...children);

// ---- edits

const PATCH = /^(?:diff --git |--- .*\n\+\+\+ |\*\*\* Begin Patch|@@ )/m;
const pick = (value, ...names) => names.map((name) => value[name]).find((v) => typeof v === "string");
const before = (edit) => pick(edit, "old_string", "old_str", "oldText", "old_text");
const after = (edit) => pick(edit, "new_string", "new_str", "newText", "new_text");

// patchOf returns a patch in a value: the value, or one of its texts.
function patchOf(value) {
  const found = isMap(value) ? pick(value, "patch", "diff", "input", "unified_diff") : value;
  return typeof found === "string" && PATCH.test(found) ? found : undefined;
}

// pathOf returns the file that a value edits.
function pathOf(value) {
  const patch = patchOf(value);
  const named = patch?.match(/^(?:\+\+\+ (?:b\/)?|\*\*\* (?:Add|Update|Delete) File: )(.+)$/m)?.[1];
  return named ?? (isMap(value) && (patch || before(value) !== undefined || Array.isArray(value.edits)) ? pick(value, "file_path", "path", "filename", "file") : undefined);
}

function diff(value) {
  const patch = patchOf(value);
  const edits = !isMap(value) ? [] : (Array.isArray(value.edits) ? value.edits : [value]).filter((e) => isMap(e) && (before(e) ?? after(e)) !== undefined);
  if (!patch && edits.length === 0) return null;
  const lines = patch ? patch.split("\n").map((line) => [/^(\+\+\+|---|\*\*\*|diff |index )/.test(line) ? "@" : line[0] ?? " ", line])
    : edits.flatMap((e, i) => [...(i > 0 ? [["@", "…"]] : []), ...compare(before(e) ?? "", after(e) ?? "").map(([kind, line]) => [kind, kind + " " + line])]);
  const tags = { "+": "ins", "-": "del" };
  return box("diff", "Change", el("p", { class: "label" }, pathOf(value) ?? "", el("span", {}, "+" + lines.filter(([k]) => k === "+").length + " −" + lines.filter(([k]) => k === "-").length)),
    el("pre", {}, ...lines.slice(0, MAX_LINES).map(([kind, line]) => el(tags[kind] ?? "span", { "data-line": kind === "@" && "at" }, line + "\n"))),
    rest(lines.length - MAX_LINES, "lines"));
}

// compare returns the lines of two texts as [" ", line] if both have it, ["-", line] and ["+", line].
export function compare(before, after) {
  const [a, b] = [before, after].map((text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n")));
  let head = 0, tail = 0;
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head++;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const keep = (lines) => lines.map((line) => [" ", line]);
  return [...keep(a.slice(0, head)), ...changed(a.slice(head, a.length - tail), b.slice(head, b.length - tail)), ...keep(a.slice(a.length - tail))];
}

function changed(a, b) {
  const lines = [];
  if (a.length * b.length > MAX_CELLS) return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  // common[i][j] is the number of lines that a from i and b from j have in common.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push([" ", a[i++]]), j++;
    else if (i < a.length && (j === b.length || common[i + 1][j] >= common[i][j + 1])) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  }
  return lines;
}

// ---- commands

// lineOf returns the command line in the args of a shell, "" if there is none.
function lineOf(value) {
  if (!isMap(value) || "path" in value) return "";
  const line = value.command ?? value.cmd ?? value.action?.command;
  if (!Array.isArray(line)) return typeof line === "string" ? line : "";
  if (!line.every((word) => typeof word === "string")) return "";
  return /^-\w*c$/.test(line[1]) && line.length === 3 ? line[2] : line.join(" "); // bash -lc "ls"
}

function command(value) {
  const line = lineOf(value);
  return line && box("terminal", "Command", el("pre", {}, el("b", {}, "$ "), line),
    el("p", { class: "label" }, [value.description, value.workdir ?? value.cwd].filter((v) => typeof v === "string").join(" · ")));
}

const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;

// output returns the result of a command: its texts, and the exit code if it is known.
function output(value, call) {
  if (!lineOf(parsed(call.args.text))) return null;
  const said = isMap(value) ? pick(value, "stdout", "output", "aggregated_output") : Array.isArray(value) ? textsOf(value) : text(value);
  const faults = isMap(value) ? pick(value, "stderr") : "";
  const code = isMap(value) ? [value.exit_code, value.exitCode, value.returncode, value.metadata?.exit_code].find((v) => typeof v === "number") : undefined;
  if (said === undefined && !faults && code === undefined) return null;
  const plain = (part) => (part ?? "").replace(ESCAPES, "");
  return box("terminal", "Output", el("pre", {}, plain(said), faults ? el("span", { class: "bad" }, plain(faults)) : null),
    code === undefined ? null : el("p", { class: "label", "data-failed": String(code !== 0) }, "exit code " + code));
}

// ---- texts and images

const SAFE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+$/;
const REMOTE = /^https?:\/\/[^\s"'<>]+$/;
const NAMED = /^https?:\/\/[^\s"'<>?#]+\.(?:png|jpe?g|gif|webp|avif|svg)(?:[?#]\S*)?$/i;

// imageOf returns the address of the image in a value: of a block of a message, or of a text.
function imageOf(value) {
  if (typeof value === "string") return SAFE.test(value) || NAMED.test(value) ? value : "";
  if (!isMap(value)) return "";
  if (isMap(value.inlineData ?? value.inline_data)) return imageOf(value.inlineData ?? value.inline_data); // Gemini
  const data = value.source?.data ?? value.data, type = value.source?.media_type ?? value.mimeType ?? value.mime_type ?? value.media_type;
  const address = typeof data === "string" && type ? "data:" + type + ";base64," + data : value.image_url?.url ?? value.image_url ?? value.source?.url ?? (value.type === "image" ? value.url : imageOf(value.url ?? value.image));
  return typeof address === "string" && (SAFE.test(address) || REMOTE.test(address)) ? address : "";
}

// picture shows an image that is part of the value. A click opens one at an address elsewhere,
// which learns only then that somebody looks.
function picture(address) {
  if (SAFE.test(address)) return el("img", { src: address, alt: "Image of the call" });
  return el("p", {}, el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, "Open the image at " + new URL(address).host));
}

const textsOf = (blocks) => blocks.map((b) => (typeof b?.text === "string" ? b.text : "")).filter(Boolean).join("\n");

const isText = (b) => typeof b?.text === "string" && (b.type === "text" || Object.keys(b).length === 1); // without a type: Gemini

// contents shows the blocks of a message, those of other types as JSON, or one image.
function contents(value) {
  if (isMap(value) && typeof value.type !== "string" && Object.keys(value).length > 1) return null; // it says more
  const blocks = Array.isArray(value) ? value : [value];
  const known = (b) => imageOf(b) !== "" || (b?.type === "text" && isText(b));
  if (blocks.length > MAX_ROWS || !blocks.some(known) || !blocks.every((b) => known(b) || isText(b) || typeof b?.type === "string")) return null;
  return box("content", "Content", ...blocks.map((b) => (imageOf(b) ? picture(imageOf(b)) : el("pre", {}, isText(b) ? b.text : short(text(b))))));
}

// ---- tables and maps

function table(value) {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isMap)) return null;
  const names = [...new Set(value.slice(0, MAX_ROWS).flatMap(Object.keys))], columns = names.slice(0, MAX_COLUMNS);
  if (columns.length === 0) return null;
  return box("table", "Table", el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...value.slice(0, MAX_ROWS).map((row) => el("tr", {}, ...columns.map((name) => el("td", { "data-number": typeof row[name] === "number" }, Object.hasOwn(row, name) ? short(text(row[name])) : "")))))),
    rest(value.length - MAX_ROWS, "rows"), rest(names.length - MAX_COLUMNS, "columns"));
}

function map(value) {
  const entries = isMap(value) ? Object.entries(value) : [];
  if (entries.length === 0) return null;
  return box("map", "Values", el("dl", {}, ...entries.slice(0, MAX_ROWS).flatMap(([key, v]) => [el("dt", {}, key), el("dd", {}, inside(v))])), rest(entries.length - MAX_ROWS, "values"));
}

function inside(value) {
  if (Array.isArray(value) && value.every((v) => typeof v === "string" && v.length < 80)) return value.join(", ");
  const view = contents(value) ?? table(value);
  view?.removeAttribute("tabindex");
  return view ?? el(typeof value === "string" ? "span" : "code", {}, short(text(value)));
}

// ---- the style

const STYLE = `
.view { max-height: var(--most, 264px); overflow: auto; padding: 8px 10px; border-radius: 8px; background: var(--sunk); font-size: 12px; }
.view .view { max-height: none; padding: 0; }
.view pre, .view dd { white-space: pre-wrap; overflow-wrap: anywhere; }
.view :is(pre, dt, dd, th, td) { unicode-bidi: plaintext; }
.view .label { margin: 0 0 4px; overflow-wrap: anywhere; }
.view :is(ins, del, [data-line]) { display: block; margin: 0 -10px; padding: 0 10px; text-decoration: none; }
.view ins { background: color-mix(in srgb, var(--ok) 14%, transparent); }
.view del { background: color-mix(in srgb, var(--bad) 14%, transparent); }
.view [data-line] { color: var(--muted); }
.view[data-view="terminal"] { --sunk: #16181c; color-scheme: dark; background: #16181c; color: #e8e9eb; }
.view[data-view="terminal"] b { color: #5cc792; }
.view[data-view="terminal"] .bad { color: #ff8f83; text-decoration: none; }
.view[data-view="terminal"] .label { margin: 4px 0 0; color: #a0a5ae; }
.view [data-failed="true"] { color: #ff8f83 !important; }
.view table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.view :is(th, td) { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; max-width: 40ch; overflow-wrap: break-word; }
.view th { color: var(--muted); font-weight: 600; white-space: nowrap; }
.view [data-number] { text-align: right; }
.view dl { display: grid; grid-template-columns: fit-content(40%) minmax(0, 1fr); gap: 4px 12px; }
.view dt { color: var(--muted); overflow-wrap: anywhere; }
.view img { display: block; max-width: 100%; height: auto; border-radius: 4px; }
@media (forced-colors: active) { .view { border: 1px solid; } }
@media print { .view { max-height: none !important; } }
`;

function adopt(root) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets.push(sheet);
}
