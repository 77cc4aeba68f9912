// The agent: its model, its tools, and the answer to one request of useChat.

import { setTimeout as pause } from "node:timers/promises";

import { convertToModelMessages, isStepCount, streamText, tool, toUIMessageStream } from "ai";
import { aiSdk } from "streamer-client/ai-sdk";
import { z } from "zod";

import { scripted } from "./model.js";
import { save } from "./storage.js";

const model = process.env.AI_GATEWAY_API_KEY ? "openai/gpt-5.4-mini" : scripted;
const seconds = Number(process.env.CHAT_REPORT_SECONDS ?? 20);

const tools = {
  weather: tool({
    description: "Returns the weather in a city",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `4 °C and rain in ${city}`,
  }),
  sendMail: tool({
    description: "Sends a mail",
    inputSchema: z.object({ to: z.string(), text: z.string() }),
    needsApproval: true,
    execute: async ({ to }) => {
      console.log(`sent a mail to ${to}`);
      return "sent";
    },
  }),
  writeReport: tool({
    description: "Writes a long report",
    inputSchema: z.object({ topic: z.string() }),
    execute: async ({ topic }, { abortSignal, progress }) => {
      for (let part = 1; part <= 10; part++) {
        await progress(`part ${part} of 10`, part * 10);
        await pause(seconds * 100, undefined, { signal: abortSignal });
      }
      console.log("wrote a report");
      return `a report about ${topic}`;
    },
  }),
};

/** Returns the stream of an answer. It goes on without the page, until it ends or is stopped. */
export function answer(session, request) {
  const run = aiSdk(session);
  return run.chat(request, async (abortSignal) => {
    const messages = await session.repair(request.messages);
    const { stream } = streamText({
      model, abortSignal, tools: run.tools(tools), stopWhen: isStepCount(5),
      messages: await convertToModelMessages(messages, { tools }),
    });
    return toUIMessageStream({ stream, originalMessages: request.messages, generateMessageId: () => crypto.randomUUID(), onEnd: ({ messages }) => save(session, messages) });
  });
}
