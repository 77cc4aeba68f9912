package encode

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"streamer/internal/inputs"
)

// FuzzAISDK checks the rules of the reducer for any inputs, with a client that
// connects after the end, and one that connects at the start.
func FuzzAISDK(f *testing.F) { fuzzTurns(f, checkAITurn) }

// FuzzAGUI checks the rules of the client for any inputs, with clients that connect at
// different times and have different parts of the stream.
func FuzzAGUI(f *testing.F) { fuzzTurns(f, checkAGTurn) }

// fuzzTurns fuzzes a check of turns.
func fuzzTurns(f *testing.F, check func(*testing.T, string, turnOf) int) {
	fuzzLogs(f, func(t *testing.T, l *inputLog) {
		for _, u := range l.turns() {
			check(t, "fuzz", u)
		}
	})
}

// FuzzLangGraph checks the rules of both LangGraph protocols for any inputs.
func FuzzLangGraph(f *testing.F) {
	fuzzLogs(f, func(t *testing.T, l *inputLog) {
		for _, u := range l.turns() {
			checkLangGraph(t, "fuzz", u)
		}
		checkAgentProtocol(t, "fuzz", turnOf{log: l.log, read: l.read})
	})
}

// FuzzHistory checks that the messages of any inputs can be written in each shape, and have
// each id once.
func FuzzHistory(f *testing.F) {
	fuzzLogs(f, func(t *testing.T, l *inputLog) {
		for i := range histories {
			l.history(histories[i].Name, len(l.log))
		}
		for _, role := range []string{"assistant", "user"} {
			ids := idsOf(t, l.history("ai-ui", len(l.log)), role)
			slices.Sort(ids)
			if len(slices.Compact(slices.Clone(ids))) < len(ids) {
				t.Errorf("an id is there twice: %q", ids)
			}
		}
	})
}

// fuzzLogs calls fn with the log of any inputs. A line is an input and begins with
// its kind.
func fuzzLogs(f *testing.F, fn func(t *testing.T, l *inputLog)) {
	const ends = "\nr{\"tool_call_id\":\"call_a\",\"content\":\"x\"}\np{\"tool_call_id\":\"call_a\",\"percent\":5}\nc{\"kind\":\"flush\"}\ne{}\ni{}"
	for _, name := range []string{"052-interleaved", "034-args-double-encoded", "045-args-truncated-length", "079-lc-same-message-and-call-id-two-namespaces", "032-args-resent-whole-at-end"} {
		data, err := os.ReadFile("../decode/testdata/quirks/" + name + ".jsonl")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(bytes.ReplaceAll(append([]byte("d"), data...), []byte("\n"), []byte("\nd")), ends...))
	}
	kinds := map[byte]inputs.Kind{'d': inputs.Delta, 'r': inputs.Result, 'p': inputs.Progress, 'i': inputs.Interrupt, 'e': inputs.End, 'c': inputs.Clock}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8<<10 {
			return
		}
		l := &inputLog{t: t}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if len(line) > 0 && kinds[line[0]] != "" {
				l.add(int64(i*30), kinds[line[0]], line[1:])
			}
		}
		fn(t, l)
	})
}
