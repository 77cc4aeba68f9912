package final

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/decode"
	"streamer/test/testkit"

	"github.com/tidwall/gjson"
)

const text = `Stopped by an interrupt: "enough".`

func request(format, kind string) Request {
	return Request{Format: format, Type: kind, Model: "m-1", ID: "stop1", Text: text, Time: 7}
}

// stream is an answer with text and a call, and its format.
type stream struct {
	format, file, kind string
}

var streams = []stream{
	{"anthropic", "anthropic.sse", SSE},
	{"openai-chat", "openai-chat.sse", SSE},
	{"openai-responses", "openai-responses.sse", SSE},
	{"openai-responses", "openai-responses.sse", Lines},
	{"gemini", "gemini.sse", SSE},
	{"gemini", "gemini.sse", Array},
	{"ollama", "ollama.ndjson", Lines},
	{"cohere", "cohere.sse", SSE},
	{"bedrock", "bedrock.jsonl", Amazon},
	{"anthropic", "anthropic.sse", Amazon},
}

func (s stream) name() string {
	name, _, _ := strings.Cut(s.file, ".")
	return name + "-" + strings.NewReplacer("/", "-", "; ", "-").Replace(s.kind[strings.IndexByte(s.kind, '/')+1:])
}

// pieces returns the events of the answer as its type has them.
func (s stream) pieces(t *testing.T) (list [][]byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + s.file)
	if err != nil {
		t.Fatal(err)
	}
	from := SSE
	if !strings.HasSuffix(s.file, ".sse") {
		from = Lines
	}
	if from == s.kind {
		sep := map[bool]string{true: "\n\n", false: "\n"}[from == SSE]
		if bytes.Contains(data, []byte("\r\n")) {
			sep = "\r\n\r\n"
		}
		for piece := range bytes.SplitAfterSeq(data, []byte(sep)) {
			if len(piece) > 0 {
				list = append(list, piece)
			}
		}
		return list
	}
	events(from, data, func(e gjson.Result) {
		switch s.kind {
		case Lines:
			list = append(list, []byte(e.Raw+"\n"))
		case Array:
			before := map[bool]string{true: "[", false: ",\r\n"}[list == nil]
			list = append(list, []byte(before+e.Raw))
		case Amazon:
			list = append(list, message(s.format, e.Raw))
		}
	})
	if s.kind == Array {
		list = append(list, []byte("]"))
	}
	return list
}

// TestEnds: how an answer ends behind each of its events, and that clients could read what
// they got.
func TestEnds(t *testing.T) {
	for _, s := range streams {
		t.Run(s.name(), func(t *testing.T) {
			var got strings.Builder
			var sent []byte
			for n, piece := range append([][]byte{nil}, s.pieces(t)...) {
				sent = append(sent, piece...)
				if !Whole(s.kind, sent) {
					t.Errorf("behind event %d: not whole", n)
				}
				if n > 0 && len(piece) > 3 && Whole(s.kind, sent[:len(sent)-3]) {
					t.Errorf("within event %d: whole", n)
				}
				r := request(s.format, s.kind)
				r.Usage = true
				e := EndOf(r, sent)
				shown := string(piece)
				if s.kind == Amazon {
					shown = fmt.Sprintf("%q", piece)
					e.Tail = fmt.Appendf(nil, "%q", e.Tail)
				}
				fmt.Fprintf(&got, "==== behind %s\n---- cut=%v out=%v said=%q\n%s\n", strings.TrimSpace(shown), e.Cut, e.Out, e.Said, e.Tail)
				if e = EndOf(r, sent); e.Cut && len(e.Tail) > 0 {
					t.Errorf("behind event %d: bytes before a cut", n)
				}
				check(t, s, sent, e)
			}
			testkit.Golden(t, "testdata/"+s.name()+".golden", got.String())
		})
	}
}

// check reads an answer that ended as a client does.
func check(t *testing.T, s stream, sent []byte, e End) {
	t.Helper()
	if e.Cut {
		return
	}
	var state decode.State
	var reader decode.Reader
	reader.Reset(&state, append(bytes.Clone(sent), e.Tail...), s.format, decode.Limits{})
	said, ended := "", 0
	for reader.Next() {
		if p := reader.Problem(); p != nil {
			t.Errorf("the end of\n%s\nis no answer: %s\n%s", sent, p.Text, e.Tail)
		}
		for _, c := range reader.Chunks() {
			switch c.Kind {
			case chunks.Text:
				said += c.Text
			case chunks.Finish, chunks.Failure:
				ended++
			}
		}
	}
	if ended == 0 {
		t.Errorf("the answer has no end:\n%s%s", sent, e.Tail)
	}
	if len(e.Tail) > 0 && !bytes.Contains(e.Tail, []byte(`"error"`)) && !strings.HasSuffix(said, text) && !strings.Contains(s.kind, "amazon") && bytes.Contains(e.Tail, []byte("Stopped")) {
		t.Errorf("the answer says %q", said)
	}
}

// TestWhole: the answers that are no streams.
func TestWhole(t *testing.T) {
	var got strings.Builder
	for _, f := range formats {
		body := Answer(request(f.name, JSON))
		fmt.Fprintf(&got, "%s %s\n", f.name, body)
		if !gjson.ValidBytes(body) {
			t.Errorf("%s: no JSON", f.name)
		}
		check(t, stream{format: f.name, kind: JSON}, nil, End{Tail: body})
	}
	inner := request("gemini", JSON)
	inner.Inner = true
	fmt.Fprintf(&got, "inner %s\n", Answer(inner))
	testkit.Golden(t, "testdata/whole.golden", got.String())
	if e := EndOf(request("anthropic", JSON), []byte("{")); !e.Cut {
		t.Error("a part of a whole answer goes on")
	}
	if e := EndOf(request("unknown", SSE), nil); !e.Cut || Answer(request("unknown", SSE)) != nil {
		t.Error("an unknown format has an end")
	}
}

// FuzzEnd: no bytes that an upstream sends make an end panic, or two ends of one answer.
func FuzzEnd(f *testing.F) {
	for i, s := range streams {
		data, err := os.ReadFile("testdata/" + s.file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, data, len(data)/2)
	}
	f.Fuzz(func(t *testing.T, i int, data []byte, n int) {
		s := streams[max(i, -i, 0)%len(streams)]
		sent := data[:max(min(n, len(data)), 0)]
		e := EndOf(request(s.format, s.kind), sent)
		if e.Cut || !Whole(s.kind, sent) || s.format == "openai-chat" && e.Out != nil {
			return
		}
		if again := EndOf(request(s.format, s.kind), append(bytes.Clone(sent), e.Tail...)); len(again.Tail) > 0 && s.kind != Array {
			t.Errorf("%s: behind %q and its end %q comes another: %q", s.name(), sent, e.Tail, again.Tail)
		}
	})
}
