// A server of streamer for a test, which can be killed and started again.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { STREAMER_PROGRAM = "streamer", TEST_URL, TEST_NATS } = process.env;

/** Returns the server that all tests share, or starts one. It is not killed. */
export const sharedServer = (t) => (TEST_URL ? { url: TEST_URL, nats: TEST_NATS } : startServer(t));

/** Starts a server, which ends with the test t. */
export async function startServer(t, ...flags) {
  const dir = mkdtempSync(join(tmpdir(), "streamer-js-"));
  const [http, nats] = [await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`);
  const server = new Server(["serve", "--data-dir", dir, "--http-listen", http, "--nats-listen", nats, "--partitions", "1", ...flags]);
  t.after(async () => {
    await server.kill();
    rmSync(dir, { recursive: true });
  });
  await server.start();
  return server;
}

class Server {
  constructor(args) {
    this.args = args;
    process.on("exit", () => this.process?.kill("SIGKILL"));
  }

  /** Starts the program, and returns when it listens. */
  async start() {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("STREAMER_"))); // which are flags
    this.process = spawn(STREAMER_PROGRAM, this.args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let log = "";
    this.process.stderr.on("data", (text) => (log += text));
    const printed = {};
    for await (const line of createInterface({ input: this.process.stdout })) {
      const [key, value] = line.split(/\s+/);
      printed[key] = value;
      if (key !== "nats") continue; // the line after the page
      this.url = printed.page.replace(/\/$/, "");
      this.nats = value;
      return;
    }
    throw new Error(`the server has ended\n${log}`);
  }

  /** Ends the process with SIGKILL. */
  async kill() {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exit;
  }

  async restart() {
    await this.kill();
    await this.start();
  }
}

/** Returns a port below those that systems assign to connections, which a restarted server finds free. */
async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const probe = createServer();
    const free = await new Promise((resolve) => probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)));
    if (!free) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}
