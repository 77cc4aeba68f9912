package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"streamer/internal/inputs"
)

const (
	lineBegin = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}`
	lineEnd   = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}`
)

// recorded returns a line of a recorded session.
func recorded(at int, kind, data string) string {
	return fmt.Sprintf("{\"at\":%d,\"kind\":%q,\"data\":%s}\n", at, kind, data)
}

// TestAssemble checks output, errors and exit status.
func TestAssemble(t *testing.T) {
	const whole = `"args_text":"{\"x\":1}","args":{"x":1},"args_valid":true`
	for _, c := range []struct {
		name, in   string
		status     int
		out, wrong []string // parts of output and standard error, which are empty if nil
	}{
		{"lines of JSON", lineBegin + "\n" + lineEnd + "\n", 0, []string{whole, `"complete":true`, `"status":"args_complete"`}, nil},
		{"no line end", lineBegin + "\n" + lineEnd, 0, []string{whole}, nil},
		{"CRLF line ends, a blank line", lineBegin + "\r\n\r\n" + lineEnd + "\r\n", 0, []string{whole}, nil},
		{"SSE", "data: " + lineBegin + "\n\ndata: " + lineEnd + "\n\ndata: [DONE]\n\n", 0, []string{whole}, nil},
		{"SSE that ends early", "data: " + lineBegin + "\n\ndata: " + lineEnd, 0, []string{whole}, nil},
		{"nothing", "", 0, nil, nil},
		{"cut off", lineBegin + "\n", 0, []string{`"complete":false`, `"status":"building_args"`, `"args_text":"{\"x\":"`}, nil},
		{"a line that is not JSON", lineBegin + "\n{\"id\":x}\n" + lineEnd, exitInput, []string{whole}, []string{"streamer assemble: line 2, offset 6: bad_json: "}},
		{"invalid UTF-8", lineBegin + "\n{\"id\":\"\xff\"}\n" + lineEnd, exitInput, []string{whole}, []string{"line 2, offset 7: bad_utf8: "}},
		{"the same fault again", "{\"id\":x}\n" + lineBegin + "\n{\"id\":x}\n{\"id\":x}\n" + lineEnd, exitInput, []string{whole}, []string{"assemble: line 1, offset 6: bad_json: ", " (3 times, last in line 4)\n"}},
		{"a recorded session", recorded(0, "delta", lineBegin) + recorded(40, "delta", lineEnd) + recorded(90, "result", `{"tool_call_id":"call_a","content":"found"}`), 0, []string{whole, `"status":"completed"`}, nil},
		{"an unknown format", `{"hello":"world"}`, exitInput, nil, []string{"line 1, offset 0: unknown_format: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, wrong bytes.Buffer
			status := run(context.Background(), stdio{strings.NewReader(c.in), &out, &wrong}, []string{"assemble"})
			if status != c.status {
				t.Errorf("%s: status %d, want %d", c.name, status, c.status)
			}
			holds(t, c.name+": output", out.String(), c.out)
			holds(t, c.name+": standard error", wrong.String(), c.wrong)
		})
	}
}

func holds(t *testing.T, what, got string, want []string) {
	t.Helper()
	if len(want) == 0 && got != "" {
		t.Errorf("%s: got %q, want nothing", what, got)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: got %q, want %q in it", what, got, w)
		}
	}
}

// TestAssembleFiles checks the argument FILE.
func TestAssembleFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(file, []byte(lineBegin+"\n"+lineEnd), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		wrong  []string
	}{
		{"a file", []string{file}, 0, nil},
		{"a missing file", []string{filepath.Join(dir, "none")}, exitUsage, []string{"none", "no such file"}},
		{"a directory", []string{dir}, exitFailed, []string{"is a directory"}},
		{"two files", []string{file, file}, exitUsage, []string{"unexpected argument " + file}},
		{"an unknown format", []string{"--format", "morse", file}, exitUsage, []string{"morse"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, wrong bytes.Buffer
			status := run(context.Background(), stdio{strings.NewReader(""), &out, &wrong}, append([]string{"assemble"}, c.args...))
			if status != c.status {
				t.Errorf("%s: status %d (%s), want %d", c.name, status, wrong.String(), c.status)
			}
			holds(t, c.name, wrong.String(), c.wrong)
		})
	}
}

// TestAssembleLongLine: the length of a line is bounded.
func TestAssembleLongLine(t *testing.T) {
	var out, wrong bytes.Buffer
	in := io.LimitReader(endless{}, inputs.MaxLine+1<<20)
	status := run(context.Background(), stdio{in, &out, &wrong}, []string{"assemble"})
	if want := "line 1: longer than 67108864 bytes"; status != exitFailed || !strings.Contains(wrong.String(), want) {
		t.Errorf("status %d, %q, want %d and %q", status, wrong.String(), exitFailed, want)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	b[0] = ' '
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	return len(b), nil
}

// TestAssembleBrokenFile: if reading fails, the calls of the lines before are
// printed, and the error names the line.
func TestAssembleBrokenFile(t *testing.T) {
	for _, c := range []struct {
		in, out string
	}{
		{lineBegin + "\n" + lineEnd + "\n", `"args_text":"{\"x\":1}"`},
		{lineBegin + "\n" + lineEnd[:40], `"args_text":"{\"x\":"`},
		{"", ""},
	} {
		t.Run(fmt.Sprintf("%.60s", c.in), func(t *testing.T) {
			var out, wrong bytes.Buffer
			in := io.MultiReader(strings.NewReader(c.in), iotest.ErrReader(errBroken))
			status := run(context.Background(), stdio{in, &out, &wrong}, []string{"assemble"})
			want := fmt.Sprintf("line %d: %v", strings.Count(c.in, "\n")+1, errBroken)
			if status != exitFailed || !strings.Contains(wrong.String(), want) || !strings.Contains(out.String(), c.out) {
				t.Errorf("%q:\n got status %d, %q, %q\nwant %d, %q, %q", c.in, status, out.String(), wrong.String(), exitFailed, c.out, want)
			}
		})
	}
}

// TestAssembleBrokenPipe: a failed write is an error.
func TestAssembleBrokenPipe(t *testing.T) {
	var wrong bytes.Buffer
	status := run(context.Background(), stdio{strings.NewReader(lineBegin), broken{}, &wrong}, []string{"assemble"})
	if status != exitFailed || !strings.Contains(wrong.String(), errBroken.Error()) {
		t.Errorf("status %d, %q, want %d and %q", status, wrong.String(), exitFailed, errBroken)
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// TestAssembleTimes: the times of a recorded session are those of its events.
func TestAssembleTimes(t *testing.T) {
	var out, wrong bytes.Buffer
	in := recorded(1000, "delta", lineBegin) + recorded(1040, "delta", lineEnd) + recorded(3000, "result", `{"tool_call_id":"call_a","content":"found"}`)
	status := run(context.Background(), stdio{strings.NewReader(in), &out, &wrong}, []string{"assemble", "--events"})
	if want := `"duration_ms":2000,"args_ms":40,"run_ms":1960`; status != 0 || !strings.Contains(out.String(), want) {
		t.Errorf("status %d, %s%swant %s in it", status, out.String(), wrong.String(), want)
	}
}
