// Runs jobs for the test: one JSON object a line on standard input, for example
//   {"job":"1","client":"openai_chat","base":"http://…","session":"s","mode":"stream"}
// and as many lines on standard output:
//   {"job":"1","state":{…}}    what the application got, and the digests of the bodies that arrived
// The mode is stream, whole or leave: the application leaves after some events.
import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'

globalThis.AI_SDK_LOG_WARNINGS = false
for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = (...words) => process.stderr.write(words.join(' ') + '\n')

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const openAITools = [{ type: 'function', function: { name: 'weather', parameters: schema } }]

// bodies has the digests of the bodies that arrived whole, by the base URL of the job.
const bodies = new Map()
const sessions = new Map()
const jobOf = (url) => [...sessions.keys()].find((base) => url.startsWith(base))

const plain = globalThis.fetch
globalThis.fetch = async (input, init) => {
  const url = String(input?.url ?? input)
  const base = jobOf(url)
  const session = sessions.get(base)
  const headers = new Headers(init?.headers ?? input?.headers)
  if (session) headers.set('Streamer-Session', session)
  const answer = await plain(input, { ...init, headers })
  if (!answer.body) return answer
  const hash = createHash('sha256')
  const body = answer.body.pipeThrough(new TransformStream({
    transform(chunk, controller) {
      hash.update(chunk)
      controller.enqueue(chunk)
    },
    flush() { bodies.get(base)?.push(answer.status + ' ' + hash.digest('hex')) },
  }))
  const copy = new Response(body, { status: answer.status, statusText: answer.statusText, headers: answer.headers })
  Object.defineProperty(copy, 'url', { value: answer.url })
  return copy
}

const clients = {
  async openai_chat(base, prompt, mode) {
    const { default: OpenAI } = await import('openai')
    const c = new OpenAI({ apiKey: 'sk-fake', baseURL: base + '/v1', maxRetries: 1 })
    const p = { model: 'm', messages: [{ role: 'user', content: prompt }], tools: openAITools }
    if (mode === 'whole') return (await c.chat.completions.create(p)).choices
    const chunks = []
    for await (const e of await c.chat.completions.create({ ...p, stream: true })) {
      chunks.push(e)
      if (left(mode, JSON.stringify(e))) break
    }
    return chunks
  },
  async openai_responses(base, prompt, mode) {
    const { default: OpenAI } = await import('openai')
    const c = new OpenAI({ apiKey: 'sk-fake', baseURL: base + '/v1', maxRetries: 1 })
    const p = { model: 'm', input: prompt, tools: [{ type: 'function', name: 'weather', parameters: schema, strict: false }] }
    if (mode === 'whole') return (await c.responses.create(p)).output
    const list = []
    for await (const e of await c.responses.create({ ...p, stream: true })) {
      list.push(e)
      if (left(mode, JSON.stringify(e))) break
    }
    return list
  },
  async anthropic(base, prompt, mode) {
    const { default: Anthropic } = await import('@anthropic-ai/sdk')
    const c = new Anthropic({ apiKey: 'sk-ant-fake', baseURL: base, maxRetries: 1 })
    const p = { model: 'm', max_tokens: 64, messages: [{ role: 'user', content: prompt }], tools: [{ name: 'weather', input_schema: schema }] }
    if (mode === 'whole') return (await c.messages.create(p)).content
    const s = c.messages.stream(p)
    s.on('streamEvent', (e) => { if (left(mode, JSON.stringify(e))) s.abort() })
    return (await s.finalMessage()).content
  },
  async genai(base, prompt, mode) {
    const { GoogleGenAI } = await import('@google/genai')
    const c = new GoogleGenAI({ apiKey: 'fake', httpOptions: { baseUrl: base } })
    const p = { model: 'm', contents: prompt, config: { tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: schema }] }] } }
    if (mode === 'whole') return (await c.models.generateContent(p)).candidates
    const list = []
    for await (const e of await c.models.generateContentStream(p)) {
      list.push(e.candidates)
      if (left(mode, JSON.stringify(e.candidates))) break
    }
    return list
  },
  ai_openai: (...job) => ai('@ai-sdk/openai', 'createOpenAI', '/v1', (f) => f('m'), ...job),
  ai_openai_chat: (...job) => ai('@ai-sdk/openai', 'createOpenAI', '/v1', (f) => f.chat('m'), ...job),
  ai_anthropic: (...job) => ai('@ai-sdk/anthropic', 'createAnthropic', '/v1', (f) => f('m'), ...job),
  ai_google: (...job) => ai('@ai-sdk/google', 'createGoogleGenerativeAI', '/v1beta', (f) => f('m'), ...job),
  async langchain_openai(base, prompt, mode) {
    const { ChatOpenAI } = await import('@langchain/openai')
    const m = new ChatOpenAI({ model: 'm', apiKey: 'sk-fake', maxRetries: 1, configuration: { baseURL: base + '/v1' } }).bindTools(openAITools)
    if (mode === 'whole') {
      const r = await m.invoke(prompt)
      return [r.content, r.tool_calls]
    }
    let all
    for await (const c of await m.stream(prompt)) {
      all = all ? all.concat(c) : c
      if (left(mode, JSON.stringify(c.tool_call_chunks))) break
    }
    return [all.content, all.tool_calls, all.invalid_tool_calls]
  },
  // Two turns of Responses on one WebSocket, after a prewarm.
  async responses_ws(base, prompt, mode, session) {
    const { default: WebSocket } = await import('ws')
    const headers = { authorization: 'Bearer sk-fake', 'openai-beta': 'responses_websockets=2026-02-06' }
    if (session) headers['streamer-session'] = session
    const ws = new WebSocket(base.replace(/^http/, 'ws') + '/v1/responses', { headers })
    return new Promise((resolve, reject) => {
      const list = []
      let turn = 0
      const send = () => ws.send(JSON.stringify({
        type: 'response.create', model: 'm', ...(turn === 0 ? { generate: false } : {}), tools: [{ type: 'function', name: 'weather' }],
        input: [{ type: 'message', role: 'user', content: prompt }],
      }))
      ws.on('open', send)
      ws.on('error', reject)
      ws.on('message', (data) => {
        list.push(String(data))
        if (turn > 0 && left(mode, String(data))) ws.terminate()
        else if (JSON.parse(data).type === 'response.completed' && ++turn < 3) send()
        else if (turn === 3) ws.close(1000)
      })
      ws.on('close', () => resolve(list))
    })
  },
}

// left reports whether an application leaves: when the call has begun.
const left = (mode, text) => mode === 'leave' && text.includes('weather')

async function ai(name, make, suffix, model, base, prompt, mode) {
  const { streamText, generateText, tool, jsonSchema } = await import('ai')
  const p = { model: model((await import(name))[make]({ apiKey: 'fake', baseURL: base + suffix })), prompt, maxRetries: 1, onError() {}, tools: { weather: tool({ inputSchema: jsonSchema(schema) }) } }
  const calls = (list) => list.map((c) => [c.toolName, c.input])
  if (mode === 'whole') {
    const r = await generateText(p)
    return [r.text, calls(r.toolCalls), r.finishReason]
  }
  const leave = new AbortController()
  const parts = []
  for await (const e of streamText({ ...p, abortSignal: leave.signal }).fullStream) {
    const error = e.error && [e.error.name, e.error.statusCode]
    parts.push([e.type, e.text ?? e.delta, e.toolName, e.input, error])
    if (left(mode, e.toolName ?? '')) leave.abort()
  }
  return parts
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { job, client, base, session, mode, prompt } = JSON.parse(line)
  bodies.set(base, [])
  sessions.set(base, session)
  let result
  try {
    result = { ok: await clients[client](base, prompt, mode, session) }
  } catch (e) {
    result = { error: [e.name, e.status ?? e.statusCode ?? null, e.code ?? e.cause?.code ?? null, String(e.message).replaceAll(base, 'BASE')] }
  }
  process.stdout.write(JSON.stringify({ job, state: { result, bodies: bodies.get(base) } }) + '\n')
})
process.on('unhandledRejection', () => {}) // of streams that are cut
