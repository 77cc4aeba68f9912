import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { streamer } from "streamer-client";
import { openaiAgents } from "streamer-client/openai-agents";
import { z } from "zod";

import { aborted, calling, eventsUntil, saying, sseOf } from "../model.mjs";
import { sharedServer } from "../server.mjs";

setTracingDisabled(true);
let server;
before(async (t) => (server = await sharedServer(t)));

/** Returns a client of an API that gives each answer once. */
const clientOf = (...answers) => new OpenAI({ apiKey: "key", baseURL: "http://api.invalid", fetch: async () => answers.shift() });
const sse = (body) => new Response(body, { headers: { "Content-Type": "text/event-stream" } });

/** Returns the stream of the Responses API that calls tools: [id, name, args]. */
function response(...calls) {
  const id = `resp_${calls.length}`;
  const base = { id, object: "response", created_at: 1, model: "m", output: [], status: "in_progress" };
  const events = [{ type: "response.created", response: base }];
  const output = calls.map(([call, name, args], i) => {
    const item = { type: "function_call", id: `fc_${call}`, call_id: call, name, arguments: JSON.stringify(args), status: "completed" };
    events.push(
      { type: "response.output_item.added", output_index: i, item: { ...item, arguments: "", status: "in_progress" } },
      { type: "response.function_call_arguments.delta", output_index: i, item_id: item.id, delta: item.arguments },
      { type: "response.function_call_arguments.done", output_index: i, item_id: item.id, arguments: item.arguments },
      { type: "response.output_item.done", output_index: i, item },
    );
    return item;
  });
  if (calls.length === 0) {
    const item = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done", annotations: [] }] };
    output.push(item);
    events.push(
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "msg_1", delta: "done" },
      { type: "response.output_item.done", output_index: 0, item },
    );
  }
  events.push({ type: "response.completed", response: { ...base, output, status: "completed", usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } } });
  return sse(events.map((e, n) => `event: ${e.type}\ndata: ${JSON.stringify({ ...e, sequence_number: n })}\n\n`).join(""));
}

const calls = [["call_1", "search", { q: "a" }], ["call_2", "crawl", { q: "b" }]];
const apis = {
  "chat completions": () => new OpenAIChatCompletionsModel(clientOf(sse(sseOf(calling(...calls))), sse(sseOf(saying("done")))), "m"),
  responses: () => new OpenAIResponsesModel(clientOf(response(...calls), response()), "m"),
};

for (const [api, modelOf] of Object.entries(apis)) {
  test(`a stop reaches the tool, and the model goes on: ${api}`, async () => {
    const session = streamer(server.url).session(`openai-agents/${api}`);
    const streamed = openaiAgents(session);
    const parameters = z.object({ q: z.string() });
    const search = tool({ name: "search", description: "Searches.", parameters, execute: streamed.execute(({ q }) => ({ found: q })) });
    const crawl = tool({
      name: "crawl", description: "Crawls.", parameters,
      execute: streamed.execute(async (_, __, { signal, progress }) => {
        await progress("crawls");
        await aborted(signal);
        throw signal.reason;
      }),
    });
    const agent = new Agent({ name: "finder", model: streamed.model(modelOf()), tools: [search, crawl] });
    const result = await run(agent, "Find it.", { stream: true });
    const crawling = (await eventsUntil(session, (e) => e.message === "crawls")).at(-1);
    await session.interrupt({ call: crawling.call });
    await result.completed;
    await streamed.end();
    assert.equal(result.finalOutput, "done");
    const outputs = result.newItems.filter((item) => item.type === "tool_call_output_item").map((item) => item.output);
    assert.deepEqual(outputs[0], { found: "a" });
    assert.match(outputs[1], /^Tool call crawl with id call_2 was cancelled/);

    const events = await eventsUntil(session, (e) => e.type === "run_finished");
    const of = (type) => events.filter((e) => e.type === type);
    assert.deepEqual(of("tool_call_result").map((e) => [e.tool_name, e.status]).sort(), [["crawl", "cancelled"], ["search", "completed"]]);
    assert.deepEqual(of("tool_call_late_result").map((e) => [e.call, e.tool_state]), [[crawling.call, "stopped"]]);
    assert.deepEqual(of("tool_call_args_complete").map((e) => e.tool_args), [{ q: "a" }, { q: "b" }]);
    assert.equal(of("agent_response_chunk").map((e) => e.content).join(""), "done");
    assert.deepEqual([of("message_finished").length, of("rejected")], [2, []]);
  });
}

test("an answer that is not streamed", async () => {
  const session = streamer(server.url).session("openai-agents/whole");
  const streamed = openaiAgents(session);
  const message = (fields, finish_reason) => Response.json({ id: "c1", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content: null, ...fields }, finish_reason }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
  const client = clientOf(
    message({ tool_calls: [{ id: "call_1", type: "function", function: { name: "search", arguments: '{"q":"a"}' } }] }, "tool_calls"),
    message({ content: "done" }, "stop"),
  );
  const search = tool({ name: "search", description: "Searches.", parameters: z.object({ q: z.string() }), execute: streamed.execute(({ q }) => ({ found: q })) });
  const agent = new Agent({ name: "finder", model: streamed.model(new OpenAIChatCompletionsModel(client, "m")), tools: [search] });
  assert.equal((await run(agent, "Find it.")).finalOutput, "done");
  await streamed.end();
  const events = await eventsUntil(session, (e) => e.type === "run_finished");
  assert.deepEqual(events.filter((e) => e.type === "tool_call_result").map((e) => e.tool_result), [{ found: "a" }]);
  assert.equal(events.filter((e) => e.type === "agent_response_chunk").map((e) => e.content).join(""), "done");
});
