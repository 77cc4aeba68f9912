package encode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// TestScripts runs each testdata/<protocol>/*.txt. A line without indentation is an
// input; the indented lines below it are the frames that a client of the protocol
// gets.
//
//	at MS        the time of the inputs from here on
//	live         the client connects here: the events before are history
//	KIND JSON    an input
//	demo NAME    all inputs of a recorded session of the demo
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		protocol := filepath.Base(filepath.Dir(f))
		t.Run(protocol+"/"+strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, f, runScript(t, protocol, string(want)))
		})
	}
}

// scriptPlayer plays a script.
type scriptPlayer struct {
	proto string
	log   inputLog
	enc   Encoder
	now   int64
	out   strings.Builder
}

func runScript(t *testing.T, protocol, script string) string {
	p := scriptPlayer{proto: protocol, log: inputLog{t: t}, enc: open(t, protocol)}
	p.enc.Open(nil, Opening{Session: "s"})
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		p.out.WriteString(line)
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			p.play(line)
		}
	}
	p.frames(p.enc.Live(nil, 0))
	return p.out.String()
}

// scriptLog returns the log of the inputs of a script.
func scriptLog(t *testing.T, file string) *inputLog {
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := scriptPlayer{proto: "native", log: inputLog{t: t}, enc: open(t, "native")}
	for line := range strings.Lines(string(script)) {
		if line[0] != ' ' && line[0] != '#' && line[0] != '\n' {
			p.play(strings.TrimSpace(line))
		}
	}
	return &p.log
}

func (p *scriptPlayer) play(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "at":
		ms, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			p.log.t.Fatalf("%s: %v", line, err)
		}
		p.now = ms
	case "live":
		p.frames(p.enc.Live(nil, 0))
	case "demo":
		p.demo(rest)
	default:
		p.input(p.now, inputs.Kind(verb), []byte(rest))
	}
}

// input folds an input and writes the frames of its events. A client whose stream is
// complete connects again.
func (p *scriptPlayer) input(at int64, kind inputs.Kind, data []byte) {
	for _, r := range p.log.add(at, kind, data) {
		p.frames(p.enc.Event(nil, r, Parse(r)))
		if p.enc.Done() {
			p.out.WriteString("  (complete)\n")
			p.enc = open(p.log.t, p.proto)
			p.enc.Open(nil, Opening{Session: "s"})
		}
	}
}

// frames writes frames, one a line.
func (p *scriptPlayer) frames(b []byte) {
	for _, f := range strings.SplitAfter(string(b), "\n\n") {
		if f != "" {
			p.out.WriteString("  " + strings.ReplaceAll(strings.TrimSuffix(f, "\n\n"), "\n", "\n  ") + "\n")
		}
	}
}

// demo plays a recorded session.
func (p *scriptPlayer) demo(name string) {
	data, err := os.ReadFile(filepath.Join("..", "demo", "sessions", name+".jsonl"))
	if err != nil {
		p.log.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var in struct {
			At   int64
			Kind inputs.Kind
			Data json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			p.log.t.Fatal(err)
		}
		p.input(in.At, in.Kind, in.Data)
	}
}
