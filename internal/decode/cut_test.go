package decode

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
)

// jsonStreams returns the lines of all streams in testdata that are JSON Lines.
func jsonStreams(t testing.TB) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in testdata: %v", err)
	}
	return eventsOf(t, files)
}

// cuts is the number of places at which a line is cut. They differ from line to line.
const cuts = 3

// TestCutsOfLinesDoNotMatter cuts each line of each stream, as JSON Lines and as raw SSE.
// The state is stored and loaded at the cut.
func TestCutsOfLinesDoNotMatter(t *testing.T) {
	t.Parallel()
	for file, lines := range jsonStreams(t) {
		for name, frame := range map[string]string{"JSON Lines": "%s\n", "SSE": "data: %s\n\n"} {
			t.Run(filepath.Base(file)+" as "+name, func(t *testing.T) {
				if name == "SSE" && lines[0][0] != '{' {
					return // it is SSE
				}
				var before State
				for i, line := range lines {
					line = fmt.Sprintf(frame, line)
					next := fmt.Sprintf(frame, lines[(i+1)%len(lines)])
					after := *reloaded(t, &before)
					want := problemFree(transcript(new(Reader), &after, []byte(line), ""))
					if i%stride > 0 {
						before = after
						continue
					}
					whole := *reloaded(t, &after)
					want += problemFree(transcript(new(Reader), &whole, []byte(next), ""))
					step := 1 + len(line)/cuts
					for cut := 1 + i%step; cut < len(line); cut += step {
						if got := readFrom(t, before, line[:cut], line[cut:]+next); got != want {
							t.Fatalf("%s as %s, line %d cut at %d (%q | %q)\n got:\n%s\nwant:\n%s", file, name, i+1, cut,
								line[max(0, cut-40):cut], line[cut:min(len(line), cut+40)], got, want)
						}
					}
					before = after
				}
			})
		}
	}
}

// readFrom reads inputs one after another with a copy of a State, which is stored and
// loaded before each.
func readFrom(t *testing.T, s State, inputs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, input := range inputs {
		s = *reloaded(t, &s)
		b.WriteString(transcript(new(Reader), &s, []byte(input), ""))
	}
	return problemFree(b.String())
}

// TestPiecesDoNotMatter reads each stream in pieces of several sizes, byte by byte too.
func TestPiecesDoNotMatter(t *testing.T) {
	for file, lines := range jsonStreams(t) {
		text := strings.Join(lines, "\n") + "\n"
		var whole State
		want := problemFree(transcript(new(Reader), &whole, []byte(text), ""))
		for _, size := range []int{1, 50} {
			var s State
			var r Reader
			var b strings.Builder
			for piece := range slices.Chunk([]byte(text), size) {
				b.WriteString(transcript(&r, &s, piece, ""))
			}
			if got := problemFree(b.String()); got != want {
				t.Fatalf("%s in pieces of %d bytes\n got:\n%s\nwant:\n%s", file, size, got, want)
			}
			if s.Pending() {
				t.Errorf("%s in pieces of %d bytes: %+v is left", file, size, s.Cut)
			}
		}
	}
}

// TestCutJSON checks which inputs continue JSON that was cut, by the rules in the comment
// at the head of cut.go. An input "END" is the end of the stream.
func TestCutJSON(t *testing.T) {
	const event = `{"id":"c","choices":[{"delta":{"content":"x"}}]}`
	text := readAll(t, event)
	const cut = "problem the JSON text ends before it is complete\n"
	done := readAll(t, "[DONE]")
	candidate := func(text string) string {
		return `{"candidates": [{"content": {"parts": [{"text": "` + text + `"}], "role": "model"}}], "responseId": "g"}`
	}
	a := readAll(t, candidate("a"))
	b := strings.TrimPrefix(readAll(t, candidate("a"), candidate("b")), a)
	for chunks, want := range map[string]string{text: `Text="x"`, a: `Text="a"`, b: `Text="b"`} {
		if !strings.Contains(chunks, want) {
			t.Fatalf("an event is %q, want it to have %s", chunks, want)
		}
	}
	for name, c := range map[string]struct {
		inputs []string
		want   string
	}{
		"a member":                        {[]string{`{"id":"c","choices":`, `[{"delta":{"content":"x"}}]`, "}"}, text},
		"an event behind a text":          {[]string{`{"id":"c","choices":[{"delta":{"content":"ab`, event}, cut + text},
		"an event behind a member":        {[]string{`{"id":"c","delta":{}`, event}, cut + text},
		"an event where a value may be":   {[]string{`{"id":`, event, event}, cut + text + text},
		"events where a value may be":     {[]string{`{"id":`, event + "\n" + event}, cut + text + text},
		"an event, then the end":          {[]string{`{"id":`, event, "END"}, cut + text},
		"a second cut event":              {[]string{`{"id":"c","choices":[`, `{"id":"c","choices":[{"delta"`, `:{"content":"x"}}]}` + "\n" + event}, cut + text},
		"SSE behind a text":               {[]string{`{"id":"c`, "data: " + event + "\n\n"}, cut + text},
		"a truncated line":                {[]string{`{"id":"c"` + "\n" + event + "\n"}, cut + text},
		"a truncated member":              {[]string{`{"id":` + "\n" + event + "\n" + event}, cut + text + text},
		"a truncated line, then a cut":    {[]string{`{"id":"c"` + "\n" + event[:20], event[20:] + "\n"}, cut + text},
		"the end":                         {[]string{`{"id":"c`, "END", event}, cut + text},
		"the end of SSE":                  {[]string{`data: {"id":"c`, "END", event}, cut + text},
		"blank lines":                     {[]string{"\n", " \r", "\n", event, "\n", "\r\n"}, text},
		"a byte order mark":               {[]string{"\xef", "\xbb", "\xbf", event}, text},
		"a byte order mark, cut JSON":     {[]string{wire.BOM + event[:9], event[9:]}, text},
		"DONE":                            {[]string{"[", "DO", "NE", "]\n"}, done},
		"DONE, quoted":                    {[]string{`"[`, `DONE]"`}, done},
		"DONE behind an event":            {[]string{event + "\n[D", "ONE]"}, text + done},
		"an event behind DONE":            {[]string{"[D", event}, "problem 'D' where a JSON value or ] is expected\n" + text},
		"DONE as SSE behind JSON":         {[]string{event + "\ndata: [DO", "NE]\n\n"}, text + done},
		"a character":                     {[]string{`{"id":"c","choices":[{"delta":{"content":"` + "\xe6\x97", "\xa5" + `"}}]}`}, strings.Replace(text, `"x"`, `"日"`, 1)},
		"a bad character":                 {[]string{`{"id":"c","choices":[{"delta":{"content":"` + "\xe6", "x" + `"}}]}`}, "problem byte 0xe6 is not UTF-8\nproblem 'x' where a JSON value is expected\n"},
		"events on one line":              {[]string{event + event[:7], event[7:] + " " + event}, text + text + text},
		"JSON between SSE":                {[]string{"data: " + event + "\n\n" + event + "\ndata: " + event + "\n\n"}, text + text + text},
		"SSE without blank lines":         {[]string{"data: " + event + "\ndata: " + event + "\n\n"}, text + text},
		"plain text that is cut":          {[]string{event + "\n12:30 war", "ning: {", `"a":1}` + "\n" + event}, text + "problem ':' behind a top-level number\nproblem the rest of a line that is no event\nproblem the rest of a line that is no event\n" + text},
		"an event behind plain text":      {[]string{"warning", event}, "problem 'w' where a JSON value is expected\n" + text},
		"an array in pieces":              {[]string{"[", candidate("a")[:9], candidate("a")[9:], "\n,\r\n" + candidate("b"), "\n]\n", "END"}, a + b},
		"an array that never ends":        {[]string{"[" + candidate("a") + "\n", ",\r", "\n" + candidate("b") + ",", "END"}, a + b},
		"an array, then events":           {[]string{"[" + candidate("a") + "\n,", candidate("b") + "\n]\n" + candidate("b")}, a + b + b},
		"an array, cut in an element":     {[]string{"[" + candidate("a") + "\n," + candidate("b")[:30], "END"}, a + cut},
		"an array with an error":          {[]string{"[{\n", `"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}`, "}\n]"}, "run_start\nfailure Text=\"no\"\nrun_end Text=\"no\" Status=\"error\"\n"},
		"an array of events that perhaps": {[]string{"[" + event[:40], event[40:] + ", ", event, "]"}, text + text},
		"a tuple": {
			[]string{`["messages",[{"type":"AIMessageChunk","id":"m",`, `"content":"x"},{"langgraph_node":"n"}]`, "]"},
			"text Message=\"m\" Text=\"x\"\n",
		},
		"a tuple of a message": {
			[]string{`[{"type":"AIMessageChunk","id":"m","content":"x"}`, `,{"langgraph_node":"n"}`, "]"},
			"text Message=\"m\" Text=\"x\"\n",
		},
		"nothing":                  {[]string{"{", "}", "{}", "data: {}\n\n"}, ""},
		"a field error":            {[]string{`error: {"code":500,"message":"no"}` + "\n\n", "data: [DONE]\n\n"}, "failure Text=\"no\"\n" + done},
		"a field error, cut":       {[]string{"er", "ror", ":", ` {"code":500,"mess`, `age":"no"}` + "\n", "\n"}, "failure Text=\"no\"\n"},
		"a field error with error": {[]string{`error: {"error":{"message":"no"}}` + "\n\n"}, "failure Text=\"no\"\n"},
		"a field error, one input": {[]string{`error: {"code":500,"message":"no"}`}, "failure Text=\"no\"\n"},
		"plain text with error":    {[]string{event + "\nerror: no such file\n" + event}, text + "problem 'e' where a JSON value is expected\n" + text},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			var s State
			for _, input := range c.inputs {
				var r Reader
				if input != "END" {
					got.WriteString(transcript(&r, &s, []byte(input), ""))
					continue
				}
				r.End(&s, Limits{})
				got.WriteString(remaining(&r))
				if s.Pending() {
					t.Errorf("%s: %+v is left after the end", name, s)
				}
			}
			if got := problemFree(got.String()); got != c.want {
				t.Errorf("%s: inputs %q\n got %s\nwant %s", name, c.inputs, got, c.want)
			}
		})
	}
}

// TestCutsAreLinear reads a long event in inputs of one byte, as JSON and as an element
// of an array. With work that grows with what was read before it would not end.
func TestCutsAreLinear(t *testing.T) {
	for _, text := range []string{
		`{"id":"c","choices":[{"delta":{"content":"` + strings.Repeat("x", 1<<19) + `"}}]}`,
		`[{"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("x", 1<<19) + `"}]}}]}]`,
		`[{"a":` + strings.Repeat("\n[", 9_000) + strings.Repeat("]", 9_000) + `}, {"a":"` + strings.Repeat("x", 1<<19) + `"}]`,
	} {
		var s State
		var r Reader
		events := 0
		for i := range len(text) {
			r.Reset(&s, []byte(text[i:i+1]), "", Limits{})
			for r.Next() {
				events++
			}
		}
		if events == 0 || s.Cut != nil {
			t.Errorf("%.20q…: %d events, %+v is left", text, events, s.Cut)
		}
	}
}

// TestBadTextIsLinear reads text that is JSON up to its end, again from every line on.
func TestBadTextIsLinear(t *testing.T) {
	var s State
	text := strings.Repeat("[\n", 9_000) + "x\n" + strings.Repeat("[\n", 9_000) + "}"
	transcript(new(Reader), &s, []byte(strings.Repeat(text, 20)), "")
	if kept := kept(&s); kept > 0 {
		t.Errorf("%d bytes are left", kept)
	}
}

// TestCutJSONIsBounded checks that an event which is too long is reported once, and that
// the rest of its line is skipped.
func TestCutJSONIsBounded(t *testing.T) {
	const next = `{"id":"c","choices":[{"delta":{"content":"x"}}]}`
	var s State
	var r Reader
	var got strings.Builder
	for _, input := range []string{`{"id":"`, strings.Repeat("x", 60), strings.Repeat("y", 60), `", "a": {"`, `b":1}}`, "\n" + next} {
		r.Reset(&s, []byte(input), "", Limits{Event: 100})
		got.WriteString(remaining(&r))
		if n := kept(&s); n > 100 {
			t.Errorf("input %q: %d bytes are kept, want at most 100", input, n)
		}
	}
	want := "problem over_limit at 0 line 0: a stream event is longer than 100 bytes\n" + readAll(t, next)
	if got.String() != want {
		t.Errorf("got %s\nwant %s", got.String(), want)
	}
}

// FuzzCutJSON cuts JSON text of any events at two places.
func FuzzCutJSON(f *testing.F) {
	f.Add(`{"a":1}`, "\n", uint16(3), uint16(9))
	f.Add(`["messages",[{"content":"日"},{"langgraph_node":"n"}]]`, "", uint16(30), uint16(33))
	f.Add(`[DONE]`, "\r\n\r\n", uint16(2), uint16(4))
	f.Add(`{"error":{"code":1,"status":"X"}}`, " ", uint16(1), uint16(60))
	const candidate = `{"candidates":[{"content":{"parts":[{"text":"\u65e5 日"}]},"index":0}]}`
	f.Fuzz(func(t *testing.T, event, between string, a, b uint16) {
		if strings.Trim(between, " \t\r\n") != "" || event != "[DONE]" && (event == "" || event[0] != '{' && event[0] != '[' || wire.Check(event) != nil) {
			return
		}
		for _, whole := range []string{
			candidate + between + event + between + candidate + between + event,
			"[" + between + candidate + between + "," + between + candidate + between + "]" + between + event,
		} {
			i, j := min(int(a), len(whole)), min(int(b), len(whole))
			i, j = min(i, j), max(i, j)
			got, want := problemFree(readAll(t, whole[:i], whole[i:j], whole[j:])), problemFree(readAll(t, whole))
			if got != want {
				t.Errorf("%q | %q | %q\n got %s\nwant %s", whole[:i], whole[i:j], whole[j:], got, want)
			}
		}
	})
}
