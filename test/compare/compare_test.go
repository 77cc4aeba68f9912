// Package compare compares the speed of streamer's fold with that of other
// libraries on the same bytes. It is a separate module, so that these libraries
// are not dependencies of streamer.
package compare

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/cloudwego/eino/schema"
	"github.com/openai/openai-go/v3"
)

// wire is the stream of one call in a provider's format. In delta, @ is the
// placeholder for a fragment of the args.
type wire struct{ open, delta, end string }

var (
	openAI = wire{
		`{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"write_file","arguments":""}}],"refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":@}}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aB3dE5gH7jK9"}`,
		`{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxY1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}`,
	}
	claude = wire{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n" +
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"write_file","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":@}}`,
		`{"type":"content_block_stop","index":0}` + "\n" + `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}` + "\n" + `{"type":"message_stop"}`,
	}
)

// events returns the stream of a call with args of the given size, in fragments of
// 4 bytes, and the args.
func (w wire) events(size int) (lines [][]byte, args string) {
	const words = "lorem ipsum dolor "
	args = (`{"text":"` + strings.Repeat(words, size/len(words)+1))[:size-2] + `"}`
	add := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, []byte(line))
		}
	}
	add(w.open)
	// Equal deltas share their bytes, so that they are in the cache of the
	// processor, as an input that was just received is.
	deltas := map[string][]byte{}
	for rest := args; rest != ""; rest = rest[min(4, len(rest)):] {
		piece := rest[:min(4, len(rest))]
		if deltas[piece] == nil {
			quoted, _ := json.Marshal(piece)
			deltas[piece] = []byte(strings.Replace(w.delta, "@", string(quoted), 1))
		}
		lines = append(lines, deltas[piece])
	}
	add(w.end)
	return lines, args
}

// reader returns the args of the call in a stream.
type reader func(lines [][]byte) (args string, err error)

// BenchmarkAccumulate measures the time and the allocations per delta.
func BenchmarkAccumulate(b *testing.B) {
	for _, c := range []struct {
		name string
		wire wire
		read reader
	}{
		{"openai/streamer", openAI, streamer("openai-chat")},
		{"openai/openai-go", openAI, openAIGo},
		{"openai/eino", openAI, eino},
		{"anthropic/streamer", claude, streamer("anthropic")},
		{"anthropic/anthropic-sdk-go", claude, anthropicGo},
	} {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/args=%d", c.name, size), func(b *testing.B) { accumulate(b, c.wire, c.read, size) })
		}
	}
}

// accumulate measures one reader on a stream with args of the given size.
func accumulate(b *testing.B, w wire, read reader, size int) {
	lines, want := w.events(size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, n := cpuTime(), 0
	for b.Loop() {
		got, err := read(lines)
		if err != nil || got != want {
			b.Fatalf("got %d bytes of args, error %v, want %d bytes", len(got), err, len(want))
		}
		n += len(lines)
	}
	b.ReportMetric(float64(cpuTime()-began)/float64(n), "cpu-ns/delta")
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/delta")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/delta")
	b.ReportMetric(0, "ns/op")
}

// streamer returns a reader that uses session.Fold. The deltas are 25 ms apart.
func streamer(format string) reader {
	rules := lifecycle.DefaultRules()
	header := inputs.Header{inputs.HeaderFormat: {format}}
	var scratch decode.Reader
	var out []events.Event
	return func(lines [][]byte) (args string, err error) {
		var s session.State
		at := time.UnixMilli(0)
		for i, line := range lines {
			at = at.Add(25 * time.Millisecond)
			out = session.Fold(out[:0], &s, session.Input{Rules: &rules, Reader: &scratch, Input: inputs.Input{
				Seq: uint64(i + 1), At: at, Token: "s", Kind: inputs.Delta, Header: header, Data: line,
			}})
			for k := range out {
				if e := &out[k]; e.Type == events.ToolCallArgsComplete {
					args = wholeArgs(e)
				}
			}
		}
		return args, nil
	}
}

// wholeArgs returns the args of an event, from its blobs if they are large.
func wholeArgs(e *events.Event) string {
	if e.ArgsText != nil {
		return *e.ArgsText
	}
	var b strings.Builder
	for _, blob := range e.Blobs {
		b.Write(blob.Data)
	}
	return b.String()
}

// openAIGo reads with the accumulator of openai-go.
func openAIGo(lines [][]byte) (string, error) {
	var acc openai.ChatCompletionAccumulator
	for _, line := range lines {
		var chunk openai.ChatCompletionChunk
		if err := json.Unmarshal(line, &chunk); err != nil {
			return "", err
		}
		if !acc.AddChunk(chunk) {
			return "", fmt.Errorf("chunk refused: %s", line)
		}
	}
	return acc.Choices[0].Message.ToolCalls[0].Function.Arguments, nil
}

// anthropicGo reads with the accumulator of anthropic-sdk-go.
func anthropicGo(lines [][]byte) (string, error) {
	var message anthropic.Message
	for _, line := range lines {
		var event anthropic.MessageStreamEventUnion
		if err := json.Unmarshal(line, &event); err != nil {
			return "", err
		}
		if err := message.Accumulate(event); err != nil {
			return "", err
		}
	}
	return string(message.Content[0].Input), nil
}

// eino reads with eino, which decodes each delta into a message and concatenates
// the messages at the end.
func eino(lines [][]byte) (string, error) {
	var list []*schema.Message
	for _, line := range lines {
		var chunk struct {
			Choices []struct {
				Delta *schema.Message `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(line, &chunk); err != nil {
			return "", err
		}
		list = append(list, chunk.Choices[0].Delta)
	}
	message, err := schema.ConcatMessages(list)
	if err != nil {
		return "", err
	}
	return message.ToolCalls[0].Function.Arguments, nil
}
