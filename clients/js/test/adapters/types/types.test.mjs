import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("the types fit those of the frameworks", () => {
  const tsc = fileURLToPath(import.meta.resolve("typescript/bin/tsc"));
  execFileSync(process.execPath, [tsc, "--project", fileURLToPath(new URL("tsconfig.json", import.meta.url))], { stdio: ["ignore", "inherit", "inherit"] });
});
