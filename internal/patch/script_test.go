package patch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/patch"
	"streamer/test/testkit"
)

// TestScripts runs each testdata/repair/*.txt. A file is about one rule and has
// cases separated by a line of equals signs:
//
//	# description of the case
//	SHAPE [raw] OPTIONS
//	the messages of the input, one per line; with raw, the input itself
//	---
//	the messages of the output, the steps of the script, or the error
//	---
//	the ops of the report, one per line, then the rest of the report
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/repair/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			cases := strings.Split(string(text), "====\n")
			for i, want := range cases {
				cases[i] = runScript(t, want)
				if !*testkit.Update && cases[i] != want {
					t.Errorf("%s\n got %s\nwant %s", f, cases[i], want)
				}
			}
			if *testkit.Update {
				if err := os.WriteFile(f, []byte(strings.Join(cases, "====\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// runScript returns the case with the actual output and report.
func runScript(t *testing.T, script string) string {
	t.Helper()
	head, body, found := "", script, false
	for !found {
		line, rest, ok := strings.Cut(body, "\n")
		if !ok {
			t.Fatalf("no options in\n%s", script)
		}
		head, body, found = head+line+"\n", rest, !strings.HasPrefix(line, "#")
	}
	text, _, _ := strings.Cut("\n"+body, "\n---\n")
	text = strings.TrimPrefix(text, "\n")
	out := head + text + "\n---\n"

	lines := strings.Split(strings.TrimSpace(head), "\n")
	shape, options, _ := strings.Cut(lines[len(lines)-1], " ")
	options, raw := strings.CutPrefix(options, "raw ")
	o, err := patch.ParseOptions([]byte(options))
	if err != nil {
		return out + err.Error() + "\n---\n"
	}
	input := []byte("[" + strings.ReplaceAll(text, "\n", ",\n") + "]")
	if raw {
		input = []byte(text)
	}
	r, err := patch.Repair(patch.Shape(shape), input, o)
	if err != nil {
		return out + err.Error() + "\n---\n"
	}
	checkScript(t, patch.Shape(shape), input, o, r)
	switch {
	case o.Output == "ops":
		for _, step := range r.Script {
			out += asText(t, step) + "\n"
		}
	case raw && o.Output != "check":
		out += string(r.History) + "\n"
	case o.Output != "check":
		for _, m := range rawMessages(t, r.History) {
			out += string(m) + "\n"
		}
	}
	return out + "---\n" + describe(t, r.Report)
}

// checkScript checks that the output is a fixpoint and that the script leads to the
// full output.
func checkScript(t *testing.T, shape patch.Shape, input []byte, o patch.Options, r patch.Repaired) {
	t.Helper()
	if o.Output == "ops" {
		full := o
		full.Output = ""
		if got, want := apply(t, input, r.Script), canonical(t, repair(t, shape, input, full).History); !same(got, want) {
			t.Errorf("the script %s returns\n%s\nwant\n%s", asJSON(r.Script), got, want)
		}
	}
	if r.History != nil {
		again := repair(t, shape, r.History, o)
		if !bytes.Equal(again.History, r.History) {
			t.Errorf("the second repair of\n%s\nreturns\n%s", r.History, again.History)
		}
	}
}

func same(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

func rawMessages(t *testing.T, history []byte) []json.RawMessage {
	var messages []json.RawMessage
	readJSON(t, history, &messages)
	return messages
}

// describe returns a report as text: one op per line, then the fields that differ
// from those of a sendable history.
func describe(t *testing.T, r patch.Report) string {
	var b strings.Builder
	for _, op := range r.Ops {
		fmt.Fprintf(&b, "%s turn=%d message=%d call=%d", op.Op, op.Turn, op.Message, op.Call)
		for _, f := range []struct{ name, value string }{
			{"id", op.ID}, {"name", op.Name}, {"reason", op.Reason}, {"why", op.Why}, {"from", op.From}, {"to", op.To}, {"hash", op.Hash}, {"dropped", string(op.Dropped)},
		} {
			if f.value != "" {
				fmt.Fprintf(&b, " %s=%s", f.name, f.value)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "format=%s patched=%v in=%d out=%d first_change=%d", r.Format, r.Patched, r.In, r.Out, r.FirstChange)
	if r.SignedAfterChange != 0 {
		fmt.Fprintf(&b, " signed_after_change=%d", r.SignedAfterChange)
	}
	if len(r.IDs) > 0 {
		fmt.Fprintf(&b, " ids=%s", asText(t, r.IDs))
	}
	if !r.Sendable || len(r.ViolationsLeft) > 0 {
		fmt.Fprintf(&b, " sendable=%v left=%s", r.Sendable, asText(t, r.ViolationsLeft))
	}
	return b.String() + "\n"
}

// asText returns JSON without HTML escapes.
func asText(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
