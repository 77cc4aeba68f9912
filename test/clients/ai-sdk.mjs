// The AI SDK: useChat with resume is the class Chat and its resumeStream.
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, isToolUIPart, readUIMessageStream, validateUIMessages } from 'ai'
import { validateUIMessages as validate5 } from 'ai5'
import { validateUIMessages as validate6 } from 'ai6'
import { serve } from './jobs.mjs'

const transportOf = (job, fetch) =>
  new DefaultChatTransport({ fetch, prepareReconnectToStreamRequest: () => ({ api: job.url }) })

// chat resumes job.times times. After a lost connection it resumes again, as the hook
// does.
async function chat(job, fetch) {
  const ends = []
  const chat = new Chat({
    id: job.session,
    messages: job.messages ?? [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
    transport: transportOf(job, fetch),
    onFinish: (end) => ends.push(end),
  })
  for (let i = 0; i < job.times; i++) {
    await chat.resumeStream()
    for (let tries = 0; ends.at(-1)?.isDisconnect && tries < 5; tries++) {
      ends.pop()
      await chat.resumeStream()
    }
  }
  if (chat.status !== 'ready') throw chat.error
  const { finishReason, isAbort, isDisconnect, isError } = ends.at(-1) ?? {} // no run was open
  return { ...shown(chat.messages), ended: true, isAbort, isDisconnect, isError, finishReason, messages: chat.messages }
}

// reload loads the messages of the session, and resumes with them from their cursor. It fails
// if a message is not valid in each version of the SDK, or is there twice.
async function reload(job, fetch) {
  const session = encodeURIComponent(job.session)
  const { messages, cursor } = await (await fetch(`${job.url}/sessions/${session}/messages?format=ai-ui`)).json()
  for (const validate of [validate5, validate6, validateUIMessages]) if (messages.length) await validate({ messages })
  const state = await chat({ ...job, messages, url: `${job.url}/ai-sdk/${session}/stream?last_event_id=${cursor}`, times: 1 }, fetch)
  const ids = state.messages.map((m) => m.id)
  if (new Set(ids).size < ids.length) throw new Error(`messages are there twice: ${ids}`)
  return state
}

const ranks = { 'input-streaming': 0, 'input-available': 1, 'approval-requested': 2, 'approval-responded': 3, 'output-available': 4, 'output-error': 4, 'output-denied': 4 }

// reader reads the stream once and notes each change of a call that a user would see
// as a step back.
async function reader(job, fetch) {
  const stream = await transportOf(job, fetch).reconnectToStream({ chatId: job.session })
  const states = {}
  const problems = []
  let last
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) {
    for (const part of message.parts.filter(isToolUIPart)) {
      const before = states[part.toolCallId]
      if (before && before !== part.state && ranks[part.state] <= ranks[before]) problems.push(`${part.toolCallId}: ${part.state} after ${before}`)
      states[part.toolCallId] = part.state
    }
    last = message
  }
  return { ...shown([last]), ended: true, problems, messages: [last] }
}

// shown returns what the messages show, in the form that all clients share.
function shown(messages) {
  const parts = messages.filter((m) => m.role === 'assistant').flatMap((m) => m.parts)
  const run = messages.at(-1).parts.findLast((p) => p.type === 'data-streamer-run')
  return {
    outcome: run?.data.status ?? 'completed',
    texts: parts.filter((p) => p.type === 'text').map((p) => p.text),
    open: parts.filter((p) => p.state === 'streaming').length,
    calls: parts.filter(isToolUIPart).map((p) => ({
      id: p.toolCallId,
      name: p.type.slice('tool-'.length),
      args: p.input,
      state: p.state,
      status: p.toolMetadata?.streamer?.status,
      reason: p.toolMetadata?.streamer?.reason,
      result: p.output ?? p.errorText,
    })),
  }
}

// approve approves the call that waits, and gives the output of a tool of the frontend. The
// next request has both. Its answer is no stream, so the chat then resumes.
async function approve(job, fetch) {
  const transport = new DefaultChatTransport({ api: job.url, fetch, prepareReconnectToStreamRequest: () => ({ api: `${job.url}/stream` }) })
  const chat = new Chat({ id: job.session, transport })
  await chat.resumeStream()
  const { approval } = chat.lastMessage.parts.find((p) => p.state === 'approval-requested')
  await chat.addToolApprovalResponse({ id: approval.id, approved: true })
  await chat.addToolOutput({ tool: 'pick', toolCallId: 'b', output: { color: 'red' } })
  await chat.sendMessage()
  if (chat.status !== 'ready') throw chat.error
  return shown(chat.messages)
}

// watch waits for the first run in a tab that was opened before the question. It is ready
// to send meanwhile.
async function watch(job, fetch) {
  const transport = new DefaultChatTransport({ fetch, prepareReconnectToStreamRequest: () => ({ api: `${job.url}/stream?wait&last_event_id=0` }) })
  const chat = new Chat({ id: job.session, transport })
  while (chat.messages.length === 0) {
    const resumed = chat.resumeStream()
    if (chat.status !== 'ready') throw new Error(`the chat is ${chat.status} while it waits`)
    await resumed
  }
  return shown(chat.messages)
}

serve({ chat, reader, reload, watch, approve })
