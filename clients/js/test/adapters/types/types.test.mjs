import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));

test("the types fit those of the frameworks", () => {
  const tsc = fileURLToPath(import.meta.resolve("typescript/bin/tsc"));
  execFileSync(process.execPath, [tsc, "--project", `${root}/test/adapters/types/tsconfig.json`], { stdio: ["ignore", "inherit", "inherit"] });
});

test("the archive has the modules and their types only", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json"], { cwd: root, encoding: "utf8" }));
  const names = files.map((file) => file.path);
  assert.deepEqual(names.filter((name) => !/^\w[\w-]*(\.d\.ts|\.js)$/.test(name)), ["README.md", "package.json"]);
  for (const module of ["streamer", "ai-sdk", "langchain", "nats", "openai-agents", "react"]) assert.ok(names.includes(`${module}.js`) && names.includes(`${module}.d.ts`), module);
});
