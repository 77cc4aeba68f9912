// EventSource for node: the native stream, with automatic reconnection.
import { EventSource } from 'eventsource'
import { serve } from './jobs.mjs'

// events reads a session until job.runs runs have ended.
const events = (job, fetch) => new Promise((resolve, reject) => {
  const list = []
  let runs = 0
  const source = new EventSource(job.url, { fetch })
  source.onerror = (e) => {
    if (source.readyState === EventSource.CLOSED) reject(new Error(`closed: ${e.code} ${e.message}`))
  }
  for (const type of job.types) {
    source.addEventListener(type, (e) => {
      list.push(`${e.lastEventId} ${type} ${e.data}`)
      if (type !== 'run_finished' || ++runs < job.runs) return
      source.close()
      resolve({ events: list })
    })
  }
})

serve({ events })
