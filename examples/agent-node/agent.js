// An agent that publishes the stream of its model to NATS, byte by byte as it comes,
// and runs the tool calls that streamer assembles. It parses no stream.
//
//   OPENAI_API_KEY=… node agent.js SESSION QUESTION
//
// OPENAI_BASE_URL can be any server with the API Chat Completions. STREAMER_NATS_URL
// is nats://127.0.0.1:4222 by default.

import { DeliverPolicy, jetstream } from "@nats-io/jetstream";
import { connect, headers } from "@nats-io/transport-node";
import { randomUUID } from "node:crypto";

const { OPENAI_BASE_URL = "https://api.openai.com/v1", OPENAI_API_KEY = "", STREAMER_NATS_URL = "nats://127.0.0.1:4222", MODEL = "gpt-5.4-mini" } = process.env;
const [session = "demo", question = "What is the weather in Tromsø and in Atlantis?"] = process.argv.slice(2);
if (!/^[\w-]+$/.test(session)) throw new Error("a session with other characters is escaped in subjects, see docs/events.md");

const weather = { Oslo: "6 °C, cloudy", Tromsø: "4 °C, rain" };
const tools = {
  get_weather({ city }) {
    if (!weather[city]) throw new Error(`no weather for ${city}`);
    return weather[city];
  },
};
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const described = [{ type: "function", function: { name: "get_weather", description: "Returns the weather of a city.", parameters } }];

const { host, username, password } = new URL(STREAMER_NATS_URL); // the client takes no credentials from a URL
const login = username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
const nc = await connect({ servers: host, ...login, maxReconnectAttempts: -1 });
const js = jetstream(nc);
const messages = [{ role: "user", content: question }];
const run = randomUUID(); // message ids of different runs differ
let published = 0;

// An ordered consumer misses no event, also when the connection is lost.
const consumer = await js.consumers.get("TOOLCALLS", { filter_subjects: `toolcalls.${session}.event.>`, deliver_policy: DeliverPolicy.New });
const events = await consumer.consume();

let text = "";
let calls = []; // of the message that the model writes
let results = []; // of these calls, as promises
await ask();
for await (const m of events) {
  const event = m.json();
  if (event.type === "agent_response_chunk" && event.kind === "text") {
    text += event.content;
  } else if (event.type === "tool_call_args_complete") {
    calls.push({ id: event.id, type: "function", function: { name: event.tool_name, arguments: event.args_text } });
    results.push(answer(event)); // the tool runs while the model goes on
  } else if (event.type === "run_finished" && event.status !== "completed") {
    console.error(`the run ended: ${event.reason?.text ?? event.status}`);
    process.exitCode = 1;
    break;
  } else if (event.type === "message_finished" && calls.length === 0) {
    console.log(text);
    break;
  } else if (event.type === "message_finished") {
    messages.push({ role: "assistant", content: text || null, tool_calls: calls }, ...(await Promise.all(results)));
    [text, calls, results] = ["", [], []];
    await ask();
  }
}
await nc.drain();

/** Sends the messages to the model, and publishes its answer. */
async function ask() {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${OPENAI_API_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify({ model: MODEL, messages, tools: described, stream: true }),
  });
  if (!response.ok) {
    await publish("end", '{"reason":"error"}', run);
    throw new Error(`the model: ${response.status}: ${await response.text()}`);
  }
  for await (const bytes of response.body) await publish("delta", bytes, `${run}-${++published}`);
}

/** Runs a call, publishes its result, and returns the message for the model. */
async function answer({ call, id, tool_name, tool_args }) {
  let content;
  let status = "success";
  try {
    content = await tools[tool_name](tool_args);
  } catch (error) {
    content = String(error);
    status = "error";
  }
  await publish("result", JSON.stringify({ call, content, status }), call);
  return { role: "tool", tool_call_id: id, content };
}

/** Publishes an input. JetStream stores it once, also if the publish is repeated. */
function publish(kind, body, id) {
  const h = headers();
  if (kind === "delta") h.set("Streamer-Format", "openai-chat");
  return js.publish(`llm.${session}.${kind}`, body, { msgID: `${session}:${kind}:${id}`, headers: h });
}
