package decode

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
)

// streams returns the events of the golden streams of a format: one JSON text,
// or [DONE], each.
func streams(t testing.TB, format string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", format, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams of %s: %v", format, err)
	}
	return eventsOf(t, files)
}

// longQuirk is the maximum number of bytes of a quirk that is not about length.
const longQuirk = 4 << 10

// quirks returns the quirks of a format that are neither long nor SSE text.
func quirks(t testing.TB, format string) map[string][]string {
	t.Helper()
	expectations, err := filepath.Glob(filepath.Join("testdata", "quirks", "*.expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range expectations {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want struct{ Format string }
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if want.Format == format {
			files = append(files, strings.TrimSuffix(file, ".expected.json")+".jsonl")
		}
	}
	all := eventsOf(t, files)
	maps.DeleteFunc(all, func(_ string, events []string) bool {
		text := strings.Join(events, "\n")
		return len(text) > longQuirk || text[0] != '{' && text[0] != '['
	})
	return all
}

// eventsOf returns the lines of files.
func eventsOf(t testing.TB, files []string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	return all
}

// readAll reads inputs one after another with one State, which is stored as JSON and
// loaded between them.
func readAll(t testing.TB, inputs ...string) string {
	t.Helper()
	return readStored(t, 1, inputs...)
}

// readStored reads inputs one after another with one State, which is stored and loaded
// after every nth of them.
func readStored(t testing.TB, nth int, inputs ...string) string {
	t.Helper()
	var m State
	var r Reader
	var b strings.Builder
	for i, input := range inputs {
		b.WriteString(transcript(&r, &m, []byte(input), ""))
		if i%nth > 0 || i == len(inputs)-1 {
			continue
		}
		m = *reloaded(t, &m)
	}
	return b.String()
}

// framings are ways to write the same events as SSE text.
var framings = map[string]func(i int, event string) string{
	"plain":   func(_ int, e string) string { return "data: " + e + "\n\n" },
	"no gap":  func(_ int, e string) string { return "data:" + e + "\n\n" },
	"CRLF":    func(_ int, e string) string { return "id: x\r\ndata: " + e + "\r\n\r\n" },
	"CR":      func(i int, e string) string { return fmt.Sprintf("id: %d\rdata: %s\r\r", i, e) },
	"comment": func(_ int, e string) string { return ": PROCESSING\n\nretry: 5\ndata: " + e + "\n: more\n\n" },
	"split": func(_ int, e string) string {
		if i := strings.Index(e, `":`); i > 0 {
			e = e[:i+1] + "\ndata: " + e[i+1:]
		}
		return "data: " + e + "\n\n"
	},
}

// problemFree returns a transcript without the places of problems, which depend on the
// framing.
func problemFree(transcript string) string {
	var b strings.Builder
	for line := range strings.Lines(transcript) {
		if strings.HasPrefix(line, "problem ") {
			_, text, _ := strings.Cut(line, ": ")
			line = "problem " + text
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestFramingDoesNotMatter(t *testing.T) {
	for _, format := range Names() {
		all := streams(t, format)
		maps.Copy(all, quirks(t, format))
		for file, events := range all {
			anyFraming(t, file, events)
		}
	}
}

func anyFraming(t *testing.T, file string, events []string) {
	t.Helper()
	want := problemFree(readAll(t, events...))
	check := func(how string, inputs ...string) {
		t.Helper()
		if got := problemFree(readAll(t, inputs...)); got != want {
			t.Errorf("%s as %s\n got:\n%s\nwant:\n%s", file, how, got, want)
		}
	}
	asJSON := slices.Clone(events)
	for i, e := range asJSON {
		if e == "[DONE]" {
			asJSON[i] = `{"event":"","data":"[DONE]"}`
		}
	}
	check("array", "[\n"+strings.Join(asJSON, " ,\n")+"]\n")
	check("NDJSON", strings.Join(events, "\n")+"\n")
	check("NDJSON with CRLF and blank lines", "\r\n"+strings.Join(events, "\r\n\r\n"))
	for k, name := range slices.Sorted(maps.Keys(framings)) {
		if (k+len(events))%stride > 0 {
			continue
		}
		frame := framings[name]
		var inputs []string
		for i, e := range events {
			inputs = append(inputs, frame(i, e))
		}
		check("SSE "+name, strings.Join(inputs, ""))
		check("SSE with a byte order mark "+name, wire.BOM+strings.Join(inputs, ""))
		check("SSE event by event "+name, inputs...)
		for i := range inputs {
			inputs[i] = strings.TrimRight(inputs[i], "\r\n")
		}
		check("SSE event by event without its end "+name, inputs...)
	}
}

// TestCutsDoNotMatter cuts the beginning of each stream at every byte, and the whole of
// it at some places and into single characters; in the other framings only the
// beginning, at fewer places. The state is stored at the cuts, and between some of the
// characters.
func TestCutsDoNotMatter(t *testing.T) {
	t.Parallel()
	for _, format := range Names() {
		for file, events := range streams(t, format) {
			for name, frame := range framings {
				head := events[:min(2, len(events))]
				if name == "plain" {
					cutSomewhere(t, file+" "+name, head, frame, stride)
					cutEverywhere(t, file+" "+name, events, frame, 397*stride)
					continue
				}
				cutEverywhere(t, file+" "+name, head, frame, 11*stride)
			}
		}
		for file, events := range quirks(t, format) {
			cutSomewhere(t, file, events, framings["plain"], 499*stride)
		}
	}
}

func cutEverywhere(t *testing.T, what string, events []string, frame func(int, string) string, step int) {
	t.Helper()
	whole, want := cutSomewhere(t, what, events, frame, step)
	if len(whole)%stride > 0 {
		return
	}
	if got := problemFree(readStored(t, 7, strings.Split(whole, "")...)); got != want {
		t.Fatalf("%s character by character\n got:\n%s\nwant:\n%s", what, got, want)
	}
}

func cutSomewhere(t *testing.T, what string, events []string, frame func(int, string) string, step int) (whole, want string) {
	t.Helper()
	want = problemFree(readAll(t, events...))
	var text strings.Builder
	text.WriteString(wire.BOM)
	for i, e := range events {
		text.WriteString(frame(i, e))
	}
	whole = text.String()
	for cut := 0; cut < len(whole); cut += step {
		if got := problemFree(readAll(t, whole[:cut], whole[cut:])); got != want {
			t.Fatalf("%s cut at %d (%q | %q)\n got:\n%s\nwant:\n%s", what, cut,
				whole[max(0, cut-40):cut], whole[cut:min(len(whole), cut+40)], got, want)
		}
	}
	return whole, want
}

// TestReadsOfAConnection reads a response as a socket returned it.
func TestReadsOfAConnection(t *testing.T) {
	data, err := os.ReadFile("testdata/quirks/109-sse-crlf-comments-bom.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var reads []string
	for line := range bytes.Lines(data) {
		var read struct{ Read string }
		if err := json.Unmarshal(line, &read); err != nil {
			t.Fatal(err)
		}
		b, err := base64.StdEncoding.DecodeString(read.Read)
		if err != nil {
			t.Fatal(err)
		}
		reads = append(reads, string(b))
	}
	got := readAll(t, reads...)
	if want := `Args="{\"t\":\"日本語 ✓ 😀\"}"`; !strings.Contains(got, want) || strings.Contains(got, "problem") {
		t.Errorf("got\n%s\nwant it to have %s and no problem", got, want)
	}
}

// TestCutEvents checks which inputs continue a cut event, by the rules in the comment at
// the head of sse.go.
func TestCutEvents(t *testing.T) {
	const event = `{"id":"c","choices":[{"delta":{"content":"x"}}]}`
	text := `text Message="c" IDVaries=true Text="x"` + "\n"
	lost := "problem an event was cut off after"
	for name, c := range map[string]struct {
		inputs []string
		want   string
	}{
		"JSON where a value may stand":        {[]string{`data: `, event, "\n\n"}, text},
		"JSON as a member":                    {[]string{`data: {"id":"c","choices":[{"delta":`, `{"content":"x"}`, "}]}\n\n"}, text},
		"JSON behind a text that was cut":     {[]string{`data: {"id":"c","choices":[{"delta":{"content":"ab`, event}, lost + " 44 bytes of data and never continued\n" + text},
		"a field behind a text that was cut":  {[]string{`data: {"id":"c","choices":[{"delta":{"content":"ab`, "data: " + event + "\n\n"}, lost + " 44 bytes of data and never continued\n" + text},
		"JSON behind a comment that was cut":  {[]string{": keep-ali", event}, text},
		"JSON behind a name":                  {[]string{"event: x\n", event}, text},
		"lines without their newlines":        {[]string{"event: error", `data: {"error":{"message":"x"}}`}, "failure Text=\"x\"\n"},
		"a text that looks like a field":      {[]string{`data: {"id":"c","choices":[{"delta":{"content":"`, `data: x"}}]}`}, `text Message="c" IDVaries=true Text="data: x"` + "\n"},
		"NDJSON behind a text that was cut":   {[]string{`data: {"id":"`, event + "\n" + event}, lost + " 7 bytes of data and never continued\n" + text + text},
		"DONE that was cut":                   {[]string{"data: [DO", "NE]", "\n\n"}, "done\n"},
		"data that is no JSON, then an event": {[]string{"data: hello-wor", "ld\n\ndata: " + event}, "problem 'h' where a JSON value is expected\n" + text},
		"nothing":                             {[]string{"", " \n", ": comment\n\n", "\r\n", "event: x\n\n", wire.BOM}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := problemFree(readAll(t, c.inputs...)); got != c.want {
				t.Errorf("%s: inputs %q\n got %s\nwant %s", name, c.inputs, got, c.want)
			}
		})
	}
}

func TestCutEventIsBounded(t *testing.T) {
	var m State
	var r Reader
	problems := 0
	for _, input := range []string{`data: {"id":"`, strings.Repeat("x", 60), strings.Repeat("y", 60), `"}` + "\n", "\n"} {
		r.Reset(&m, []byte(input), "", Limits{Event: 100})
		for r.Next() {
			if p := r.Problem(); p == nil || p.Code != wire.OverLimit {
				t.Errorf("input %q: problem %v, want over_limit", input, p)
			}
			problems++
		}
		if n := len(pending(&m).Data) + len(pending(&m).Line); n > 100 {
			t.Errorf("input %q: %d bytes are kept, want at most 100", input, n)
		}
	}
	if problems != 1 {
		t.Errorf("%d problems, want 1", problems)
	}
	if e := pending(&m); len(e.Line) > 0 || e.Has || e.Name != "" || e.Skip {
		t.Errorf("after the blank line %+v is left", pending(&m))
	}
}
