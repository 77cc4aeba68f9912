package session

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// wires are the deltas of a call's args in real formats: open opens the call, and
// delta has a fragment of 4 bytes in about 360 B (openai-chat), 99 B (anthropic) or
// 429 B (langchain). text is a delta of content. # stands for the number of the
// message and the call, @ for the fragment.
var wires = map[string]struct{ open, delta, end, text string }{
	"openai-chat": {
		open:  `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY#","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_#","type":"function","function":{"name":"write_file","arguments":""}}],"refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}`,
		delta: `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY#","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":@}}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aB3dE5gH7jK9"}`,
		end:   `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY#","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}`,
		text:  `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY#","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{"content":@},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aB3dE5gH7jK9"}`,
	},
	"anthropic": {
		open:  `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_#","name":"write_file","input":{}}}`,
		delta: `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":@}}`,
		end:   `{"type":"content_block_stop","index":0}`,
		text:  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":@}}`,
	},
	"langchain": {
		open:  `[{"content":"","additional_kwargs":{},"response_metadata":{},"type":"AIMessageChunk","name":null,"id":"run--#","example":false,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null,"tool_call_chunks":[{"name":"write_file","args":"","id":"call_#","index":0,"type":"tool_call_chunk"}]},{"langgraph_node":"agent","langgraph_step":1,"langgraph_checkpoint_ns":"agent:1"}]`,
		delta: `[{"content":"","additional_kwargs":{},"response_metadata":{},"type":"AIMessageChunk","name":null,"id":"run--#","example":false,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null,"tool_call_chunks":[{"name":null,"args":@,"id":null,"index":0,"type":"tool_call_chunk"}]},{"langgraph_node":"agent","langgraph_step":1,"langgraph_path":["__pregel_pull","agent"],"thread_id":"t-123","langgraph_checkpoint_ns":"agent:1"}]`,
		end:   `[{"content":"","additional_kwargs":{},"response_metadata":{"finish_reason":"tool_calls"},"type":"AIMessageChunk","name":null,"id":"run--#","example":false,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null,"tool_call_chunks":[]},{"langgraph_node":"agent","langgraph_step":1,"langgraph_checkpoint_ns":"agent:1"}]`,
		text:  `[{"content":@,"additional_kwargs":{},"response_metadata":{},"type":"AIMessageChunk","name":null,"id":"run--#","example":false,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null,"tool_call_chunks":[]},{"langgraph_node":"agent","langgraph_step":1,"langgraph_path":["__pregel_pull","agent"],"thread_id":"t-123","langgraph_checkpoint_ns":"agent:1"}]`,
	},
}

var wireFormats = []string{"openai-chat", "anthropic", "langchain"}

// fragments returns args of a size in pieces of 4 bytes, as JSON strings.
func fragments(size int) []string {
	const words = "lorem ipsum dolor "
	text := `{"text":"` + strings.Repeat(words, size/len(words)+1)
	text = text[:size-2] + `"}`
	list := make([]string, 0, size/4+1)
	for ; text != ""; text = text[min(4, len(text)):] {
		q, _ := json.Marshal(text[:min(4, len(text))])
		list = append(list, string(q))
	}
	return list
}

// instance returns a delta of a wire.
func instance(wire string, n int, piece string) []byte {
	return []byte(strings.Replace(strings.ReplaceAll(wire, "#", strconv.Itoa(n)), "@", piece, 1))
}

// callInputs returns the inputs of a call with args of a size. Equal deltas share
// their bytes: an input from a socket is in the CPU's cache too, and benchmarks
// measure the fold, not the memory of their inputs.
func callInputs(format string, n, size int) [][]byte {
	w := wires[format]
	inputs := append([][]byte{instance(w.open, n, "")}, textInputs(w.delta, n, size)...)
	return append(inputs, instance(w.end, n, ""))
}

// textInputs returns deltas with a text of a size.
func textInputs(wire string, n, size int) (inputs [][]byte) {
	instances := map[string][]byte{}
	for _, p := range fragments(size) {
		if instances[p] == nil {
			instances[p] = instance(wire, n, p)
		}
		inputs = append(inputs, instances[p])
	}
	return inputs
}

// folder folds inputs as a worker does: it reuses its scratch space.
type folder struct {
	rules  lifecycle.Rules
	reader decode.Reader
	out    []events.Event
	seq    uint64

	body, kept []byte // of the last event
}

func newFolder() *folder { return &folder{rules: lifecycle.DefaultRules()} }

func (f *folder) fold(s *State, at time.Time, data []byte) {
	f.seq++
	f.out = Fold(f.out[:0], s, Input{Input: inputs.Input{Seq: f.seq, At: at, Token: "s", Kind: inputs.Delta, Data: data}, Rules: &f.rules, Reader: &f.reader})
}

// every is the interval of the deltas of a fast model. With the default rules,
// every second delta causes an event.
const every = 25 * time.Millisecond

// BenchmarkFold measures decoding and folding of one delta, from raw bytes to state
// and events. The delta is part of a call of a size in 4-byte fragments.
func BenchmarkFold(b *testing.B) {
	for _, format := range wireFormats {
		for _, size := range []int{1 << 10, 16 << 10, 256 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/args=%d", format, size), func(b *testing.B) { benchInputs(b, format, 1, callInputs(format, 1, size)) })
		}
	}
}

// BenchmarkText measures the same for content, 1 KiB in pieces of 4 bytes.
func BenchmarkText(b *testing.B) {
	for _, format := range wireFormats {
		b.Run(format, func(b *testing.B) { benchInputs(b, format, 1, textInputs(wires[format].text, 1, 1<<10)) })
	}
}

// BenchmarkSessions measures the same over many sessions in turn.
func BenchmarkSessions(b *testing.B) {
	for _, format := range wireFormats {
		for _, n := range []int{1, 100, 10_000} {
			b.Run(fmt.Sprintf("%s/sessions=%d", format, n), func(b *testing.B) { benchInputs(b, format, n, callInputs(format, 1, 1<<10)) })
		}
	}
}

func benchInputs(b *testing.B, format string, sessions int, inputs [][]byte) {
	states := make([]*State, sessions)
	f := newFolder()
	at := time.UnixMilli(0)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		k, n := i%sessions, i/sessions%len(inputs)
		if states[k] == nil || n == 0 {
			states[k] = new(State)
			states[k].Read.Format = format
		}
		at = at.Add(every / time.Duration(sessions))
		f.fold(states[k], at, inputs[n])
	}
}

// BenchmarkHeap measures the heap of open calls and sessions, as heapPer does.
func BenchmarkHeap(b *testing.B) {
	for _, format := range wireFormats {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				call, session := heapPer(format)
				b.ReportMetric(call, "B/call")
				b.ReportMetric(session, "B/session")
			}
		})
	}
}

// heapPer returns the bytes of heap of an open call without its args, and of a
// session without its calls: its state, message and run. The heap is nearly linear
// in the number of calls of a message. The bytes per call are the slope between 1
// call and 1,000, and those of the session the value at 0.
func heapPer(format string) (call, session float64) {
	const many = 1000
	one := float64(heapOf(format, 5*many, 1)) / (5 * many)
	full := float64(heapOf(format, 3, many)) / 3
	call = (full - one) / (many - 1)
	return call, one - call
}

// heapOf returns the bytes of heap per session of sessions with open calls.
func heapOf(format string, sessions, calls int) uint64 {
	index := map[string]string{"openai-chat": `"tool_calls":[{"index":`, "anthropic": `"index":`, "langchain": `"#","index":`}[format]
	index = strings.ReplaceAll(index, "#", "call_#")
	f := newFolder()
	before := heap()
	states := make([]State, sessions)
	for i := range states {
		for k := range calls {
			open := strings.Replace(wires[format].open, index+"0", index+strconv.Itoa(k), 1)
			if calls > 1 { // the message's id has to be one
				open = strings.Replace(open, `"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY#"`, `"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY"`, 1)
				open = strings.Replace(open, `"run--#"`, `"run--1"`, 1)
			}
			states[i].Read.Format = format
			f.fold(&states[i], time.UnixMilli(0), instance(open, i*calls+k, ""))
		}
	}
	f.out = nil
	after := heap()
	open := 0
	for i := range states {
		open += states[i].Life.Open()
	}
	if open != sessions*calls {
		panic(fmt.Sprintf("%d calls are open, want %d", open, sessions*calls))
	}
	runtime.KeepAlive(f)
	return after - before
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
