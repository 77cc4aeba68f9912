// Streams of a model with the API Chat Completions.

let messages = 0;

/** Returns the chunks of a message that calls tools: [id, name, args]. */
export function calling(...calls) {
  const id = `chatcmpl-${process.pid}-${++messages}`;
  const parts = calls.map(([call, name, args], index) =>
    chunk(id, { tool_calls: [{ index, id: call, type: "function", function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) } }] }));
  return [...parts, chunk(id, {}, "tool_calls")];
}

/** Returns the chunks of a message with a text in pieces. */
export function saying(...pieces) {
  const id = `chatcmpl-${process.pid}-${++messages}`;
  return [...pieces.map((content) => chunk(id, { content })), chunk(id, {}, "stop")];
}

/** Returns the bytes of a stream as the API sends it. */
export const sseOf = (chunks) => new TextEncoder().encode(chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`).join("") + "data: [DONE]\n\n");

const chunk = (id, delta, finish_reason = null) => ({ id, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });

/** Resolves with the events of a session up to the first for which last returns true. */
export async function eventsUntil(session, last, options) {
  const seen = [];
  for await (const event of session.events(options)) {
    seen.push(event);
    if (last(event, seen)) break;
  }
  return seen;
}

/** Publishes calls, and resolves with their events of complete args. */
export async function called(session, ...calls) {
  const { first } = await session.follow(calling(...calls));
  const own = (list) => list.filter((e) => Number(e.call.split(".")[0]) >= first);
  return own(await eventsUntil(session, (_, seen) => own(seen).length === calls.length, { types: ["tool_call_args_complete"] }));
}

/** Resolves when a signal is aborted. */
export const aborted = (signal) => new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", resolve)));
