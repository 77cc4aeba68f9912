package decode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/decode/framing"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

const (
	textEvent = `{"id":"c","choices":[{"delta":{"content":"x"}}]}`
	stopEvent = `{"type":"message_stop"}`
)

func TestFormatIsRemembered(t *testing.T) {
	var m State
	var r Reader
	for i, step := range []struct{ input, header, format, want string }{
		{`{"error":{"message":"x"}}`, "", "", "failure"}, // perhaps, and of one format only
		{textEvent, "", "openai-chat", "text"},
		{`{"error":{"message":"x"}}`, "", "openai-chat", "failure"},
		{stopEvent, "", "anthropic", "ended"}, // surely of another
		{"[DONE]", "", "anthropic", "done"},
		{`{"some":1,"thing":2}`, "", "anthropic", `problem unknown_format at 0 line 0: the event is neither of the format anthropic so far nor of another: it is an object with the keys "some" "thing"; the formats are ` + strings.Join(Names(), ", ")},
		{`[1]`, "", "anthropic", "problem bad_shape at 1 line 0: the event is a number, not an object"},
		{stopEvent, "openai-chat", "openai-chat", "problem unknown_format at 0 line 0: the event is of the format anthropic, not of openai-chat, which is named for it\n"},
		{`{"some":1}`, "openai-chat", "openai-chat", `problem unknown_format at 0 line 0: the event is not of the format openai-chat, which is named for it: it is an object with the keys "some"` + "\n"},
		{`{"type":"ping"}`, "openai-chat", "openai-chat", ""},
		{`{"type":"error","error":{"message":"x"}}`, "openai-chat", "openai-chat", "failure"},
		{stopEvent, "", "anthropic", "ended"}, // no longer named
		{textEvent, "openai", "anthropic", `problem unknown_format at 0 line 0: there is no format "openai"; the formats are ` + strings.Join(Names(), ", ")},
		{"data: " + textEvent + "\n\ndata: " + stopEvent + "\n\n", "openai-chat", "openai-chat", "text Message=\"c\" IDVaries=true Text=\"x\"\nproblem unknown_format at 62 line 3: the event is of the format anthropic"},
		{`{"bytes":"eyJ0eXBlIjoibWVzc2FnZV9zdG9wIn0="}`, "bedrock", "anthropic", "ended"}, // what Bedrock packs is of another format

	} {
		got := transcript(&r, &m, []byte(step.input), step.header)
		if !strings.HasPrefix(got, step.want) || m.Format != step.format {
			t.Errorf("step %d: %s\n got %s, format %q\nwant %s, format %q", i, step.input, got, m.Format, step.want, step.format)
		}
	}
}

// TestKnownFormats checks events that are of a format only if the format is known from
// the header or from earlier events.
func TestKnownFormats(t *testing.T) {
	const failed = "run_start\nfailure Text=\"x\"\nrun_end Text=\"x\" Status=\"error\"\n"
	for _, c := range []struct{ before, header, input, format, want string }{
		{"", "", textEvent, "openai-chat", "text"},
		{"", "mistral", textEvent, "mistral", "text"},
		{textEvent, "", "[DONE]", "openai-chat", "done"},
		{`{"candidates":[],"responseId":"r"}`, "", `{"error":{"message":"x"}}`, "gemini", failed},
		{`{"candidates":[],"responseId":"r"}`, "", `{"error":{"message":"x"},"type":"error"}`, "anthropic", `failure Text="x"`},
		{"", "", `{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}`, "gemini", failed},
		{`{"type":"response.created","response":{"id":"r"}}`, "", `{"error":{"message":"x"}}`, "openai-responses", "run_start\nfailure Message=\"r\" Text=\"x\""},
		{"", "ollama", `{"error":"x"}`, "ollama", failed},
		{"", "", `{"error":"x"}`, "", `failure Text="x"`},
		{"", "cohere", `{"role":"tool","tool_call_id":"a","content":"x"}`, "cohere", `result ID="a"`},
		{"", "", `{"role":"tool","tool_call_id":"a","content":"x"}`, "", "problem unknown_format"},
		{"", "", `{"role":"tool","tool_name":"f","content":"x"}`, "ollama", `result Name="f"`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.header+" "+c.input), func(t *testing.T) {
			var m State
			var r Reader
			transcript(&r, &m, []byte(c.before), "")
			got := transcript(&r, &m, []byte(c.input), c.header)
			if !strings.HasPrefix(got, c.want) || m.Format != c.format {
				t.Errorf("%s after %q, header %q\n got %s, format %q\nwant %s, format %q", c.input, c.before, c.header, got, m.Format, c.want, c.format)
			}
		})
	}
}

func TestAmbiguousEventsNameTheFormats(t *testing.T) {
	got := unrecognised(wire.Frame{}, nil, []*wire.Format{find("openai-chat"), find("anthropic")})
	want := "the event could be of several formats (openai-chat, anthropic); name one in the header Streamer-Format"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestNoFormatClaimsAnothersEvents checks that no format surely claims an event of
// another.
func TestNoFormatClaimsAnothersEvents(t *testing.T) {
	for _, owner := range Names() {
		for file, events := range streams(t, owner) {
			for _, event := range events {
				f, problem := frameOf(framing.Event{Text: wire.Trim(event)})
				if problem != nil {
					continue
				}
				for i := range formats {
					// What is named mistral is openai-chat where it is not named. Strands has events of Bedrock.
					if name := formats[i].Name; name != owner && owner != "mistral" && (owner != "strands" || name != "bedrock") && formats[i].Claims(f) == wire.Surely {
						t.Errorf("%s: %s is of %s, and %s claims it", file, event, owner, name)
					}
				}
			}
		}
	}
}

func TestStateIsSmallAndStored(t *testing.T) {
	if got := form(new(State)); len(got) > 2 {
		t.Errorf("the zero State is %q, want 2 bytes", got)
	}
	var m State
	var r Reader
	transcript(&r, &m, []byte("event: x\ndata: {\"cut\":\"\xf0\x9f"), "")
	loaded := reloaded(t, &m)
	if got := string(loaded.SSE.Data); got != "{\"cut\":\"\xf0\x9f" || loaded.SSE.Name != "x" {
		t.Errorf("the loaded State has %q of event %q", got, loaded.SSE.Name)
	}
}

func TestDepthAndSize(t *testing.T) {
	deep := func(n int) string {
		return `{"choices":[{"delta":{"content":"x"}}],"d":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	for name, c := range map[string]struct{ input, want string }{
		"deep":                {deep(9_000), "text IDVaries=true Text=\"x\"\n"},
		"too deep":            {deep(10_001), "problem bad_json at 10042 line 0: arrays and objects are nested deeper than 10000\n"},
		"far too deep":        {strings.Repeat("[", 1<<20), "problem bad_json at 10000 line 0: arrays and objects are nested deeper than 10000\n"},
		"many events":         {"[" + strings.Repeat(textEvent+",", 20_000) + textEvent + "]", strings.Repeat("text Message=\"c\" IDVaries=true Text=\"x\"\n", 20_001)},
		"bad byte":            {"\n{\"choices\":[{\"delta\":{\"content\":\"a\xc3\x28\"}}]}", "problem bad_utf8 at 35 line 0: byte 0xc3 is not UTF-8\n"},
		"bad line":            {textEvent + "\n{\"a\":tru}\n" + textEvent, "text Message=\"c\" IDVaries=true Text=\"x\"\nproblem bad_json at 57 line 2: '}' where the rest of true is expected\ntext Message=\"c\" IDVaries=true Text=\"x\"\n"},
		"bad SSE event":       {": x\ndata: {\"a\":,}\n\ndata: " + textEvent + "\n\n", "problem bad_json at 15 line 2: ',' where a JSON value is expected\ntext Message=\"c\" IDVaries=true Text=\"x\"\n"},
		"broken pretty JSON":  {"{\n  \"a\": 1,\n  \"b\": \n}", "problem bad_json at 20 line 1: '}' where a JSON value is expected\n"},
		"cut JSON":            {`{"choices":[`, ""},
		"a scalar":            {`"data"`, "problem bad_shape at 0 line 0: the event is a string, not an object\n"},
		"wrapped":             {`{"event":"x","id":"1","data":` + textEvent + `}`, "text Message=\"c\" IDVaries=true Text=\"x\"\n"},
		"wrapped, not":        {`{"event":"x","data":{},"more":1}`, "problem unknown_format"},
		"batches of one kind": {"[" + textEvent + "," + textEvent + "]", "text Message=\"c\" IDVaries=true Text=\"x\"\ntext Message=\"c\" IDVaries=true Text=\"x\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var m State
			var r Reader
			got := transcript(&r, &m, []byte(c.input), "")
			if got != c.want && !(strings.HasSuffix(c.want, "_format") && strings.HasPrefix(got, c.want)) {
				t.Errorf("%s\n got %.300s\nwant %.300s", name, got, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, want := range []string{"openai-chat", "anthropic"} {
		if !slices.Contains(Names(), want) {
			t.Errorf("%q is not among %q", want, Names())
		}
	}
}

// TestNothingIsAllocated checks that a delta is read without allocation.
func TestNothingIsAllocated(t *testing.T) {
	var m State
	var r Reader
	data := []byte(textEvent)
	if n := testing.AllocsPerRun(100, func() {
		r.Reset(&m, data, "", Limits{})
		for r.Next() {
		}
	}); n != 0 {
		t.Errorf("%v allocations per delta, want none", n)
	}
}

// TestProtocolOverSSE checks events of langgraph-protocol whose SSE name is their
// method. Some methods are also names of LangChain's events. Each may be the first.
func TestProtocolOverSSE(t *testing.T) {
	seen := 0
	for file, events := range streams(t, "langgraph-protocol") {
		for _, event := range events {
			method := jsonscan.ValueOf(event).Member("method").Str
			if method == "" {
				continue
			}
			seen++
			var s State
			var r Reader
			transcript(&r, &s, []byte("event: "+method+"\ndata: "+event+"\nid: 1\n\n"), "")
			if s.Format != "langgraph-protocol" {
				t.Errorf("%s: event named %q: %s\nrecognised as %q", file, method, event, s.Format)
			}
		}
	}
	if seen == 0 {
		t.Error("no event has a method")
	}
}
