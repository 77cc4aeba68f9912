package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"streamer/internal/events"
)

// routeTools are the tools of the route in the cookbook.
const routeTools = `
import { jsonSchema, tool } from 'ai'
export const tools = {
  get_weather: tool({
    inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: async ({ city }) => city + ': 4 °C, rain',
  }),
}
`

// routeRequest calls the route once, with a model that calls a tool.
const routeRequest = `
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { POST } from './route.mjs'
const tokens = { total: 1 }
const chunks = [
  { type: 'stream-start', warnings: [] },
  { type: 'tool-input-start', id: 'call_1', toolName: 'get_weather' },
  { type: 'tool-input-delta', id: 'call_1', delta: '{"city":"Oslo"}' },
  { type: 'tool-input-end', id: 'call_1' },
  { type: 'tool-call', toolCallId: 'call_1', toolName: 'get_weather', input: '{"city":"Oslo"}' },
  { type: 'finish', finishReason: { unified: 'tool-calls' }, usage: { inputTokens: tokens, outputTokens: tokens } },
]
const model = new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) })
globalThis.AI_SDK_DEFAULT_PROVIDER = { specificationVersion: 'v4', languageModel: () => model }
const messages = [{ role: 'user', parts: [{ type: 'text', text: 'What is the weather in Oslo?' }] }]
const answer = await POST(new Request('http://app', { method: 'POST', body: JSON.stringify({ id: 'route', messages }) }))
await answer.text()
`

// TestCookbookRoute runs the route of the cookbook with the AI SDK.
func TestCookbookRoute(t *testing.T) {
	t.Parallel()
	requireNode(t, "../clients/js/test")
	server, _ := serve(t)
	packages, err := filepath.Abs("../clients/js/test/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{"route.mjs": cookbook(t, "js")[0].code, "tools.mjs": routeTools, "request.mjs": routeRequest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "request.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "STREAMER_URL="+server)
	run(t, cmd, "")
	log := read(t, server, "route", ended)
	if bad := of(log, events.Rejected); len(bad) > 0 {
		t.Errorf("rejected: %+v", bad)
	}
	results := of(log, events.ToolCallResult)
	if len(results) != 1 {
		t.Fatalf("the results are %+v: want one", results)
	}
	want(t, "the result", string(results[0].ToolResult), `"Oslo: 4 °C, rain"`)
}
