// An agent that publishes the stream of its model to NATS, byte by byte as it comes,
// and runs the tool calls that streamer assembles. It parses no stream.
//
//   OPENAI_API_KEY=… node agent.js SESSION QUESTION
//
// OPENAI_BASE_URL can be any server with the API Chat Completions. STREAMER_NATS_URL
// is nats://127.0.0.1:4222 by default.

import { connect } from "@nats-io/transport-node";
import { natsSession } from "streamer-client/nats";

const { OPENAI_BASE_URL = "https://api.openai.com/v1", OPENAI_API_KEY = "", STREAMER_NATS_URL = "nats://127.0.0.1:4222", MODEL = "gpt-5.4-mini" } = process.env;
const [name = "demo", question = "What is the weather in Tromsø and in Atlantis?"] = process.argv.slice(2);

const weather = { Oslo: "6 °C, cloudy", Tromsø: "4 °C, rain" };
const tools = {
  get_weather({ city }) { // a slow tool gets { signal } as well, which is aborted when its call is closed
    if (!weather[city]) throw new Error(`no weather for ${city}`);
    return weather[city];
  },
};
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const described = [{ type: "function", function: { name: "get_weather", description: "Returns the weather of a city.", parameters } }];

const { host, username, password } = new URL(STREAMER_NATS_URL); // the client takes no credentials from a URL
const login = username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
const nc = await connect({ servers: host, ...login, maxReconnectAttempts: -1 });
const session = natsSession(nc, name);
let read; // the last event that was read
try {
  console.log(await session.untilStopped(agent));
} catch (error) {
  console.error(`the run ended: ${error.message}`);
  process.exitCode = 1;
}
await nc.drain();

/** Asks the model until it calls no tool, and returns its text. */
async function agent(signal) {
  const messages = [{ role: "user", content: question }];
  for (;;) {
    const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
      method: "POST", signal,
      headers: { Authorization: `Bearer ${OPENAI_API_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({ model: MODEL, messages, tools: described, stream: true }),
    });
    const { first, error } = await session.follow(response, { format: "openai-chat", signal });
    if (error) throw error;
    const { text, calls } = await messageFrom(first, signal);
    if (calls.length === 0) return text;
    const asked = calls.map(({ id, tool_name, args_text }) => ({ id, type: "function", function: { name: tool_name, arguments: args_text } }));
    messages.push({ role: "assistant", content: text || null, tool_calls: asked }, ...(await Promise.all(calls.map(resultOf))));
  }
}

/** Returns the text and the calls of the message that begins with an input. */
async function messageFrom(first, signal) {
  const message = { text: "", calls: [] };
  for await (const event of session.events({ after: read, signal })) {
    read = event.seq;
    if (parseInt(event.event_id) < first) continue; // an earlier message; an event_id begins with its input
    if (event.type === "agent_response_chunk" && event.kind === "text") message.text += event.content;
    if (event.type === "tool_call_args_complete") message.calls.push(event);
    if (event.type === "message_finished") break;
  }
  signal.throwIfAborted();
  return message;
}

/** Runs a call, which stores its result, and returns the message for the model. */
async function resultOf(call) {
  const content = await session.run(call, (...args) => tools[call.tool_name](...args)).catch((error) => error.message);
  return { role: "tool", tool_call_id: call.id, content };
}
