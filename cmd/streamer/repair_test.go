package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	dangling = `[{"role":"user","content":"<&>"}, {"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	inWords  = `"Tool call f with id x was interrupted: no result was recorded. It may or may not have run."`
	answered = dangling + `, {"role":"tool","tool_call_id":"x","content":` + inWords + `}]`
	inReport = `{"format":"openai","patched":true,"sendable":true,"in":2,"out":3,"ops":[{"op":"result_added","turn":0,"message":1,"call":0,"id":"x","name":"f","reason":"interrupted"}],"first_change":2,"signed_after_change":0,"violations_left":[]}` + "\n"
	lateNote = `{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"assistant","content":"a"},{"role":"tool","tool_call_id":"x","content":"b"}`
)

// TestRepair checks output, errors and exit status.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	keep := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file, options := keep("history.json", dangling+"]"), keep("options.json", `{"lang":"zh","reasons":{"x":"denied"}}`)
	bad := keep("bad.json", "[7]")
	shut := filepath.Join(dir, "shut")
	if err := os.MkdirAll(filepath.Join(shut, "nats-url"), 0o700); err != nil { // a directory, so it cannot be read
		t.Fatal(err)
	}
	report := filepath.Join(dir, "report.json")
	for _, c := range []struct {
		name, args, in string
		status         int
		out            string   // all of it
		wrong          []string // parts of standard error, which is empty if nil
	}{
		{"standard input", "", dangling + "]", 0, answered, nil},
		{"a file", file, "", 0, answered, nil},
		{"with a byte order mark", "", "\ufeff" + dangling + "]", 0, answered, nil},
		{"standard input by name", "-", dangling + "]", 0, answered, nil},
		{"nothing to do", "", answered + "\n", 0, answered + "\n", nil},
		{"lines", "", "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}\n", 0, "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}\n", nil},
		{"a request", "", `{"model":"m", "messages": ` + dangling + "] }\n", 0, `{"model":"m", "messages": ` + answered + " }\n", nil},
		{"the format", "--format openai " + file, "", 0, answered, nil},
		{"a check", "--check " + file, "", exitWouldChange, inReport, nil},
		{"a check of a complete history", "--check", answered, 0, strings.NewReplacer(`"patched":true`, `"patched":false`, `"in":2`, `"in":3`, `"ops":[{"op":"result_added","turn":0,"message":1,"call":0,"id":"x","name":"f","reason":"interrupted"}]`, `"ops":[]`, `"first_change":2`, `"first_change":-1`).Replace(inReport), nil},
		{"the edits", "--output ops " + file, "", 0, `[{"copy":[0,2]},{"insert":{"role":"tool","tool_call_id":"x","content":` + inWords + "}}]\n", nil},
		{"a report on standard error", "--report - " + file, "", 0, answered, []string{inReport}},
		{"a report in a file", "--report " + report + " " + file, "", 0, answered, nil},
		{"options", `--options {"reasons":{"x":"timeout"}} ` + file, "", 0, strings.Replace(answered, inWords, `"Tool call f with id x timed out: no result was received. It may or may not have run."`, 1), nil},
		{"options in a file", "--options @" + options + " " + file, "", 0, strings.Replace(answered, inWords, `"工具调用 f（ID 为 x）未执行：它被拒绝了。"`, 1), nil},
		{"a flag wins over options", "--lang en --options @" + options + " " + file, "", 0, strings.Replace(answered, inWords, `"Tool call f with id x was not run: it was rejected."`, 1), nil},
		{"late results moved", "--late replace", "[" + lateNote + "]", 0, `[{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"b"},{"role":"assistant","content":"a"}]`, nil},
		{"of mistral", "--provider mistral --check " + file, "", exitWouldChange, "", nil},

		{"no history", "", `{"a":1}`, exitNoRepair, "", []string{"streamer repair: not a history: ", `no "messages", "contents", "input", "items", "output" or "data"`}},
		{"no message", "", "[{\"role\":\"user\",\"content\":\"\"},\n 7]", exitNoRepair, "", []string{"message 1 (byte 32) is a number, not an object"}},
		{"no JSON", "", `[{"role":"user"},]`, exitNoRepair, "", []string{"not a history: ", "at byte 17"}},
		{"cut off", "", dangling, exitNoRepair, "", []string{"ends before it is complete, at byte "}},
		{"nothing", "", "", exitNoRepair, "", []string{"not a history: it is empty"}},
		{"no history to check", "--check", "[7]", exitNoRepair, "", []string{"not a history"}},
		{"too large", "--max-bytes 50 " + file, "", exitNoRepair, "", []string{"more than 50 bytes"}},
		{"another format", "--format opanai " + file, "", exitNoRepair, "", []string{`must be one of "auto","ag-ui","ai-model","ai-ui","anthropic","bedrock","claude-code","gemini","langchain","langchain-ex","openai","openai-agents","otel","responses"`}},
		{"an unknown option", `--options {"lat":1} ` + file, "", exitNoRepair, "", []string{`unknown option "lat" (known: provider, profile, dangling`}},
		{"an unknown word", "--late never " + file, "", exitNoRepair, "", []string{`option late: unknown value "never" (known: auto, replace, note, drop)`}},
		{"a missing file", filepath.Join(dir, "none"), "", exitNoRepair, "", []string{"no such file"}},
		{"missing options", "--options @" + filepath.Join(dir, "none") + " " + file, "", exitNoRepair, "", []string{"--options: ", "no such file"}},
		{"a report that cannot be written", "--report " + dir + " " + file, "", exitNoRepair, "", []string{"is a directory"}},
		{"two files", file + " " + file, "", exitNoRepair, "", []string{"unexpected argument " + file}},
		{"no history in a file", bad, "", exitNoRepair, "", []string{bad + ": not a history"}},
		{"a size below 0", "--max-bytes -1", "", exitNoRepair, "", []string{"invalid --max-bytes -1: need at least 0"}},
		{"a session without a name", "--session= " + file, "", exitNoRepair, "", []string{"invalid --session: empty"}},
		{"a log and no session", "--nats-url nats://127.0.0.1:1 " + file, "", exitNoRepair, "", []string{"invalid --nats-url: need --session with it"}},
		{"a data directory that cannot be read", "--session s --data-dir " + shut + " " + file, "", exitNoRepair, "", []string{"--data-dir: ", "nats-url"}},
		{"a session and no server", "--nats-url nats://127.0.0.1:1 --session s " + file, "", exitNoRepair, "", []string{"nothing answers on nats://127.0.0.1:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, wrong bytes.Buffer
			status := run(t.Context(), stdio{strings.NewReader(c.in), &out, &wrong}, append([]string{"repair"}, strings.Fields(c.args)...))
			if status != c.status || out.String() != c.out && (c.out != "" || status == exitNoRepair) {
				t.Errorf("%s: streamer repair %s\n got  %d %s\n want %d %s\n with %s", c.name, c.args, status, &out, c.status, c.out, &wrong)
			}
			holds(t, c.name+": standard error", wrong.String(), c.wrong)
		})
	}
	if got, err := os.ReadFile(report); err != nil || string(got) != inReport {
		t.Errorf("the report: got %s, %v, want %s", got, err, inReport)
	}
}

// TestRepairBrokenPipe: a failed write is an error, not the result of a check.
func TestRepairBrokenPipe(t *testing.T) {
	for _, args := range [][]string{{"repair"}, {"repair", "--check"}} {
		var wrong bytes.Buffer
		status := run(t.Context(), stdio{strings.NewReader(dangling + "]"), broken{}, &wrong}, args)
		if status != exitNoRepair || !strings.Contains(wrong.String(), errBroken.Error()) {
			t.Errorf("%v: status %d, %q, want %d and %q", args, status, wrong.String(), exitNoRepair, errBroken)
		}
	}
}

// TestRepairEndless: the size of the input is bounded.
func TestRepairEndless(t *testing.T) {
	var wrong bytes.Buffer
	status := run(t.Context(), stdio{endless{}, io.Discard, &wrong}, []string{"repair", "--max-bytes", "100000"})
	if want := "more than 100000 bytes"; status != exitNoRepair || !strings.Contains(wrong.String(), want) {
		t.Errorf("status %d, %q, want %d and %q", status, wrong.String(), exitNoRepair, want)
	}
}
