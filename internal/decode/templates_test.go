package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
)

// repeating is a stream of deltas that differ in a text and in ids and counts.
type repeating struct {
	format string
	before []string // the inputs before the deltas
	delta  string   // %[1]s is a text as JSON, %[2]d a number that differs from delta to delta
}

// repeatingStreams returns streams of every format, by a name.
func repeatingStreams() map[string]repeating {
	return map[string]repeating{
		"openai args":      {"openai-chat", nil, `{"id":"chatcmpl-%[2]d","object":"chat.completion.chunk","created":17%[2]d,"model":"gpt","choices":[{"index":0,"delta":{"tool_calls":[{"index":%[2]d,"function":{"arguments":%[1]s}}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x%[2]d"}`},
		"openai text":      {"openai-chat", nil, `{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%[1]s},"finish_reason":null}]}`},
		"openai SSE":       {"openai-chat", nil, "data: {\"id\":\"%[2]d\",\"choices\":[{\"delta\":{\"content\":%[1]s}}]}\n\n"},
		"mistral text":     {"mistral", nil, `{"id":"c","object":"chat.completion.chunk","created":17%[2]d,"model":"mistral","choices":[{"index":0,"delta":{"content":%[1]s},"finish_reason":null}],"p":"abc%[2]d"}`},
		"mistral thinking": {"mistral", nil, `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":%[1]s}]}]}}]}`},
		"anthropic args":   {"anthropic", nil, `{"type":"content_block_delta","index":%[2]d,"delta":{"type":"input_json_delta","partial_json":%[1]s}}`},
		"anthropic text":   {"anthropic", nil, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%[1]s}}`},
		"anthropic SSE":    {"anthropic", nil, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%[2]d,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":%[1]s}}\n\n"},
		"langchain args":   {"langchain", nil, `[{"content":"","type":"AIMessageChunk","id":"run--1","additional_kwargs":{"tool_calls":[{"index":0,"function":{"arguments":%[1]s}}]},"invalid_tool_calls":[{"name":null,"args":%[1]s}],"tool_call_chunks":[{"name":null,"args":%[1]s,"id":null,"index":%[2]d,"type":"tool_call_chunk"}]},{"langgraph_step":%[2]d,"thread_id":"t%[2]d","checkpoint_ns":"b:%[2]d","langgraph_checkpoint_ns":"a:%[2]d"}]`},
		"langchain blocks": {"langchain", nil, `[["b:%[2]d"],"messages",[{"content":[{"type":"input_json_delta","partial_json":%[1]s,"index":1}],"type":"AIMessageChunk","id":"run-%[2]d","tool_call_chunks":[{"name":null,"args":%[1]s,"id":null,"index":1}]},{"checkpoint_ns":"b:%[2]d"}]]`},
		"langchain part":   {"langchain", nil, `{"type":"messages","ns":["sub:1"],"data":[{"content":%[1]s,"type":"ai","id":"m","tool_call_chunks":[]},{"langgraph_node":"n"}]}`},
		"langchain event":  {"langchain", nil, `{"event":"messages|sub:1","id":"%[2]d","data":[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"content":%[1]s,"id":"m%[2]d"}},{}]}`},
		"langchain bare":   {"langchain", nil, `{"type":"AIMessageChunk","content":[{"type":"text","text":%[1]s,"index":0}],"id":"m","tool_call_chunks":[]}`},
		"protocol text": {
			"langgraph-protocol",
			[]string{`{"type":"event","seq":1,"method":"messages","params":{"namespace":["agent:1"],"data":{"event":"message-start","id":"m","role":"ai","run_id":"r"}}}`},
			`{"type":"event","event_id":"%[2]d","seq":%[2]d,"method":"messages","params":{"namespace":["agent:1"],"timestamp":1%[2]d,"data":{"event":"content-block-delta","index":%[2]d,"delta":{"type":"text-delta","text":%[1]s},"run_id":"r"}}}`,
		},
		"protocol args": {
			"langgraph-protocol",
			[]string{`{"type":"event","seq":1,"method":"messages","params":{"namespace":[],"data":{"event":"message-start","id":"m","role":"ai","run_id":"r"}}}`},
			`{"type":"event","seq":%[2]d,"method":"messages","params":{"namespace":[],"timestamp":1,"data":{"event":"content-block-delta","index":%[2]d,"delta":{"type":"block-delta","fields":{"type":"tool_call_chunk","id":"call_%[2]d","name":"f","args":%[1]s}},"run_id":"r"}}}`,
		},
		"responses args": {
			"openai-responses",
			[]string{`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1"}}`},
			`{"type":"response.function_call_arguments.delta","item_id":"fc_%[2]d","output_index":%[2]d,"delta":%[1]s,"sequence_number":%[2]d,"obfuscation":"x%[2]d"}`,
		},
		"responses text":      {"openai-responses", nil, `{"type":"response.output_text.delta","item_id":"m_%[2]d","output_index":1,"content_index":2,"delta":%[1]s,"logprobs":[],"sequence_number":%[2]d}`},
		"responses by item":   {"openai-responses", nil, `{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":%[1]s}`},
		"gemini text":         {"gemini", nil, `{"candidates":[{"content":{"role":"model","parts":[{"text":%[1]s,"thoughtSignature":"s%[2]d"}]},"index":0}],"usageMetadata":{"trafficType":"ON_DEMAND"},"modelVersion":"gemini","createTime":"t%[2]d","responseId":"r"}`},
		"gemini thought":      {"gemini", nil, `{"response":{"candidates":[{"content":{"role":"model","parts":[{"thought":true,"text":%[1]s}]}}]},"traceId":"t%[2]d"}`},
		"interactions args":   {"gemini-interactions", nil, `{"index":1,"delta":{"arguments":%[1]s,"type":"arguments_delta"},"event_type":"step.delta","event_id":"e%[2]d"}`},
		"interactions text":   {"gemini-interactions", nil, `{"index":1,"delta":{"content":{"type":"text","text":%[1]s},"type":"thought_summary"},"event_type":"step.delta"}`},
		"ollama text":         {"ollama", nil, `{"model":"qwen3:latest","created_at":"2026-08-07T06:08:11.0%[2]dZ","message":{"role":"assistant","content":%[1]s},"done":false}`},
		"ollama thinking":     {"ollama", nil, `{"model":"qwen3:latest","created_at":"2026-08-07T06:08:11.0%[2]dZ","message":{"role":"assistant","content":"","thinking":%[1]s},"done":false}`},
		"cohere args":         {"cohere", nil, `{"type":"tool-call-delta","index":%[2]d,"delta":{"message":{"tool_calls":{"function":{"arguments":%[1]s}}}}}`},
		"cohere text":         {"cohere", nil, `{"type":"content-delta","index":%[2]d,"delta":{"message":{"content":{"text":%[1]s}}}}`},
		"cohere plan":         {"cohere", nil, `{"type":"tool-plan-delta","delta":{"message":{"tool_plan":%[1]s}}}`},
		"bedrock args":        {"bedrock", nil, `{"contentBlockDelta":{"contentBlockIndex":%[2]d,"delta":{"toolUse":{"input":%[1]s}},"p":"abc%[2]d"}}`},
		"bedrock text":        {"bedrock", nil, `{"event":{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"text":%[1]s}}}}`},
		"bedrock reasoning":   {"bedrock", nil, `{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":%[1]s}}},"p":"%[2]d"}`},
		"vercel args":         {"vercel-ui", []string{`{"type":"start","messageId":"m"}`}, `{"type":"tool-input-delta","toolCallId":"call_%[2]d","inputTextDelta":%[1]s}`},
		"vercel fullStream":   {"vercel-ui", nil, `{"type":"tool-input-delta","id":"call_%[2]d","delta":%[1]s}`},
		"vercel version 4":    {"vercel-ui", nil, `{"type":"tool-call-delta","toolCallId":"call_%[2]d","toolName":"f","argsTextDelta":%[1]s}`},
		"vercel text":         {"vercel-ui", []string{`{"type":"start","messageId":"m"}`, `{"type":"text-start","id":"txt-0"}`}, `{"type":"text-delta","id":"txt-0","delta":%[1]s}`},
		"ag-ui args":          {"ag-ui", []string{`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`}, `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":%[1]s,"timestamp":%[2]d,"rawEvent":{"a":"x%[2]d"}}`},
		"ag-ui args in chunk": {"ag-ui", []string{`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f"}`}, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","delta":%[1]s}`},
		"ag-ui text":          {"ag-ui", []string{`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`}, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":%[1]s,"timestamp":%[2]d}`},
		"ag-ui text in chunk": {"ag-ui", []string{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant"}`}, `{"type":"TEXT_MESSAGE_CHUNK","delta":%[1]s}`},
		"ag-ui subagent":      {"ag-ui", []string{`{"type":"REASONING_MESSAGE_START","messageId":"m","subagentRunId":"s"}`}, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":%[1]s,"subagentRunId":"s"}`},
		"ag-ui thinking":      {"ag-ui", []string{`{"type":"THINKING_TEXT_MESSAGE_START"}`}, `{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":%[1]s,"timestamp":%[2]d}`},
	}
}

// slotTexts returns the values in the slot of the text: valid ones, and some
// that are no string or not valid.
func slotTexts() []string {
	return []string{
		`"{\"ci"`, `"Paris"`, `""`, `"\u00e9\ud83d"`, `"\ude00 and more than eight bytes"`, `"你好"`, `"` + strings.Repeat("long ", 300) + `"`,
		`null`, `{"a":1}`, `12`, `"\x"`, "\"\x01\"", "\"\xff\"", `"\u12"`, `"open`, `["a"]`, `"a","b":"c"`, `"{}"`, `"a" `,
	}
}

// usableTexts is the number of slotTexts that are strings and not empty.
const usableTexts = 8

// readers are a Reader with templates and the state of a session, and the state
// of a session whose inputs are read by Readers that have no templates.
type readers struct {
	quick        Reader
	state, plain State
}

// newReaders returns readers whose quick Reader may learn at once.
func newReaders() *readers {
	b := new(readers)
	for range 100 { // a Reader does not learn from its first events
		b.quick.Reset(new(State), []byte("0"), "", Limits{})
	}
	return b
}

// read reads an input twice. It returns a text that describes how the chunks,
// problems or states differ, and whether an event fitted a template.
func (b *readers) read(input, format string) (differ string, filled bool) {
	var plain Reader // learns nothing in its first events
	got, want := transcript(&b.quick, &b.state, []byte(input), format), transcript(&plain, &b.plain, []byte(input), format)
	if got != want {
		return fmt.Sprintf("input %q\n got %s\nwant %s", input, got, want), false
	}
	state, _ := json.Marshal(b.state)
	general, _ := json.Marshal(b.plain)
	if !bytes.Equal(state, general) {
		return fmt.Sprintf("input %q\n state %s\n  want %s", input, state, general), false
	}
	return "", b.fits(input)
}

// fits reports whether the first event of an input is filled from a template.
func (b *readers) fits(input string) bool {
	state := b.state.Clone()
	b.quick.Reset(&state, []byte(input), "", Limits{})
	return b.quick.Next() && b.quick.filled
}

// TestTemplates checks that deltas which differ in the slots of a template are
// read as without templates, and that the usable ones are filled.
func TestTemplates(t *testing.T) {
	covered := map[string]bool{}
	for name, s := range repeatingStreams() {
		covered[s.format] = true
		b := newReaders()
		for _, input := range s.before {
			b.read(input, s.format)
		}
		n := 0
		for i, text := range append(slotTexts(), slotTexts()...) {
			differ, filled := b.read(fmt.Sprintf(s.delta, text, i+1), s.format)
			if differ != "" {
				t.Errorf("%s: %s", name, differ)
			}
			if filled {
				n++
			}
		}
		// The first delta may begin a message. In SSE, an open string cuts the event that follows.
		if n < 2*usableTexts-3 && !strings.HasSuffix(name, "SSE") {
			t.Errorf("%s: %d of %d deltas are filled from templates, want %d", name, n, 2*len(slotTexts()), 2*usableTexts-3)
		}
	}
	for _, format := range formats {
		if _, ok := format.(wire.Templated); ok && !covered[format.Name()] {
			t.Errorf("no repeating stream of the format %s, which declares slots", format.Name())
		}
	}
}

// TestTemplatesDecoys checks that a value which looks like the text of a delta,
// but is not the one that the decoder reads, is no slot.
func TestTemplatesDecoys(t *testing.T) {
	for name, inputs := range map[string][]string{
		"a key twice": {
			`{"choices":[{"delta":{"content":"a"},"delta":{"content":[{"type":"text","text":"a"}]}}]}`,
			`{"choices":[{"delta":{"content":"b"},"delta":{"content":[{"type":"text","text":"a"}]}}]}`,
		},
		"a key like a path": {
			`{"choices.*.delta.content":"a","choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`,
			`{"choices.*.delta.content":"b","choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`,
		},
		"another type": {
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"},"delta":{"text":"a"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"},"delta":{"text":"b"}}`,
		},
		"two texts": {
			`{"choices":[{"delta":{"content":"a","reasoning":"a"}}]}`,
			`{"choices":[{"delta":{"content":"b","reasoning":"a"}}]}`,
		},
		"two indexes": {
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"a"}},{"index":0,"function":{"arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"a"}},{"index":5,"function":{"arguments":""}}]}}]}`,
		},
		"a block that is not read": {
			`{"type":"AIMessageChunk","id":"m","content":[{"type":"x","text":"a"}],"additional_kwargs":{"reasoning_content":"a"},"tool_call_chunks":[]}`,
			`{"type":"AIMessageChunk","id":"m","content":[{"type":"x","text":"b"}],"additional_kwargs":{"reasoning_content":"a"},"tool_call_chunks":[]}`,
		},
		"a server's call without args": {
			`{"type":"AIMessageChunk","id":"m","content":[{"type":"server_tool_use","partial_json":""}],"tool_call_chunks":[{"args":"a","index":0}]}`,
			`{"type":"AIMessageChunk","id":"m","content":[{"type":"server_tool_use","partial_json":"x"}],"tool_call_chunks":[{"args":"a","index":0}]}`,
		},
		"messages that are sent whole": {
			`{"event":"messages/partial","data":[{"type":"ai","id":"m","content":"a","tool_call_chunks":[]}]}`,
			`{"event":"messages/partial","data":[{"type":"ai","id":"m","content":"ab","tool_call_chunks":[]}]}`,
		},
		"a block of results": {
			`{"type":"content_block_delta","index":3,"delta":{"partial_json":"a"}}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"web_search_tool_result"}}`,
		},
		"an item without an output_index": {
			`{"type":"response.function_call_arguments.delta","item_id":"a","delta":"x"}`,
			`{"type":"response.function_call_arguments.delta","item_id":"b","delta":"x"}`,
		},
		"a text that another block follows": {
			`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"a"}}}`,
			`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"text":"a"}}}`,
		},
		"a text of a message that has ended": {
			`{"message":{"content":"a"},"done":false}`,
			`{"message":{"content":""},"done":true}`,
		},
		"a part that was closed": {
			`{"type":"text-delta","id":"0","delta":"a"}`,
			`{"type":"text-end","id":"0"}`,
		},
		"chunks of two calls": {
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"a","toolCallName":"f","delta":"x"}`,
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"b","toolCallName":"f","delta":"x"}`,
		},
		"a chunk of a call that began without chunks": {
			`{"type":"TOOL_CALL_START","toolCallId":"b","toolCallName":"f"}`,
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"b","delta":"x"}`,
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"a","toolCallName":"f"}`,
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"b","delta":"x"}`,
		},
		"args that a text interrupts": {
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"a","delta":"x"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"x"}`,
		},
		"a message that ends and continues in chunks": {
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"x"}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"a"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"x"}`,
		},
		"a call that a run repeats": {
			`{"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"f"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"x"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"x"}`,
			`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","toolCallId":"a"}]}}`,
		},
		"a block whose end repeats what was streamed": {
			`{"type":"event","method":"messages","params":{"data":{"event":"content-block-delta","index":0,"delta":{"type":"text-delta","text":"x"}}}}`,
			`{"type":"event","method":"messages","params":{"data":{"event":"message-start","id":"m"}}}`,
			`{"type":"event","method":"messages","params":{"data":{"event":"content-block-delta","index":0,"delta":{"type":"text-delta","text":"x"}}}}`,
			`{"type":"event","method":"messages","params":{"data":{"event":"content-block-delta","index":0,"delta":{"type":"text-delta","text":"x"}}}}`,
			`{"type":"event","method":"messages","params":{"data":{"event":"content-block-start","index":1,"content":{"type":"text","text":""}}}}`,
			`{"type":"event","method":"messages","params":{"data":{"event":"content-block-delta","index":1,"delta":{"type":"text-delta","text":"x"}}}}`,
			`{"type":"event","method":"messages","params":{"data":{"event":"content-block-finish","index":1,"content":{"type":"text","text":"x"}}}}`,
		},
		"another response": {
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"responseId":"a"}`,
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"responseId":"b"}`,
		},
	} {
		b := newReaders()
		for _, input := range slices.Concat(inputs[:1], inputs, inputs) {
			if differ, _ := b.read(input, ""); differ != "" {
				t.Errorf("%s: %s", name, differ)
			}
		}
	}
}

// TestTemplatesInterleaved reads the events of all streams of a format in random
// order, so that deltas meet states in which they begin, or belong to, another
// message, block or call.
func TestTemplatesInterleaved(t *testing.T) {
	const inputs = 2000
	for _, format := range Names() {
		random, b := rand.New(rand.NewPCG(1, 2)), newReaders()
		var events []string
		for _, stream := range deltaStreams(t, format) {
			events = append(events, stream...)
		}
		n := 0
		for range inputs {
			event := events[random.IntN(len(events))]
			for range 1 + random.IntN(3) {
				differ, filled := b.read(event, format)
				if differ != "" {
					t.Fatalf("%s: %s", format, differ)
				}
				if filled {
					n++
				}
			}
		}
		if n == 0 {
			t.Errorf("%s: no event is filled from a template", format)
		}
	}
}

// TestTemplatesCost checks that a stream in which no delta is like another does
// not make a template of each: learning costs more than decoding.
func TestTemplatesCost(t *testing.T) {
	const deltas = 1000
	var state State
	var r Reader
	learned := 0
	for i := range deltas {
		input := fmt.Appendf(nil, `{"k%d":1,"choices":[{"delta":{"content":"a"}}]}`, i)
		transcript(&r, &state, input, "")
		transcript(&r, &state, input, "")
		r.Reset(&state, input, "", Limits{})
		if r.Next() && r.filled {
			learned++
		}
	}
	if learned == 0 || learned > deltas/3 {
		t.Errorf("%d of %d deltas became templates, want some, but fewer than a third", learned, deltas)
	}
}

// TestTemplatesCorpus reads every stream twice, with one Reader for all of them.
func TestTemplatesCorpus(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "*", "*.jsonl"))
	root := os.Getenv("STREAMER_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	recorded, _ := filepath.Glob(filepath.Join(root, "formats", "corpus", "*", "*.jsonl"))
	if len(recorded) == 0 {
		t.Logf("no recorded streams at %s: set STREAMER_SHARED", root)
	}
	if files = append(files, recorded...); len(files) == 0 {
		t.Fatal("no streams")
	}
	b := newReaders()
	lines, fitting := 0, 0
	for _, file := range append(files, files...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.state, b.plain = State{}, State{}
		for line := range bytes.Lines(data) {
			if len(line) > 64<<10 {
				continue
			}
			differ, filled := b.read(string(bytes.TrimSpace(line)), "")
			if differ != "" {
				t.Fatalf("%s: %s", file, differ)
			}
			if lines++; filled {
				fitting++
			}
		}
	}
	t.Logf("%d streams: %d of %d inputs fit a template", len(files), fitting, lines)
	if fitting < lines/20 {
		t.Errorf("only %d of %d inputs fit a template", fitting, lines)
	}
}

// FuzzTemplates reads lines with a Reader that learns from them, each followed
// by a copy with a change somewhere, and compares with Readers without
// templates.
func FuzzTemplates(f *testing.F) {
	i := 0
	for _, s := range repeatingStreams() {
		for _, text := range slotTexts() {
			i++
			lines := append(s.before, fmt.Sprintf(s.delta, slotTexts()[0], 1), fmt.Sprintf(s.delta, text, 2))
			f.Add(strings.Join(lines, "\n"), uint16(i*7), uint8(i%3), text)
		}
	}
	files, _ := filepath.Glob("testdata/quirks/*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 8<<10 {
			f.Add(string(data), uint16(len(data)/4), uint8(1), `\n`)
		}
	}
	f.Fuzz(func(t *testing.T, lines string, at uint16, cut uint8, insert string) {
		if len(lines)+len(insert) > 16<<10 {
			return
		}
		b := newReaders()
		for line := range strings.SplitSeq(lines, "\n") {
			i := min(int(at), len(line))
			j := min(i+int(cut), len(line))
			for _, input := range []string{line, line[:i] + insert + line[j:], line} {
				if differ, _ := b.read(input, ""); differ != "" {
					t.Fatal(differ)
				}
			}
		}
	})
}
