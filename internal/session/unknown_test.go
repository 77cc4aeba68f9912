package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/test/testkit"
)

// The members that a test renames.
var (
	// kinds are the names of the kinds of frames, blocks, parts and items.
	kinds = regexp.MustCompile(`"(?:type|event|event_type|sessionUpdate|subtype|method|item_type)":\s*"([^"\\]+)"`)
	// members are such kinds by their keys.
	members = regexp.MustCompile(`"(functionCall|function_call|functionResponse|function_response|tool_calls|tool_call_chunks|toolUse|toolResult|executed_tools|custom|[a-z]+ToolCall)":`)
	// begins finds the beginning of a message, which has nothing of a call.
	begins = regexp.MustCompile(`"(?:type|event)":\s*"message[-_]start"`)
	// args are the keys of args.
	args = regexp.MustCompile(`"(function|arguments|args|input|partial_json|parameters|rawInput|argsTextDelta|inputTextDelta|partialArgs)":`)
)

// TestUnknownKinds renames, one at a time, the kind of each frame, block, part and item in
// the streams of every format, and the members in their place. Whatever of a call the
// session then lacks, an event reports as rejected: no call, args or result vanish in
// silence.
func TestUnknownKinds(t *testing.T) {
	for _, name := range decode.Names() {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("..", "decode", "testdata", name, "*.jsonl"))
			if err != nil || len(files) == 0 {
				t.Fatal("no streams", err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
				whole := assembled(lines)
				want := ofCalls(whole, strings.NewReplacer())
				for i, line := range lines {
					if rejects(whole, i) || begins.Match(line) {
						continue // an event is rejected once, and what follows an unknown beginning is of no message
					}
					for _, other := range renamed(string(line)) {
						changed := slices.Clone(lines)
						changed[i] = []byte(other.line)
						if missing := lost(want, ofCalls(assembled(changed), strings.NewReplacer(other.name, other.was))); missing != "" {
							t.Errorf("%s, line %d:\n%s\nis lost in silence where it is\n%s\n", file, i+1, missing, other.line)
						}
					}
				}
			}
		})
	}
}

// rejects reports whether a line is rejected as it is.
func rejects(a *Assembly, line int) bool {
	return slices.ContainsFunc(a.Events, func(e events.Event) bool { return e.Type == events.Rejected && e.Input == uint64(line)+1 })
}

// renaming is a line in which a name was another one.
type renaming struct{ line, name, was string }

// renamed returns the texts of a line in which one name is another.
func renamed(line string) (list []renaming) {
	for _, names := range [...]*regexp.Regexp{kinds, members, args} {
		for _, found := range names.FindAllStringSubmatchIndex(line, -1) {
			from, to := found[2], found[3]
			was := line[from:to]
			list = append(list, renaming{line[:to] + "_v9" + line[to:], was + "_v9", was})
			if names != args {
				list = append(list, renaming{line[:from] + "unheard_of" + line[to:], "unheard_of", was})
			}
		}
	}
	return list
}

// assembled returns the session of a stream.
func assembled(lines [][]byte) *Assembly {
	a := new(Assembly)
	for _, line := range lines {
		a.Line(line)
	}
	a.End()
	return a
}

// content is what a session has of calls.
type content struct {
	has      map[string]int // names, args and results
	rejected map[string]int // by their texts
}

// ofCalls returns what a session has of calls, under the names that were renamed.
func ofCalls(a *Assembly, old *strings.Replacer) content {
	c := content{map[string]int{}, map[string]int{}}
	for _, call := range a.Calls() {
		c.has["a call"]++
		if call.ArgsText != "" && call.ArgsText != "{}" {
			c.has["the args "+old.Replace(call.ArgsText)]++
		}
	}
	for i := range a.Events {
		switch e := &a.Events[i]; e.Type {
		case events.ToolCallResult, events.ToolCallLateResult, events.OrphanResult:
			if !e.Synthetic {
				c.has[old.Replace(fmt.Sprintf("the result %s", e.ToolResult))]++
			}
		case events.Rejected:
			c.rejected[e.Reason.Detail]++
		}
	}
	return c
}

// lost returns what a session lacks, or "" where it has another rejected event or lacks
// nothing.
func lost(want, got content) string {
	if !maps.Equal(want.rejected, got.rejected) {
		return ""
	}
	var missing []string
	for text, n := range want.has {
		if got.has[text] < n {
			missing = append(missing, text)
		}
	}
	slices.Sort(missing)
	return strings.Join(missing, "\n")
}

// TestForeignStreams reads recorded streams of agents and servers whether their formats
// are read or not. A stream whose calls are not all read has a rejected event.
func TestForeignStreams(t *testing.T) {
	read := 0
	for _, pattern := range [...]string{"agents-2/*/*.jsonl", "unclaimed/*.jsonl", "unclaimed/*.sse"} {
		files, _ := filepath.Glob(testkit.Shared("formats", filepath.FromSlash(pattern)))
		for _, file := range files {
			read++
			var want struct {
				Calls []struct{ ID, Name string }
			}
			expected, err := os.ReadFile(strings.TrimSuffix(file, filepath.Ext(file)) + ".expected.json")
			if err == nil {
				err = json.Unmarshal(expected, &want)
			}
			data, failed := os.ReadFile(file)
			if err != nil || failed != nil {
				t.Fatal(file, err, failed)
			}
			got := assembled(bytes.SplitAfter(data, []byte("\n")))
			if len(got.Calls()) < len(want.Calls) && len(ofCalls(got, strings.NewReplacer()).rejected) == 0 {
				t.Errorf("%s: %d of %d calls, and no event is rejected", file, len(got.Calls()), len(want.Calls))
			}
		}
	}
	if read == 0 {
		t.Skip("no recorded streams; set STREAMER_SHARED")
	}
}
