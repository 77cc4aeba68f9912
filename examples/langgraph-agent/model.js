// A chat model without a provider. It calls search and crawl, or publish if the question
// begins with it, streams their args in pieces, and answers when it has the results.
// Replace it by a real one:
//
//   import { ChatOpenAI } from "@langchain/openai";

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { randomUUID } from "node:crypto";

export class FakeModel extends BaseChatModel {
  constructor() {
    super({});
  }
  _llmType() {
    return "fake";
  }
  bindTools() {
    return this;
  }
  async _generate() {
    throw new Error("the fake model only streams");
  }
  async *_streamResponseChunks(messages, _options, runManager) {
    const answers = messages.filter((m) => ToolMessage.isInstance(m));
    for (const fields of answers.length > 0 ? answer(answers) : calls(messages.at(-1).text)) {
      const chunk = new ChatGenerationChunk({ text: fields.content, message: new AIMessageChunk(fields) });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

/** Yields the chunks of a message that calls tools. */
function* calls(question) {
  yield { content: "Let me look." };
  for (const [index, name] of (/^publish/i.test(question) ? ["publish"] : ["search", "crawl"]).entries()) {
    yield { content: "", tool_call_chunks: [{ index, name, id: `call_${randomUUID()}`, args: "", type: "tool_call_chunk" }] };
    for (const args of ['{"q":', JSON.stringify(question), "}"]) yield { content: "", tool_call_chunks: [{ index, args, type: "tool_call_chunk" }] };
  }
  yield { content: "", response_metadata: { finish_reason: "tool_calls" } };
}

/** Yields the chunks of a message that repeats the results. */
function* answer(results) {
  for (const result of results) yield { content: `${result.name}: ${result.text}\n` };
  yield { content: "", response_metadata: { finish_reason: "stop" } };
}
