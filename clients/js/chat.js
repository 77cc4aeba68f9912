// A request of useChat of the AI SDK: its question or its answers, and the stream of an agent.

import { refused } from "./errors.js";

const FORMAT = "vercel-ui"; // the UI message stream
const PATIENCE = 30_000; // ms to wait for the events of answers

/**
 * Publishes what the last message of useChat adds, and the stream of the agent.
 * @param {import("./adapter.js").Adapter} adapter
 * @returns {Promise<ReadableStream>} the same stream
 */
export async function chat(adapter, { messages, trigger }, agent) {
  const { session } = adapter;
  const last = messages.at(-1);
  adapter.whole = true;
  if (last?.role !== "user") await session.calls.use(() => answer(adapter, last));
  else if (trigger !== "regenerate-message") await session.say(last);
  return new Promise((resolve, reject) => {
    session
      .untilStopped(async (signal) => {
        const [mine, theirs] = (await agent(signal)).tee();
        const published = adapter.publish(withoutEnds(mine, adapter), { format: FORMAT });
        resolve(theirs);
        await published;
      })
      .catch(reject);
  });
}

async function answer(adapter, { parts }) {
  await adapter.session.calls.live();
  for (const part of parts) if (part.toolCallId) await settle(adapter, part);
}

/** Publishes what a message adds to a call: the answer of a person, or the result of a tool of the browser. */
async function settle({ session, earlier, stored }, { toolCallId, state, approval, output, errorText }) {
  const { calls } = session;
  const call = calls.find(toolCallId), known = calls.get(call);
  if (state !== "approval-responded") {
    if (!call || known.result) return;
    if (state === "output-available") await session.result(call, output);
    if (state === "output-error") await session.result(call, errorText, { status: "error" });
    return;
  }
  (approval.approved ? earlier : stored).add(toolCallId);
  if (!call || (known.answer && !known.claim && !known.result)) return; // answered elsewhere; the agent goes on here
  if (known.claim === undefined && !known.result) {
    const { seq } = await session.answer(call, { decision: approval.approved ? "approve" : "deny", value: approval.reason });
    await calls.until(() => known.answer ?? known.result, AbortSignal.timeout(PATIENCE));
    if (known.answer?.input === seq) return;
  }
  throw refused(409, `the call ${call} was answered first by ${known.answer?.by ?? "another person"}`);
}

/** Yields the parts without the ends of calls that are stored, which would be late. */
async function* withoutEnds(parts, { stored }) {
  for await (const part of parts) if (!(/^tool-output-(available|error|denied)$/.test(part.type) && stored.has(part.toolCallId))) yield part;
}
