// It is compiled, and not run: the types fit those of the frameworks.

import { Agent, OpenAIChatCompletionsModel, tool as agentTool } from "@openai/agents";
import { type LanguageModel, type UIMessage, convertToModelMessages, createUIMessageStreamResponse, streamText, tool, toUIMessageStream, wrapLanguageModel } from "ai";
import { connect } from "@nats-io/transport-node";
import { createAgent } from "langchain";
import OpenAI from "openai";
import { Cancelled, type Event, streamer } from "streamer-client";
import { aiSdk } from "streamer-client/ai-sdk";
import { streamerMiddleware, withoutResults } from "streamer-client/langchain";
import { natsSession } from "streamer-client/nats";
import { openaiAgents } from "streamer-client/openai-agents";
import { z } from "zod";

const session = streamer("http://127.0.0.1:8080", { token: async () => "t" }).session("trip-7");
const inputSchema = z.object({ q: z.string() });

export async function core(response: Response, event: Event & { call: string }): Promise<number> {
  await session.follow(response, { format: "openai-chat" });
  const found: { n: number } = await session.run(event, async (args: { q: string }, { signal, progress }) => {
    await progress(args.q, 50);
    return { n: (await (await fetch("http://127.0.0.1", { signal })).text()).length };
  });
  for await (const e of session.events({ after: 3, types: ["tool_call_result"] })) console.log(e.seq, e.reason?.code);
  await session.interrupt({ run: "next" });
  const { decision, args } = await session.waitForAnswer(event);
  if (decision === "edit") await session.answer(event, { decision, args });
  const messages: { role: string }[] = await session.repair([{ role: "user" }], { shape: "openai" });
  try {
    return found.n + messages.length;
  } catch (error) {
    if (error instanceof Cancelled) console.log(error.status, error.reason?.text);
    // @ts-expect-error: there is no such decision
    await session.answer(event, { decision: "perhaps" });
    throw error;
  }
}

/** Each type of event has its fields. */
export function fields(e: Event): string | undefined {
  // @ts-expect-error: no event has such a field
  e.tool_resullt;
  switch (e.type) {
    case "tool_call_result": {
      const status: "completed" | "error" | "denied" | "cancelled" | "timeout" = e.status;
      return e.synthetic ? e.reason?.text : `${e.tool_name} ${status} after ${e.duration_ms} ms`;
    }
    case "tool_call_awaiting_input":
      // @ts-expect-error: a call that waits has no result
      e.tool_result.length;
      return e.request?.reason;
    case "run_finished":
      return e.pending?.join();
    // @ts-expect-error: there is no such type
    case "tool_call_resullt":
      return e;
  }
  return e.call;
}

export async function some(): Promise<string[]> {
  // @ts-expect-error: there is no such type
  session.events({ types: ["tool_call_resullt"] });
  const texts: string[] = [];
  for await (const e of session.events({ types: ["tool_call_start", "tool_call_args_delta"] })) texts.push(e.call, e.type === "tool_call_start" ? e.kind : e.args);
  return texts;
}

export function ai(model: Exclude<LanguageModel, string>) {
  const streamed = aiSdk(session, { namespace: "a" });
  const search = tool({
    inputSchema, needsApproval: ({ q }) => q.length > 3,
    execute: async ({ q }, { abortSignal, progress }) => {
      await progress("half way", 50);
      // @ts-expect-error: the message is a text
      await progress(abortSignal);
      return q.length;
    },
  });
  const wrapped = wrapLanguageModel({ model: model as Parameters<typeof wrapLanguageModel>[0]["model"], middleware: streamed.middleware });
  return streamText({ model: wrapped, tools: streamed.tools({ search }), prompt: "x", onChunk: streamed.onChunk, onFinish: async () => void (await streamed.end()) });
}

export async function chat(request: { messages: UIMessage[] }, model: LanguageModel) {
  const streamed = aiSdk(session);
  const stream = await streamed.chat(request, async (abortSignal) => {
    const { stream } = streamText({ model, abortSignal, messages: await convertToModelMessages(request.messages) });
    return toUIMessageStream({ stream, originalMessages: request.messages });
  });
  return createUIMessageStreamResponse({ stream });
}

export async function langchain() {
  const agent = createAgent({ model: "openai:m", tools: [], middleware: [streamerMiddleware(session, { run: { grace: 1000 } })] });
  const stream = await agent.stream({ messages: [] }, { streamMode: "messages" });
  const [mine] = stream.tee();
  await session.follow(withoutResults(mine as unknown as AsyncIterable<[any, any]>), { format: "langchain" });
}

export function agents(client: OpenAI) {
  const streamed = openaiAgents(session);
  const execute = streamed.execute(({ q }: { q: string }, _, { signal }) => signal.aborted || q);
  const search = agentTool({ name: "search", description: "x", parameters: inputSchema, execute });
  return new Agent({ name: "a", model: streamed.model(new OpenAIChatCompletionsModel(client, "m")), tools: [search] });
}

export const nats = async () => natsSession(await connect({ servers: "127.0.0.1:4222" }), "trip-7", { url: "http://127.0.0.1:8080" }).interrupt();
