package decode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// repeating is a stream of deltas that differ in a text and in ids and counts.
type repeating struct {
	name   string   // the format and the name of the stream
	before []string // the inputs before the deltas
	delta  string   // $TEXT is a text as JSON, $N a number that differs from delta to delta, $PAD spaces
}

// with returns the delta with a text, as JSON, and a number.
func (s repeating) with(text string, n int) string {
	return strings.NewReplacer("$TEXT", text, "$N", strconv.Itoa(n), "$PAD", strings.Repeat(" ", n%7)).Replace(s.delta)
}

// sse reports whether the delta is SSE text.
func (s repeating) sse() bool { return strings.HasSuffix(s.delta, "\n\n") }

// repeatingStreams returns the streams in testdata/<format>/deltas.txt, none if
// there is no such file.
func repeatingStreams(t testing.TB, format string) []repeating {
	t.Helper()
	file := filepath.Join("testdata", format, "deltas.txt")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseRepeating(format, string(data))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return list
}

// parseRepeating returns the streams of a text. A stream begins with the line
// "# <name>". Each further line is an input, and the last one is the delta. The
// lines "event: …" and "data: …" are one input.
func parseRepeating(format, text string) (list []repeating, err error) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		head, body, _ := strings.Cut(block, "\n")
		name, ok := strings.CutPrefix(head, "# ")
		if !ok {
			return nil, errors.New("a stream begins with " + strconv.Quote(head) + ", not with # and its name")
		}
		inputs := inputsOf(body)
		s := repeating{name: format + " " + name, before: inputs[:len(inputs)-1], delta: inputs[len(inputs)-1]}
		if !strings.Contains(s.delta, "$TEXT") {
			return nil, errors.New("the last input of " + name + " has no $TEXT")
		}
		list = append(list, s)
	}
	return list, nil
}

// inputsOf returns the inputs of a stream, at least one.
func inputsOf(body string) (inputs []string) {
	event := ""
	for line := range strings.SplitSeq(body, "\n") {
		switch {
		case strings.HasPrefix(line, "event: "):
			event = line + "\n"
			continue
		case strings.HasPrefix(line, "data: "):
			line = event + line + "\n\n"
		}
		event = ""
		inputs = append(inputs, line)
	}
	if event != "" { // without data
		inputs = append(inputs, event)
	}
	return inputs
}

// TestParseRepeating checks that a mistake in a file of deltas is reported.
func TestParseRepeating(t *testing.T) {
	const good = "# a\n{\"before\":1}\n{\"n\":$N,\"t\":$TEXT}\n\n# b\nevent: e\ndata: $TEXT\n"
	list, err := parseRepeating("f", good)
	if err != nil || len(list) != 2 || list[0].name != "f a" || len(list[0].before) != 1 || list[0].sse() || !list[1].sse() {
		t.Fatalf("got %+v, %v", list, err)
	}
	for i, want := range []string{`{"n":7,"t":"x"}`, "event: e\ndata: \"x\"\n\n"} {
		if got := list[i].with(`"x"`, 7); got != want {
			t.Errorf("delta %d: got %q, want %q", i, got, want)
		}
	}
	for _, bad := range []string{"", "{}\n$TEXT", "# a", "# a\n{}", "# a\n$TEXT\n{}", "# a\nevent: e"} {
		t.Run(fmt.Sprintf("%.60s", bad), func(t *testing.T) {
			if list, err := parseRepeating("f", bad); err == nil {
				t.Errorf("%q: got %+v, want an error", bad, list)
			}
		})
	}
}
