package encode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// inputLog is a session whose inputs are folded into stored events.
type inputLog struct {
	t     testing.TB
	state session.State
	seq   uint64
	log   []events.Record
	read  []*events.Event // the same events, parsed
}

// add folds an input and returns its events as they are stored. Large values are in
// the events, as the caller of an Inline protocol has them.
func (l *inputLog) add(at int64, kind inputs.Kind, data []byte) []events.Record {
	l.t.Helper()
	l.seq++
	from := len(l.log)
	for _, e := range session.Fold(nil, &l.state, session.Input{Input: inputs.Input{
		Seq: l.seq, At: time.UnixMilli(at), Token: "s", Kind: kind, Data: data,
	}}) {
		inlineBlobs(&e)
		body, err := e.Body()
		if err != nil {
			l.t.Fatal(err)
		}
		r := events.Record{Seq: uint64(len(l.log) + 1), Type: e.Type, ID: e.EventID, Call: e.Call, Data: body}
		l.log, l.read = append(l.log, r), append(l.read, Parse(r))
	}
	return l.log[from:]
}

// inlineBlobs replaces the references of an event by their values.
func inlineBlobs(e *events.Event) {
	if e.Type == events.Synthetic || len(e.Blobs) == 0 {
		return
	}
	value := e.Blobs[0].Data
	if e.ArgsRef != nil {
		text := string(value)
		e.ArgsText, e.ArgsRef = &text, nil
		if e.ArgsValid != nil && *e.ArgsValid && json.Valid(value) {
			e.ToolArgs = value
		}
	} else {
		e.ToolResult, e.ToolResultRef = value, nil
	}
}

// clone returns a copy of the log whose additions do not change l.
func (l *inputLog) clone() *inputLog {
	data, err := l.state.Marshal()
	if err != nil {
		l.t.Fatal(err)
	}
	state, err := session.Load(data)
	if err != nil {
		l.t.Fatal(err)
	}
	return &inputLog{l.t, *state, l.seq, slices.Clip(l.log), slices.Clip(l.read)}
}

// turns returns the last run of the log, alone and with each run before it, as
// turns: the events after the end of the run before the first, and the id of the last.
func (l *inputLog) turns() (list []turnOf) {
	var starts []int
	var last string
	from := 0
	for i, r := range l.log {
		if r.Type == events.RunFinished {
			from = i + 1
		}
		if r.Type != events.RunStarted {
			continue
		}
		starts, last = append(starts, from), l.read[i].Run
	}
	for _, i := range slices.Backward(starts) {
		list = append(list, turnOf{last, l.log[i:], l.read[i:], messageIDsOf(l.read[:i]), messageIDsOf(l.read[i:])})
	}
	return list
}

// turnOf is a turn as an encoder gets it.
type turnOf struct {
	run  string // the last
	log  []events.Record
	read []*events.Event // parsed once for all encoders; nil if each is to be parsed

	earlier, stored map[string]bool // see Opening
}

// messageIDsOf returns the ids of the messages in events.
func messageIDsOf(list []*events.Event) map[string]bool {
	ids := map[string]bool{}
	for _, e := range list {
		if e.Type == events.MessageStarted || e.Type == events.HumanMessage {
			ids[placeOf(e).MessageID] = true
		}
	}
	return ids
}

// ended returns the turn up to the end of its last run: what a client has read that connected
// before that.
func (u turnOf) ended() turnOf {
	for i, r := range u.log {
		if e := Parse(r); r.Type == events.RunFinished && e != nil && e.Run == u.run {
			u.log = u.log[:i+1]
			u.read = u.read[:min(i+1, len(u.read))]
			break
		}
	}
	return u
}

// open returns the number of calls that have not ended in the log.
func (u turnOf) open() int {
	calls := map[string]bool{}
	for _, r := range u.log {
		switch r.Type {
		case events.ToolCallStart:
			calls[r.Call] = true
		case events.ToolCallResult:
			delete(calls, r.Call)
		}
	}
	return len(calls)
}

// encodeEvent appends the frames of event i.
func (u *turnOf) encodeEvent(dst []byte, enc Encoder, i int) []byte {
	e := u.log[i]
	if u.read == nil {
		return enc.Event(dst, e, Parse(e))
	}
	return enc.Event(dst, e, u.read[i])
}

// encodeTurn returns the stream of a turn of which the first history events are
// stored when the client connects. It ends when the encoder is done.
func (u *turnOf) encode(t testing.TB, protocol string, history int) ([]byte, bool) {
	enc := open(t, protocol)
	b := enc.Open(nil, Opening{Session: "s", Run: u.run, Earlier: u.earlier})
	for i, r := range u.log {
		if i == history {
			b = enc.Live(b, r.Seq)
		}
		if b = u.encodeEvent(b, enc, i); enc.Done() {
			return b, true
		}
	}
	if history >= len(u.log) {
		b = enc.Live(b, 0)
	}
	return b, enc.Done()
}

// fraction: the tests of rules read one of so many recorded streams, because each is
// checked many times.
const fraction = 3

// maxRecording is the maximum size of the streams that these tests read. One is a
// hundred times larger than the others, and only its size is special.
const maxRecording = 64 << 10

// recording is a recorded stream.
type recording struct {
	file  string
	lines [][]byte
}

// recordings returns recorded streams of all formats.
func recordings(t testing.TB) (list []recording) {
	files, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded streams", err)
	}
	for i, file := range files {
		if i%fraction != 0 {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > maxRecording {
			continue
		}
		rec := recording{file: file}
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				rec.lines = append(rec.lines, line)
			}
		}
		list = append(list, rec)
	}
	return list
}
