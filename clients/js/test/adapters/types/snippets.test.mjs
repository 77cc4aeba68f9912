// The snippets of the documents are compiled with tsc --strict. A comment before one has the
// types of the names that it does not declare: <!-- given: gateway: string; session: string -->

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import ts from "typescript";

const root = fileURLToPath(new URL("../../../../..", import.meta.url));
const PACKAGES = { "streamer-client": "clients/js", "streamer-sse-ui": "examples/sse-ui" };
const LIBRARIES = ["clients/js/test", "test/clients", "examples/sse-ui/test"]; // the first that has one

// Snippets of js have no annotations: parameters are of type any, and JSON of type unknown.
const UNANNOTATED = [7005, 7006, 7011, 7018, 7019, 7023, 7031, 7034, 18046];

const options = {
  strict: true, noEmit: true, skipLibCheck: true, jsx: ts.JsxEmit.ReactJSX, types: ["node"],
  target: ts.ScriptTarget.ES2022, lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
};

/** Returns the names of the documents. */
function documents() {
  const readmes = ["clients", "examples"].flatMap((dir) => readdirSync(join(root, dir)).map((name) => `${dir}/${name}/README.md`));
  const docs = readdirSync(join(root, "docs"), { recursive: true }).map((name) => `docs/${name}`);
  return ["README.md", ...docs, ...readmes].filter((name) => name.endsWith(".md") && existsSync(join(root, name)));
}

/** Returns the snippets of a document: {file, line, kind, text}. */
function* snippetsIn(file) {
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  for (let i = 0; i < lines.length; i++) {
    const [, kind] = lines[i].match(/^```(js|jsx|ts|tsx)$/) ?? [];
    if (!kind) continue;
    const end = lines.indexOf("```", i);
    const given = lines.slice(Math.max(0, i - 2), i).join("\n").match(/<!-- given: (.*?) -->/)?.[1] ?? "";
    const declared = given.split("; ").filter(Boolean).map((name) => `declare let ${name};`).join(" ");
    yield { file, line: i + 1, kind, text: [`export {}; ${declared}`, ...lines.slice(i + 1, end)].join("\n") };
    i = end;
  }
}

/** Makes a project of the snippets, in which the packages are installed. */
function projectOf(snippets, dir) {
  for (const from of LIBRARIES.map((name) => join(root, name, "node_modules"))) {
    for (const name of readdirSync(from).flatMap((n) => (n.startsWith("@") ? readdirSync(join(from, n)).map((m) => `${n}/${m}`) : n))) {
      const link = join(dir, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      if (!name.startsWith(".") && !(name in PACKAGES) && !existsSync(link)) symlinkSync(join(from, name), link);
    }
  }
  for (const [name, from] of Object.entries(PACKAGES)) {
    cpSync(join(root, from), join(dir, "node_modules", name), { recursive: true, filter: (path) => !/\/(test|dist)$/.test(path) });
  }
  writeFileSync(join(dir, "tools.d.mts"), 'export declare const tools: import("ai").ToolSet;\n');
  return new Map(snippets.map((s) => {
    const name = join(dir, `${basename(dirname(s.file))}-${basename(s.file, ".md")}-${s.line}.${s.kind.endsWith("x") ? "tsx" : "ts"}`);
    writeFileSync(name, s.text);
    return [name, s];
  }));
}

test("the snippets of the documents have no errors of types", (t) => {
  const absent = LIBRARIES.find((name) => !existsSync(join(root, name, "node_modules")));
  if (absent) {
    assert.notEqual(process.env.STREAMER_REQUIRE_BROWSER, "1", `run npm ci in ${absent}`);
    return t.skip(`run npm ci in ${absent}`);
  }
  const dir = mkdtempSync(join(tmpdir(), "streamer-snippets-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const snippets = projectOf(documents().flatMap((file) => [...snippetsIn(file)]), dir);
  assert.ok(snippets.size > 10);
  const program = ts.createProgram([...snippets.keys()], { ...options, typeRoots: [join(dir, "node_modules/@types")] });
  const errors = ts.getPreEmitDiagnostics(program).flatMap((d) => {
    const s = snippets.get(d.file?.fileName);
    if (s?.kind.startsWith("js") && UNANNOTATED.includes(d.code)) return [];
    const text = ts.flattenDiagnosticMessageText(d.messageText, "\n");
    return [s ? `${s.file}:${s.line + d.file.getLineAndCharacterOfPosition(d.start).line}: ${text} (${d.code})` : `${d.file?.fileName}: ${text}`];
  });
  assert.deepEqual(errors, []);
});
