// A process that runs the calls of a session: worker.mjs URL SESSION. It prints a line
// when a tool begins and when a call has ended. The tool "hang" only ends by its signal.

import { streamer } from "../streamer.js";

const [url, name] = process.argv.slice(2);
const session = streamer(url).session(name);

async function tool(event, args, { signal }) {
  console.log(`begin ${event.call}`);
  if (event.tool_name === "hang") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  return args.n;
}

for await (const event of session.events({ types: ["tool_call_args_complete"], onLive: () => console.log("live") })) {
  session.run(event, (...rest) => tool(event, ...rest)).then(
    (value) => console.log(`value ${event.call} ${value}`),
    (error) => console.log(`error ${event.call} ${error.name} ${error.status}`),
  );
}
