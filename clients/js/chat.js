// A request of useChat of the AI SDK: its question or its answers, and the stream of an agent.

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
  if (last?.role !== "user") await answer(adapter, last);
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

/** Publishes the answers in a message, and the results of tools of the browser: what it has of open calls. */
async function answer(adapter, { parts, ...message }) {
  const { session } = adapter, { calls } = session;
  for (const { state, toolCallId, approval } of parts) if (state === "approval-responded") (approval.approved ? adapter.earlier : adapter.stored).add(toolCallId);
  await calls.use(async () => {
    await calls.live();
    const known = ({ toolCallId }) => calls.get(calls.find(toolCallId) ?? toolCallId);
    const news = parts.filter((part) => part.toolCallId && !known(part).result);
    if (news.length === 0) return;
    await session.http.post(`/v1/ai-sdk/${encodeURIComponent(session.name)}`, { messages: [{ ...message, parts: news }] });
    const answers = news.filter((part) => part.state === "approval-responded");
    await calls.until(() => answers.every((part) => !known(part).waits) || undefined, AbortSignal.timeout(PATIENCE));
  });
}

/** Yields the parts without the ends of calls that are stored, which would be late. */
async function* withoutEnds(parts, { stored }) {
  for await (const part of parts) if (!(/^tool-output-(available|error|denied)$/.test(part.type) && stored.has(part.toolCallId))) yield part;
}
