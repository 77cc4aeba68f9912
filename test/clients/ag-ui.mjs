// AG-UI: HttpAgent with its own verification of the order of events.
import { HttpAgent } from '@ag-ui/client'
import { isCut, serve } from './jobs.mjs'

// agent runs job.times times. After a lost connection it runs again.
async function agent(job, fetch) {
  const agent = new HttpAgent({ url: job.url, threadId: job.session, initialMessages: job.messages ?? [{ id: 'u1', role: 'user', content: 'go' }], fetch })
  let end = null
  agent.subscribe({
    onRunFinishedEvent: ({ event }) => { end = event.outcome },
    onRunErrorEvent: ({ event }) => { end = { type: 'error', code: event.code, message: event.message } },
  })
  for (let i = 0; i < job.times; i++) {
    end = null
    for (let tries = 0; end === null; tries++) {
      if (tries === 5) throw new Error('the run does not end')
      try {
        await agent.runAgent({ runId: `client-${i}-${tries}`, resume: resumeOf(agent) })
      } catch (e) {
        if (!isCut(e)) throw e
      }
    }
  }
  return { ...shown(agent.messages), ended: true, outcome: end.type, pending: end.pendingToolCallIds ?? end.interrupts?.map((i) => i.toolCallId), end, messages: agent.messages }
}

// reload loads the messages of the session, and runs with them.
async function reload(job, fetch) {
  const session = encodeURIComponent(job.session)
  const { messages } = await (await fetch(`${job.url}/sessions/${session}/messages?format=ag-ui`)).json()
  const state = await agent({ ...job, messages, url: `${job.url}/ag-ui/${session}` }, fetch)
  const ids = state.messages.map((m) => m.id)
  if (new Set(ids).size < ids.length) throw new Error(`messages are there twice: ${ids}`)
  return state
}

// resumeOf answers the interrupts that the agent has, which it requires to run again.
const resumeOf = (agent) => agent.pendingInterrupts?.map(({ id }) => ({ interruptId: id, status: 'resolved' }))

// shown returns what the messages show, in the form that all clients share.
function shown(messages) {
  const results = messages.filter((m) => m.role === 'tool')
  return {
    questions: messages.filter((m) => m.role === 'user').map((m) => m.content),
    texts: messages.filter((m) => m.role === 'assistant' && m.content).map((m) => m.content),
    open: 0,
    extra: results.length - new Set(results.map((m) => m.toolCallId)).size,
    calls: messages.flatMap((m) => m.toolCalls ?? []).map((c) => {
      const result = results.find((m) => m.toolCallId === c.id)
      return {
        id: c.id,
        name: c.function.name,
        args: JSON.parse(c.function.arguments),
        state: result ? 'result' : 'pending',
        status: result?.metadata?.streamer?.status,
        reason: result?.metadata?.streamer?.reason,
        result: result?.content,
      }
    }),
  }
}

// approve answers the interrupt of the last run.
async function approve(job, fetch) {
  const agent = new HttpAgent({ url: job.url, threadId: job.session, initialMessages: [{ id: 'u1', role: 'user', content: 'go' }], fetch })
  await agent.runAgent({ runId: 'client-0' })
  const [{ id }] = agent.pendingInterrupts
  await agent.runAgent({ runId: 'client-1', resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }] })
  return {}
}

serve({ agent, reload, approve })
