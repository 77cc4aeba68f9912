package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hotDeltas are streams whose deltas become moulds; %s is a text as JSON, %d a
// number that differs from delta to delta.
var hotDeltas = map[string]string{
	"openai args":      `{"id":"chatcmpl-%[2]d","object":"chat.completion.chunk","created":17%[2]d,"model":"gpt","choices":[{"index":0,"delta":{"tool_calls":[{"index":%[2]d,"function":{"arguments":%[1]s}}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x%[2]d"}`,
	"openai text":      `{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%[1]s},"finish_reason":null}]}`,
	"openai in SSE":    "data: {\"id\":\"%[2]d\",\"choices\":[{\"delta\":{\"content\":%[1]s}}]}\n\n",
	"anthropic args":   `{"type":"content_block_delta","index":%[2]d,"delta":{"type":"input_json_delta","partial_json":%[1]s}}`,
	"anthropic text":   `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%[1]s}}`,
	"anthropic in SSE": "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%[2]d,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":%[1]s}}\n\n",
	"langchain args":   `[{"content":"","type":"AIMessageChunk","id":"run--1","additional_kwargs":{"tool_calls":[{"index":0,"function":{"arguments":%[1]s}}]},"invalid_tool_calls":[{"name":null,"args":%[1]s}],"tool_call_chunks":[{"name":null,"args":%[1]s,"id":null,"index":%[2]d,"type":"tool_call_chunk"}]},{"langgraph_step":%[2]d,"thread_id":"t%[2]d","checkpoint_ns":"b:%[2]d","langgraph_checkpoint_ns":"a:%[2]d"}]`,
	"langchain blocks": `[["b:%[2]d"],"messages",[{"content":[{"type":"input_json_delta","partial_json":%[1]s,"index":1}],"type":"AIMessageChunk","id":"run-%[2]d","tool_call_chunks":[{"name":null,"args":%[1]s,"id":null,"index":1}]},{"checkpoint_ns":"b:%[2]d"}]]`,
	"langchain part":   `{"type":"messages","ns":["sub:1"],"data":[{"content":%[1]s,"type":"ai","id":"m","tool_call_chunks":[]},{"langgraph_node":"n"}]}`,
	"langchain event":  `{"event":"messages|sub:1","id":"%[2]d","data":[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"content":%[1]s,"id":"m%[2]d"}},{}]}`,
	"langchain bare":   `{"type":"AIMessageChunk","content":[{"type":"text","text":%[1]s,"index":0}],"id":"m","tool_call_chunks":[]}`,
}

// hotTexts are what stands in the holes.
var hotTexts = []string{
	`"{\"ci"`, `"Paris"`, `""`, `"\u00e9\ud83d"`, `"\ude00 and more than eight bytes"`, `"你好"`, `"` + strings.Repeat("long ", 300) + `"`,
	`null`, `{"a":1}`, `12`, `"\x"`, "\"\x01\"", "\"\xff\"", `"\u12"`, `"open`, `["a"]`, `"a","b":"c"`, `"{}"`, `"a" `,
}

// both reads an input twice: with a Reader that has moulds, and the general
// way. It tells how they differ, and whether the input fitted a mould.
type both struct {
	warm       Reader
	hot, plain State
}

func (b *both) read(input, format string) (differ string, fitted bool) {
	b.warm.templates.credit = templateCredit
	var cold Reader // has no credit to make moulds with
	got, want := transcript(&b.warm, &b.hot, []byte(input), format), transcript(&cold, &b.plain, []byte(input), format)
	if got != want {
		return fmt.Sprintf("input %q\n got %s\nwant %s", input, got, want), false
	}
	mine, _ := json.Marshal(b.hot)
	general, _ := json.Marshal(b.plain)
	if !bytes.Equal(mine, general) {
		return fmt.Sprintf("input %q\n memory %s\n   want %s", input, mine, general), false
	}
	b.warm.Reset(&State{Format: b.hot.Format}, []byte(input), "", Limits{})
	return "", b.warm.templates.fit != nil
}

// TestMoulds: deltas that differ in what a mould has holes for are read as the
// general way reads them, and those that are sound fit one.
func TestMoulds(t *testing.T) {
	for name, delta := range hotDeltas {
		var b both
		format := strings.Fields(name)[0]
		format = map[string]string{"openai": "openai-chat"}[format] + strings.TrimPrefix(format, "openai")
		n := 0
		for i, text := range append(hotTexts, hotTexts...) {
			differ, fitted := b.read(fmt.Sprintf(delta, text, i+1), format)
			if differ != "" {
				t.Errorf("%s: %s", name, differ)
			}
			if fitted {
				n++
			}
		}
		if len(b.warm.templates.list) == 0 || n < len(hotTexts)/2 && !strings.HasSuffix(name, "SSE") {
			t.Errorf("%s: %d moulds, which %d of %d deltas fit", name, len(b.warm.templates.list), n, 2*len(hotTexts))
		}
	}
}

// TestMouldsDoubted: what looks like a delta's text but is not what the
// decoder takes never becomes a hole.
func TestMouldsDoubted(t *testing.T) {
	for name, pair := range map[string][2]string{
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
	} {
		var b both
		for _, input := range []string{pair[0], pair[0], pair[1], pair[0], pair[1]} {
			if differ, _ := b.read(input, ""); differ != "" {
				t.Errorf("%s: %s", name, differ)
			}
		}
	}
}

// TestMouldsFade: a stream in which no delta is like another does not make a
// mould of each.
func TestMouldsFade(t *testing.T) {
	var m State
	var r Reader
	made := 0
	const deltas = 1000
	for i := range deltas {
		before := len(r.templates.list)
		var last *template
		if before > 0 {
			last = r.templates.list[before-1]
		}
		transcript(&r, &m, fmt.Appendf(nil, `{"k%d":1,"choices":[{"delta":{"content":"a"}}]}`, i), "")
		if n := len(r.templates.list); n != before || n > 0 && r.templates.list[n-1] != last {
			made++
		}
	}
	if made == 0 || made > deltas/4 || len(r.templates.list) > keptTemplates {
		t.Errorf("%d deltas made %d moulds, %d are kept", deltas, made, len(r.templates.list))
	}
}

// TestMouldsCorpus reads every stream there is, twice each, by one Reader.
func TestMouldsCorpus(t *testing.T) {
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
	var b both
	lines, fitting := 0, 0
	for _, file := range append(files, files...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.hot, b.plain = State{}, State{}
		for line := range bytes.Lines(data) {
			if len(line) > 64<<10 {
				continue
			}
			differ, fitted := b.read(string(bytes.TrimSpace(line)), "")
			if differ != "" {
				t.Fatalf("%s: %s", file, differ)
			}
			if lines++; fitted {
				fitting++
			}
		}
	}
	t.Logf("%d streams: %d of %d inputs fit a mould", len(files), fitting, lines)
	if fitting < lines/20 {
		t.Errorf("only %d of %d inputs fit a mould", fitting, lines)
	}
}

// FuzzHot reads lines by a Reader that makes moulds of them, each followed by
// itself with a change somewhere, and compares with the general way.
func FuzzHot(f *testing.F) {
	i := 0
	for _, delta := range hotDeltas {
		for _, text := range hotTexts {
			i++
			f.Add(fmt.Sprintf(delta, hotTexts[0], 1)+"\n"+fmt.Sprintf(delta, text, 2), uint16(i*7), uint8(i%3), text)
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
		var b both
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
