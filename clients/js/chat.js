// A request of useChat of the AI SDK: its question or its answers, and the stream of an agent.

const FORMAT = "vercel-ui"; // the UI message stream

/**
 * Publishes what the last message of useChat adds, and the stream of the agent.
 * @param {import("./adapter.js").Adapter} adapter
 * @returns {Promise<ReadableStream>} the same stream
 */
export async function chat(adapter, { messages, trigger }, agent) {
  const { session } = adapter;
  const last = messages.at(-1);
  if (last?.role !== "user") await session.http.post(`/v1/ai-sdk/${encodeURIComponent(session.name)}`, { messages: [last] });
  else if (trigger !== "regenerate-message") await session.say(last);
  adapter.whole = true;
  for (const { state, toolCallId, approval } of last?.parts ?? []) if (state === "approval-responded") (approval.approved ? adapter.earlier : adapter.stored).add(toolCallId);
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

/** Yields the parts without the ends of calls that are stored, which would be late. */
async function* withoutEnds(parts, { stored }) {
  for await (const part of parts) if (!(/^tool-output-(available|error|denied)$/.test(part.type) && stored.has(part.toolCallId))) yield part;
}
