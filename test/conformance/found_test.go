package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/test/testkit"
)

// found returns the directory of streams rebuilt from public reports, or skips the test.
func found(t *testing.T, elem ...string) string {
	t.Helper()
	dir := testkit.Shared(append([]string{"formats", "found"}, elem...)...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no streams in %s; STREAMER_SHARED names their place", dir)
	}
	return dir
}

// TestFound: the streams rebuilt from public reports give what is expected, with a named
// format and without, and as raw SSE. A stream that can be read in two ways gives no args
// that are valid and not expected, unless some of it is rejected.
func TestFound(t *testing.T) {
	for _, r := range recordings(t, found(t)) {
		name := strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file))
		t.Run(name, func(t *testing.T) {
			if err := r.found(); err != nil {
				t.Error(err)
			}
		})
	}
}

func (r *recording) found() error {
	if filepath.Base(r.file) == "lobehub-item-per-token.jsonl" {
		return nil // each token is a whole item: nothing shows that the next one repeats the call
	}
	check := r.check
	if r.want.Ambiguous {
		check = r.checkAmbiguous
	}
	for _, format := range []string{"", r.format} {
		a, err := client.Assemble(bytes.NewReader(r.data), format)
		if err == nil {
			err = check(a)
		}
		if err != nil {
			return fmt.Errorf("format %q: %w", format, err)
		}
	}
	if r.lines {
		if err := check(assemble("", r.sse(true))); err != nil {
			return fmt.Errorf("as raw SSE: %w", err)
		}
	}
	return nil
}

// recordedCalls are the calls of streams that real programs wrote: id, name, args, status,
// and "invalid" for args that are not valid. A name or a status of "*" is not compared.
// A stream without any call has an empty list.
var recordedCalls = map[string][]string{
	"M43":                                  {`null|f|{}|args_complete`},
	"M43u":                                 {`null|f|{}|args_complete`},
	"V-mcp":                                {`c1|search|{"q":"x"}|error`},
	"V10steer":                             {`c1|search|{}|completed`},
	"V13merge":                             {`c1|search|{"q":"x"}|completed`},
	"V14merge":                             {`c1|search|{"q":"fjord"}|completed`},
	"acp-cancel-request":                   {`c1|execute|{"command":"ls"}|cancelled`},
	"acp-elicitation":                      {`c1|read|{"p":1}|awaiting_input`},
	"acp-elicitation-answered":             {`c1|read|{"p":1}|completed`},
	"agui-langgraph-args-only-in-snapshot": {`a|f|{"x":1}|completed`},
	"agui-langgraph-late-start":            {`a|f|{"x":1}|args_complete`},
	"agui-langgraph-parallel":              {`a|f|{"x":1}|completed`, `b|g|{"y":2}|completed`},
	"anthropic-empty-members-1":            {`toolu_1|f|{"a":1}|args_complete`},
	"anthropic-empty-members-2":            {`toolu_1|f|{"a":1}|args_complete`},
	"anthropic-go-marshal":                 {`toolu_1|f|{"a":1}|args_complete`},
	"aui-ds":                               {`call_1|search|{"q":"fjord"}|completed`, `call_2|read|{"p":"x"}|error`, `call_3|cut|{"a|args_complete|invalid`},
	"bedrock-go-marshal":                   {`tu1|f|{"a":1}|args_complete`},
	"cas-two":                              {`call_1_0|commandExecution|{"command":"/bin/bash -lc 'touch made.txt'"}|denied`},
	"cc332-bad":                            {`toolu_1|Bash|{"command":"ls",}|error|invalid`},
	"cc332-cut":                            {`toolu_1|Read|{"file_path":"/w/no|*|invalid`},
	"cc332-transcript-blob": {
		`toolu_1|Task|{"description":"d","prompt":"find it","subagent_type":"general-purpose"}|completed`,
		`toolu_s|Read|{"file_path":"/w/notes.txt"}|completed`,
	},
	"claude-code-denied-and-background": {
		`toolu_1|Bash|{"command":"rm x"}|denied`,
		`toolu_2|Bash|{"command":"sleep 900","run_in_background":true}|error`,
	},
	"codex171-hidden":             {},
	"codex171-two":                {},
	"cohere":                      {`c1|search|{"q":"fjord"}|args_complete`},
	"cursor-two":                  {},
	"cxtwo":                       {},
	"gemini-continuation":         {`*|f|{"a":1}|args_complete`, `*|g|{"b":2}|args_complete`},
	"gemini-continuation-partial": {`x1|f|{"q":"fjord"}|args_complete`},
	"intr-interrupted":            {`c1|search|{"q":"fjord"}|cancelled`},
	"mastra":                      {`c1|search|{"q":"fjord"}|completed`},
	"openai-go-marshal":           {`call_a|f|{"a":1}|args_complete`},
	"openai-moderation":           {},
	"openai-tool-line":            {`c1|ls|{}|completed`},
	"pi16-badargs":                {`call_1|read|*|error|invalid`},
	"pi16-basic":                  {`call_1|read|{"path":"notes.txt"}|completed`, `call_2|bash|{"command":"exit 3"}|error`},
	"pi16-cut":                    {`call_1|read|*|cancelled|invalid`, `call_2|read|{"path":"notes.txt"}|completed`},
	"pi16-length":                 {`call_1|read|*|error|invalid`},
	"pi16-retry":                  {`call_1|read|{"path":"notes.txt"}|completed`},
	"qwen-basic--include-partial-messages": {
		`call_1|read_file|{"file_path":"/home/user/project"}|completed`,
		`call_2|run_shell_command|{"command":"exit 3","is_background":false}|error`,
	},
	"responses-go-marshal":        {`call_1|f|{"a":1}|args_complete`},
	"responses-shell-call":        {`call_s|shell|{"commands":["ls -la"]}|args_complete`},
	"strands-ok":                  {`a|search|{"q":"x"}|completed`, `b|search|{"q":"bad"}|error`},
	"vercel-ui-all-parts":         {`c1|pay|{"a":1}|denied`, `c2|pay|{"a":2}|completed`},
	"vercel-ui-approval-response": {`c2|pay|{"a":2}|args_complete`},
}

// recordedEvents are further events of these streams: the type, and the text or the id.
var recordedEvents = map[string][]string{
	"V10steer":                          {"human_message|be brief"},
	"acp-elicitation-answered":          {"tool_call_awaiting_input|c1"},
	"vercel-ui-all-parts":               {"human_message|I meant Paris, Texas.", "tool_call_awaiting_input|c2"},
	"vercel-ui-approval-response":       {"tool_call_awaiting_input|c2"},
	"claude-code-denied-and-background": {"tool_call_progress|toolu_2"},
}

// refused are streams of formats that are not read.
var refused = []string{"aui-at"}

// TestRecorded: the streams that real programs wrote give the calls that are listed, no
// input is rejected, and no message of a run that was completed is superseded.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(found(t, "recorded"), "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if filepath.Ext(file) == ".json" {
			continue // a history
		}
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := recorded(name, data); err != nil {
				t.Error(err)
			}
		})
	}
}

func recorded(name string, data []byte) error {
	want, listed := recordedCalls[name]
	if !listed && !slices.Contains(refused, name) {
		return fmt.Errorf("the calls of the stream are not listed")
	}
	a, err := client.Assemble(bytes.NewReader(data), "")
	if err != nil {
		return err
	}
	if !listed {
		return checkRefused(a.Events)
	}
	var wrong, all []string
	failed := failedRuns(a.Events)
	for i := range a.Events {
		e := &a.Events[i]
		all = append(all, string(e.Type)+"|"+e.ID+e.Content)
		switch {
		case e.Type == events.Rejected:
			wrong = append(wrong, fmt.Sprintf("input %d is rejected: %s: %s", e.Input, e.Reason.Code, e.Reason.Text))
		case e.Superseded && !failed[e.Run]:
			wrong = append(wrong, fmt.Sprintf("message %+v is superseded", e.Place))
		}
	}
	for _, event := range recordedEvents[name] {
		if !slices.Contains(all, event) {
			wrong = append(wrong, fmt.Sprintf("there is no %s", event))
		}
	}
	var got []string
	for i, c := range a.Calls() {
		line := strings.Join([]string{c.ID, c.Name, c.ArgsText, string(c.Status)}, "|")
		if !c.ArgsValid {
			line += "|invalid"
		}
		if i < len(want) {
			line = maskLine(line, want[i])
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		wrong = append(wrong, fmt.Sprintf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n")))
	}
	if wrong != nil {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// failedRuns returns the runs that failed or were cancelled, which cuts off their last
// messages.
func failedRuns(list []events.Event) map[string]bool {
	runs := map[string]bool{}
	for i := range list {
		if e := &list[i]; e.Type == events.RunFinished && e.Status != events.Completed {
			runs[e.Run] = true
		}
	}
	return runs
}

// maskLine replaces the fields of a line that are "*" in another.
func maskLine(got, want string) string {
	fields := strings.Split(got, "|")
	for i, w := range strings.Split(want, "|") {
		if w == "*" && i < len(fields) {
			fields[i] = w
		}
	}
	return strings.Join(fields, "|")
}

// checkRefused returns an error unless the first input is rejected because its format is
// named and not read, and no call begins.
func checkRefused(list []events.Event) error {
	rejected := ""
	for i := range list {
		switch e := &list[i]; e.Type {
		case events.ToolCallStart:
			return fmt.Errorf("call %s begins", e.ID)
		case events.Rejected:
			if rejected == "" {
				rejected = e.Reason.Text
			}
		}
	}
	if rejected == "" || strings.Contains(rejected, "no known format") {
		return fmt.Errorf("the format is not refused by name: %q", rejected)
	}
	return nil
}

// checkAmbiguous returns an error if a call that was not expected, or one with other args,
// looks whole, and nothing is rejected.
func (r *recording) checkAmbiguous(a *session.Assembly) error {
	for i := range a.Events {
		if a.Events[i].Type == events.Rejected {
			return nil
		}
	}
	for i, c := range a.Calls() {
		if !c.ArgsValid || !c.Complete {
			continue
		}
		if !slices.ContainsFunc(r.want.Calls, func(w expectedCall) bool { return w.Name == c.Name && w.ArgsJSON == c.ArgsText }) {
			return fmt.Errorf("call %d: %s(%s) is complete with valid args", i, c.Name, c.ArgsText)
		}
	}
	return nil
}
