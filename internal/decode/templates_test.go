package decode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/stored"
	"streamer/test/testkit"
)

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
		b.quick.Reset(&State{Format: "openai-chat"}, []byte("0"), "", Limits{})
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
	if state, general := form(&b.state), form(&b.plain); state != general {
		return fmt.Sprintf("input %q\n state %q\n  want %q", input, state, general), false
	}
	return "", b.fits(input)
}

// fits reports whether the first event of an input is filled from a template.
func (b *readers) fits(input string) bool {
	var state State
	if stored.Load([]byte(form(&b.state)), &state, (*State).Fields) != nil {
		return false
	}
	b.quick.Reset(&state, []byte(input), "", Limits{})
	return b.quick.Next() && b.quick.filled
}

// TestTemplateOnce checks that texts that fit a template, but begin a block and are
// therefore decoded, do not take the places of other templates.
func TestTemplateOnce(t *testing.T) {
	const block, text = `{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"a"}}}`, `{"choices":[{"delta":{"content":"x"}}]}`
	b := newReaders()
	read := func(input string) {
		var s State
		for range 8 { // for the credit of a template
			b.quick.Reset(&s, []byte("0"), "openai-chat", Limits{})
		}
		s = State{}
		transcript(&b.quick, &s, []byte(input), "")
	}
	for range 15 {
		read(block)
	}
	read(text)
	read(block)
	b.state = State{Format: "openai-chat"}
	if !b.fits(text) {
		t.Error("the template of a text is gone")
	}
}

// TestTemplateOfFirstEvent checks that the first event of a session is filled from a
// template that an event of another session became.
func TestTemplateOfFirstEvent(t *testing.T) {
	b := newReaders()
	const text = `{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Pa"},"finish_reason":null}]}`
	for i := range 2 {
		var s State
		b.quick.Reset(&s, []byte(text), "", Limits{})
		if !b.quick.Next() || b.quick.filled != (i == 1) || s.Format != "openai-chat" {
			t.Errorf("session %d: filled is %t, the format %q", i, b.quick.filled, s.Format)
		}
	}
	if differ, _ := b.read(text, ""); differ != "" {
		t.Error(differ)
	}
}

// TestTemplateOfAnotherFormat checks that the first event of a session is not filled from
// a template of a format that was named in another session.
func TestTemplateOfAnotherFormat(t *testing.T) {
	const text = `{"id":"c","choices":[{"index":0,"delta":{"content":"Pa"}}]}`
	for _, inputs := range [][]string{{text}, {"data: " + text + "\n\n", "data: [DONE]\n\n"}, {text + "\n" + text}} {
		b := newReaders()
		b.read(text, "mistral")
		b.state = State{Format: "mistral"}
		if !b.fits(text) {
			t.Fatal("the event became no template")
		}
		b.state, b.plain = State{}, State{}
		for _, input := range inputs {
			if differ, _ := b.read(input, ""); differ != "" || b.state.Format != "openai-chat" {
				t.Errorf("format %q: %s", b.state.Format, differ)
			}
		}
	}
}

// TestTemplates checks that deltas which differ in the slots of a template are
// read as without templates, and that the usable ones are filled.
func TestTemplates(t *testing.T) {
	for _, format := range formats {
		templated := format.FindSlots != nil
		list := repeatingStreams(t, format.Name)
		if templated && len(list) == 0 {
			t.Errorf("%s declares slots, and testdata/%[1]s/deltas.txt has no streams", format.Name)
		}
		for _, s := range list {
			n := checkRepeating(t, format.Name, s)
			// The first delta may begin a message. In SSE, an open string cuts the event that follows.
			if want := 2*usableTexts - 3; templated && n < want && !s.sse() {
				t.Errorf("%s: %d of %d deltas are filled from templates, want %d", s.name, n, 2*len(slotTexts()), want)
			}
		}
	}
}

// checkRepeating reads a stream with and without templates, compares, and
// returns the number of deltas that are filled from a template.
func checkRepeating(t *testing.T, format string, s repeating) (n int) {
	t.Helper()
	b := newReaders()
	for _, input := range s.before {
		b.read(input, format)
	}
	for i, text := range append(slotTexts(), slotTexts()...) {
		input := s.with(text, i+1)
		if b.fits(input) { // before the Reader can learn from it
			n++
		}
		if differ, _ := b.read(input, format); differ != "" {
			t.Errorf("%s: %s", s.name, differ)
		}
	}
	return n
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
		"a role of another message": {
			`{"id":"a","choices":[{"delta":{"role":"assistant","content":"a"}}]}`,
			`{"id":"b","choices":[{"delta":{"role":"assistant","content":"a"}}]}`,
			`{"id":"b","choices":[{"delta":{"role":"tool","content":"a"}}]}`,
		},
		"a usage that is another value": {
			`{"id":"a","choices":[{"delta":{"content":"a"}}],"usage":{"n":1}}`,
			`{"id":"a","choices":[{"delta":{"content":"a"}}],"usage":{"n":1.5}}`,
			`{"id":"a","choices":[{"delta":{"content":"a"}}],"usage":{"n":-1}}`,
			`{"id":"a","choices":[{"delta":{"content":"a"}}],"usage":{"n":{"n":1}}}`,
			`{"id":"a","choices":[{"delta":{"content":"a"}}],"usage":1}`,
		},
		"a usage twice": {
			`{"id":"a","choices":[{"delta":{"content":"a"}}],"usage":{"n":1},"usage":{"n":1}}`,
			`{"id":"a","choices":[{"delta":{"content":"a"}}],"usage":{"n":1},"usage":{"n":2}}`,
		},
		"a usage at another prompt": {
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":1,"totalTokenCount":2}}`,
			`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"totalTokenCount":3}}`,
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":7,"totalTokenCount":8}}`,
		},
		"pieces of args at another place": {
			geminiCall, argsPiece(`$.a`, `x`), argsPiece(`$.a`, `y`), argsPiece(`$.a`, `z\u00e9`),
			argsPiece(`$.b`, `x`), argsPiece(`$.b`, `y`), argsPiece(`$.a`, `y`), argsPiece(`$.b`, `y`),
		},
		"pieces of a list": {
			geminiCall, argsPiece(`$.a[0]`, `x`), argsPiece(`$.a[0]`, `y`), argsPiece(`$.a[1]`, `x`), argsPiece(`$.a[1]`, `\"`), argsPiece(`$.a[0]`, `y`),
		},
		"a piece without a path": {
			geminiCall, argsPiece(`$.a`, `x`), argsPiece(`$.a`, `y`), argsPiece(`$`, `y`), argsPiece(``, `y`), argsPiece(`$.a`, `y`),
		},
		"a piece after its call": {
			geminiCall, argsPiece(`$.a`, `x`), argsPiece(`$.a`, `y`),
			`{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}],"responseId":"r"}`, argsPiece(`$.a`, `y`),
		},
		"a piece that ends its string": {
			geminiCall, argsPiece(`$.a`, `x`), argsPiece(`$.a`, `y`), strings.Replace(argsPiece(`$.a`, `z`), `,"willContinue":true`, ``, 1), argsPiece(`$.a`, `y`),
		},
		"another response": {
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"responseId":"a"}`,
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"responseId":"b"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newReaders()
			for _, input := range slices.Concat(inputs[:1], inputs, inputs) {
				if differ, _ := b.read(input, ""); differ != "" {
					t.Errorf("%s: %s", name, differ)
				}
			}
		})
	}
}

// geminiCall begins a call of Gemini whose args come in pieces.
const geminiCall = `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","willContinue":true}}]}}],"modelVersion":"g","responseId":"r"}`

// argsPiece returns an event of Gemini with a piece of a string in the args.
func argsPiece(path, text string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"` + path + `","stringValue":"` + text +
		`","willContinue":true}],"willContinue":true}}]}}],"usageMetadata":{"trafficType":"ON_DEMAND"},"modelVersion":"g","createTime":"t","responseId":"r"}`
}

// TestTemplatesPieces checks that the pieces of a string in Gemini's args are filled
// from a template, also those of another string.
func TestTemplatesPieces(t *testing.T) {
	b, filled := newReaders(), 0
	inputs := []string{geminiCall}
	for _, path := range []string{`$.first`, `$['second'].list[0]`} {
		for _, text := range []string{`one`, `two\n`, ` \u00e9`, ` three`, `"x`, ` four`} {
			inputs = append(inputs, argsPiece(path, strings.ReplaceAll(text, `"`, `\"`)))
		}
	}
	for _, input := range inputs {
		differ, ok := b.read(input, "gemini")
		if differ != "" {
			t.Error(differ)
		}
		if ok {
			filled++
		}
	}
	if want := 9; filled < want {
		t.Errorf("%d of %d inputs are filled from a template, want %d", filled, len(inputs), want)
	}
}

// TestTemplatesInterleaved reads the events of all streams of a format in random
// order, so that deltas meet states in which they begin, or belong to, another
// message, block or call.
func TestTemplatesInterleaved(t *testing.T) {
	inputs := 1600 / stride
	for _, format := range formats {
		random, b := rand.New(rand.NewPCG(1, 4)), newReaders()
		var events []string
		for _, stream := range deltaStreams(t, format.Name) {
			events = append(events, stream...)
		}
		n := 0
		for range inputs {
			event := events[random.IntN(len(events))]
			for range 1 + random.IntN(3) {
				differ, filled := b.read(event, format.Name)
				if differ != "" {
					t.Fatalf("%s: %s", format.Name, differ)
				}
				if filled {
					n++
				}
			}
		}
		if format.FindSlots != nil && n == 0 {
			t.Errorf("%s: no event is filled from a template", format.Name)
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
	recorded, _ := filepath.Glob(testkit.Shared("formats", "corpus", "*", "*.jsonl"))
	if len(recorded) == 0 {
		t.Logf("no recorded streams at %s: set STREAMER_SHARED", testkit.Shared())
	}
	if files = append(files, recorded...); len(files) == 0 {
		t.Fatal("no streams")
	}
	b := newReaders()
	lines, fitting := 0, 0
	for i, file := range append(files, files...) {
		if i%stride > 0 {
			continue
		}
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
	for _, format := range Names() {
		for _, s := range repeatingStreams(f, format) {
			for _, text := range slotTexts() {
				i++
				lines := slices.Concat(s.before, []string{s.with(slotTexts()[0], 1), s.with(text, 2)})
				f.Add(strings.Join(lines, "\n"), uint16(i*7), uint8(i%3), text)
			}
		}
	}
	f.Add(strings.Join([]string{geminiCall, argsPiece(`$.a`, `x`), argsPiece(`$.a`, `y`), argsPiece(`$.a`, `\"`)}, "\n"), uint16(110), uint8(1), `b`)
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
