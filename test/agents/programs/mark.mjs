// The tool of the libraries: it records in the file $RAN when it begins, returns and fails.
import { appendFileSync } from "node:fs";

export const { BASE: base, SCRIPT: script, PERSON: person } = process.env;
globalThis.console = new console.Console(process.stderr, process.stderr); // libraries log
const record = (line) => appendFileSync(process.env.RAN, line + "\n");
const wait = (ms, signal) => new Promise((done, fail) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); fail(signal.reason); }, { once: true });
});

export const prompt = "Please do the steps.";
export const description = "Marks a step.";
// stopped is aborted by SIGINT.
export const stopping = new AbortController();
process.on("SIGINT", () => stopping.abort());

export async function mark({ step, act }) {
  record("begin " + step);
  if (act === "throw") { record("throw " + step); throw new Error("failed " + step); }
  if (act === "slow") await wait(1000);
  if (act === "stay") await wait(60000, stopping.signal);
  record("end " + step);
  return "did " + step;
}
export const print = (event) => process.stdout.write(JSON.stringify(event) + "\n");
