#!/bin/bash
# Guess: a session of Claude Code that is resumed sends every tool call of its file, and adds
# a result to each call that has none.
#
# Seen with 2.1.332: only a call at the end of the session gets a result ("[Tool call
# interrupted: …"). A call without a result in the middle, as a crash leaves it, is not sent
# at all: the model no longer knows that it made the call. A result that stands behind a
# later turn of the model is not sent either; its call gets "[Tool result missing due to
# internal error]", although the file has the real one.
#
# Why it matters: who reads such a file as a history of tool calls sees calls and results
# that the model does not. A tool that may have run, and a result that is known, are lost
# unless the row of the result is moved, or added, before the session is resumed.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
server=
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @anthropic-ai/claude-code@2.1.332
claude=$(find node_modules/@anthropic-ai/claude-code-*/ -maxdepth 1 -name claude | head -1)
"$claude" --version

cat >server.mjs <<'JS'
import http from 'node:http'
import fs from 'node:fs'
const events = model => [
  { type: 'message_start', message: { id: 'msg_x', type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
]
const server = http.createServer((req, res) => {
  let body = ''
  req.on('data', d => { body += d })
  req.on('end', () => {
    if (req.method !== 'POST' || !/\/v1\/messages(\?|$)/.test(req.url)) return res.writeHead(404).end()
    const request = JSON.parse(body)
    if (JSON.stringify(request.messages).includes('NEXT')) fs.writeFileSync('sent.json', JSON.stringify(request.messages))
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const e of events(request.model)) res.write(`event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`)
    res.end()
  })
})
server.listen(0, '127.0.0.1', () => fs.writeFileSync('port', String(server.address().port)))
JS
node server.mjs &
server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done

mkdir -p home work
session=11111111-1111-4111-8111-111111111111
folder=home/.claude/projects/$(cd work && pwd -P | tr -c 'a-zA-Z0-9\n' '-')
mkdir -p "$folder"

# rows FILE writes a session: a call, a message of the user, and what the case adds.
rows() {
  node - "$1" "$session" "$dir/work" >"$folder/$session.jsonl" <<'JS'
const [kind, session, cwd] = process.argv.slice(2)
const id = n => n ? `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000` : null
const row = (n, type, message, more) => console.log(JSON.stringify({ parentUuid: id(n - 1), isSidechain: false, userType: 'external', cwd, sessionId: session, version: '2.1.332', gitBranch: '', type, message, uuid: id(n), timestamp: `2026-01-01T00:00:0${n}.000Z`, ...more }))
const user = (n, content, more) => row(n, 'user', { role: 'user', content }, more)
const model = (n, block) => row(n, 'assistant', { id: `msg_${n}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [block], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } })
user(1, 'Send it.')
model(2, { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'true' } })
if (kind !== 'end') {
  user(3, 'Well?')
  model(4, { type: 'text', text: 'Running.' })
}
if (kind === 'late') {
  user(5, [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sent' }], { toolUseResult: 'sent', sourceToolAssistantUUID: id(2) })
  model(6, { type: 'text', text: 'Done.' })
}
JS
}

# check KIND EXPECTED resumes a session and compares what is sent of the call.
check() {
  rows "$1"
  rm -f sent.json
  (cd work && HOME=$dir/home ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat ../port) ANTHROPIC_API_KEY=x \
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 timeout 120 "../$claude" -p --resume "$session" NEXT </dev/null >/dev/null)
  seen=$(node -e '
    const blocks = JSON.parse(require("fs").readFileSync("sent.json")).flatMap(m => Array.isArray(m.content) ? m.content : [])
    const calls = blocks.filter(b => b.type === "tool_use").length
    const results = blocks.filter(b => b.type === "tool_result").map(b => typeof b.content === "string" ? b.content.slice(0, 22) : JSON.stringify(b.content))
    console.log(`${calls} calls, results: ${results.join(" | ")}`)')
  echo "$1: $seen"
  [ "$seen" = "$2" ] || { echo "changed, was: $2"; exit 1; }
}

check end '1 calls, results: [Tool call interrupted'
check middle '0 calls, results: '
check late '1 calls, results: [Tool result missing d'
