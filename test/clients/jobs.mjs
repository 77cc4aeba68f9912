// Runs jobs for the test: one JSON object a line on standard input, for example
//   {"job":"1","kind":"chat","url":"http://…","session":"demo"}
// and as many lines on standard output:
//   {"job":"1","open":true}      the first stream of the job is open
//   {"job":"1","state":{…}}      the end of the job, with what the client shows
//   {"job":"1","error":"…"}      the client failed
//   {"warning":"…"}              the client wrote to the console, not about a lost connection
import { createInterface } from 'node:readline'

const write = (line) => process.stdout.write(JSON.stringify(line) + '\n')

// serve runs every job with the function of its kind.
export function serve(kinds) {
  for (const name of ['log', 'warn', 'error']) {
    console[name] = (...words) => {
      if (!words.some(isCut)) write({ warning: words.map((w) => w?.stack ?? String(w)).join(' ') })
    }
  }
  process.on('unhandledRejection', (e) => {
    if (!isCut(e)) write({ warning: `unhandled rejection: ${e?.stack ?? e}` })
  })
  createInterface({ input: process.stdin }).on('line', async (line) => {
    const job = JSON.parse(line)
    let opened = false
    const fetch = tapped(() => {
      if (!opened) write({ job: job.job, open: true })
      opened = true
    })
    try {
      write({ job: job.job, state: await kinds[job.kind](job, fetch) })
    } catch (e) {
      write({ job: job.job, error: String(e?.stack ?? e) })
    }
  })
}

// isCut reports whether an error means that the connection is gone.
export const isCut = (e) => e instanceof TypeError && /network|fetch|terminated/.test(e.message) || e?.cause?.code === 'UND_ERR_SOCKET'

// tapped returns a fetch that calls open when an answer begins. The error of a lost
// connection is that of browsers, because clients compare its text.
function tapped(open) {
  return async (url, init) => {
    const answer = await fetch(url, init)
    if (answer.ok) open()
    if (!answer.body || !answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer
    const reader = answer.body.getReader()
    const body = new ReadableStream({
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (e) {
          controller.error(e?.name === 'AbortError' ? e : new TypeError('network error', { cause: e }))
        }
      },
      cancel: (reason) => reader.cancel(reason),
    })
    const { status, statusText, headers } = answer
    return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: answer.url })
  }
}
