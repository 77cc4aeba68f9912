// Reads one {"id","format","messages"} per line, and writes one {"id","errors"} per
// line: what the packages that take such messages say against them.
import * as ai7 from 'ai'
import * as ai6 from 'ai6'
import * as ai5 from 'ai5'
import * as internal7 from 'ai/internal'
import * as internal6 from 'ai6/internal'
import * as internal5 from 'ai5/internal'
import { MessageSchema, RunAgentInputSchema } from '@ag-ui/core'
import { createInterface } from 'node:readline'

const versions = [[5, ai5, internal5], [6, ai6, internal6], [7, ai7, internal7]]

const checks = {
  'ag-ui'(messages, must) {
    for (const message of messages) must('MessageSchema', MessageSchema.safeParse(message).error)
    const input = { threadId: 't', runId: 'r', state: {}, messages, tools: [], context: [], forwardedProps: {} }
    must('RunAgentInputSchema', RunAgentInputSchema.safeParse(input).error)
    if (new Set(messages.map((m) => m.id)).size < messages.length) must('ids', new Error('a message id occurs twice'))
  },
  async 'ai-ui'(messages, must) {
    for (const [version, ai, internal] of versions) {
      try {
        await ai.validateUIMessages({ messages: structuredClone(messages) })
        await prompt(version, internal, await ai.convertToModelMessages(structuredClone(messages)))
      } catch (error) {
        must(`ai ${version}`, error)
      }
    }
  },
  async 'ai-model'(messages, must) {
    for (const [version, ai, internal] of versions) {
      for (const message of messages) must(`ai ${version}, modelMessageSchema`, ai.modelMessageSchema.safeParse(message).error)
      try {
        await prompt(version, internal, structuredClone(messages))
      } catch (error) {
        must(`ai ${version}`, error)
      }
    }
  },
}

// prompt makes the prompt that a provider is sent. It fails for a call without a
// result.
function prompt(version, internal, messages) {
  const rest = messages.filter((m) => m.role !== 'system')
  return internal.convertToLanguageModelPrompt({ prompt: { messages: rest }, supportedUrls: { '*/*': [/.*/] }, download: undefined })
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, format, messages } = JSON.parse(line)
  const errors = []
  await checks[format](messages, (what, error) => error && errors.push(`${what}: ${String(error.message ?? error).slice(0, 400)}`))
  console.log(JSON.stringify({ id, errors }))
}
