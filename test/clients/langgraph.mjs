// The SDK of LangGraph: a run that is joined, with the reducer of useStream, and the
// agent protocol.
import { Client } from '@langchain/langgraph-sdk'
import { MessageTupleManager } from '@langchain/langgraph-sdk/ui'
import { serve } from './jobs.mjs'

const clientOf = (job, fetch) => new Client({ apiUrl: job.url, apiKey: null, callerOptions: { fetch, maxConcurrency: 1000 } })

// join reads the last run to its end. It reconnects by itself.
async function join(job, fetch) {
  const client = clientOf(job, fetch)
  const [run] = await client.runs.list(job.session, { limit: 1 })
  const messages = new MessageTupleManager()
  const interrupts = []
  const names = []
  let error
  for await (const { event, data } of client.runs.joinStream(job.session, run.run_id)) {
    const name = event.split('|')[0]
    names.push(name)
    if (name === 'messages' && data[0].type === 'remove') delete messages.chunks[data[0].id]
    else if (name === 'messages') messages.add(data[0], data[1])
    else if (name === 'values') interrupts.push(...data.__interrupt__)
    else if (name === 'error') error = data
  }
  const list = Object.values(messages.chunks).map(({ chunk }) => chunk)
  const results = list.filter((m) => m.type === 'tool')
  return {
    outcome: error ? 'error' : interrupts.length ? 'interrupted' : 'ended',
    ended: names.at(-1) === 'end',
    pending: interrupts.map((i) => i.value.tool_call_id),
    questions: list.filter((m) => m.type === 'human').map((m) => m.text),
    texts: list.filter((m) => m.type === 'ai' && m.text).map((m) => m.text),
    open: 0,
    extra: results.length - new Set(results.map((m) => m.tool_call_id)).size,
    calls: list.flatMap((m) => [...(m.tool_calls ?? []), ...(m.invalid_tool_calls ?? [])]).map((c) => {
      const result = results.find((m) => m.tool_call_id === c.id)
      return {
        id: c.id,
        name: c.name,
        args: c.args,
        state: result?.status ?? 'pending',
        status: result?.additional_kwargs.streamer?.status,
        reason: result?.additional_kwargs.streamer?.reason,
        result: result?.content,
      }
    }),
  }
}

const threadOf = (job, fetch, socket) =>
  clientOf(job, fetch).threads.stream(job.session, { assistantId: 'agent', reconnectDelayMs: () => 10, ...(socket ? { transport: 'websocket', webSocketFactory: socket } : { fetch }) })

// thread reads a thread until it ends by itself, at the end of the last run.
async function thread(job, fetch, socket) {
  const thread = threadOf(job, fetch, socket)
  const calls = new Map()
  const ends = []
  const roles = {} // of messages, by id
  let extra = 0
  thread.onEvent(({ method, params: { namespace, data } }) => {
    if (method === 'messages' && data.role) roles[data.id] = data.role
    if (method === 'lifecycle' && namespace.length === 0 && data.event !== 'running') ends.push(data)
    if (method !== 'tools') return
    const call = calls.get(data.tool_call_id)
    if (data.event === 'tool-started') {
      if (call) extra++
      calls.set(data.tool_call_id, { id: data.tool_call_id, name: data.tool_name, state: 'running' })
    } else if (data.event === 'tool-finished' || data.event === 'tool-error') {
      if (call.state !== 'running') extra++
      call.state = data.event.slice('tool-'.length)
      call.status = data.streamer?.status
      call.reason = data.streamer?.reason
    }
  })
  const texts = []
  const questions = []
  const readMessages = async () => {
    for await (const message of thread.messages) ({ ai: texts, human: questions })[roles[message.id]]?.push(message.text)
  }
  const readCalls = async () => {
    for await (const handle of thread.toolCalls) {
      const call = calls.get(handle.id)
      call.args = handle.args
      if (call.state !== 'running') call.result = await handle.output.then((v) => v ?? '', (e) => e.message) // it returns null for an empty text
    }
  }
  await Promise.all([readMessages(), readCalls()])
  await thread.close()
  const end = ends.at(-1)
  return {
    outcome: end.status ?? { failed: 'error' }[end.event] ?? end.event,
    ended: true,
    pending: thread.interrupts.map((i) => i.payload?.tool_call_id),
    questions: await Promise.all(questions),
    texts: (await Promise.all(texts)).filter((t) => t),
    open: 0,
    extra,
    calls: [...calls.values()],
  }
}

// approve answers the interrupt of the last run, as a user of LangChain's middleware does.
async function approve(job, fetch, socket) {
  const thread = threadOf(job, fetch, socket)
  for await (const message of thread.messages) await message.text
  await thread.input.respond({ interrupt_id: thread.interrupts[0].interruptId, response: { decisions: [{ type: 'approve' }] } })
  await thread.close()
  return {}
}

// overSocket does the same over a WebSocket. The first ones are closed job.times messages
// after both subscriptions of thread: the client gives up one that has no answer yet.
const overSocket = (kind) => (job, fetch) => {
  let cuts = job.times ? 3 : 0
  return kind(job, fetch, (url) => {
    const socket = new WebSocket(url)
    let answers = 0, messages = 0
    const cut = ({ data }) => {
      answers += JSON.parse(data).type === 'success'
      if (answers >= 2 && ++messages === job.times) socket.close()
    }
    if (cuts-- > 0) socket.addEventListener('message', cut)
    return socket
  })
}

serve({ join, thread, approve, 'thread-socket': overSocket(thread), 'approve-socket': overSocket(approve) })
