// Durable Streams: the client reads a session as JSON messages.
import { DurableStream, stream } from '@durable-streams/client'
import { isCut, serve } from './jobs.mjs'

// untilCut returns what read does, undefined if its connection is lost.
const untilCut = (read) => read().catch((e) => {
  if (!isCut(e)) throw e
})

// durable reads a session until job.runs runs have ended. job.live is the way in which the
// client reads new messages: sse or long-poll, true for its choice, or all for sse from the
// first message on. After a lost connection it continues from the last offset.
async function durable(job, fetch) {
  const list = []
  let offset = '-1'
  for (let runs = 0; runs < job.runs;) {
    const all = job.live === 'all'
    const read = async () => {
      const response = await stream({
        url: job.url, offset, fetch, live: all ? 'sse' : job.live, json: true, params: all ? { live: 'sse' } : {},
        backoffOptions: { initialDelay: 1, maxDelay: 100, multiplier: 2 },
        sseResilience: { backoffBaseDelay: 1, logWarnings: false },
      })
      const stop = response.subscribeJson((batch) => {
        if (batch.offset < offset && offset !== '-1') throw new Error(`${batch.offset} follows ${offset}`)
        offset = batch.offset
        for (const message of batch.items) {
          list.push(message)
          if (message.type === 'run_finished') runs++
        }
        if (runs >= job.runs) stop()
      })
      await response.closed
    }
    await untilCut(read)
  }
  let stored
  while (!stored) stored = await untilCut(async () => (await stream({ url: job.url, live: false, fetch })).json())
  const head = await DurableStream.head({ url: job.url, fetch })
  const refused = await DurableStream.create({ url: job.url, contentType: 'application/json', fetch }).catch((e) => e.message)
  return { durable: list, stored, tail: head.offset, refused: String(refused) }
}

serve({ durable })
