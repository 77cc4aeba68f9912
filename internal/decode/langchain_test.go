package decode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"streamer/internal/chunks"
)

// langFamilies are the folders of recorded streams that are of this format.
var langFamilies = map[string]bool{"langchain": true, "langgraph": true, "langgraph-sse": true, "langgraph-partial": true}

// langStreams gives the recorded and the synthetic streams: of this format, or
// all of them.
func langStreams(t *testing.T, all bool) (files []string) {
	t.Helper()
	for _, pattern := range []string{"corpus/*/*.jsonl", "quirks/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(shared(t, "formats"), filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("no streams %s: %v", pattern, err)
		}
		for _, f := range found {
			if all || isLangStream(t, f) {
				files = append(files, f)
			}
		}
	}
	return files
}

func isLangStream(t *testing.T, file string) bool {
	return langFamilies[langWant(t, file).Format]
}

// langExpected is what a stream holds, by the file beside it.
type langExpected struct {
	Format    string
	Ambiguous bool
	Calls     []struct {
		ID       *string
		Name     string
		ArgsJSON string `json:"args_json"`
		Args     any
		NS       *string
		Message  string `json:"message_id"`
		Valid    bool   `json:"args_valid"`
		Complete bool
	}
	Results []struct {
		ID      string `json:"tool_call_id"`
		Status  string
		Content string
	}
}

func langWant(t *testing.T, stream string) (want langExpected) {
	t.Helper()
	data, err := os.ReadFile(strings.TrimSuffix(stream, ".jsonl") + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%s: %v", stream, err)
	}
	return want
}

// TestLangChainClaims puts every event of every stream there is before the
// claim: all of its own are surely so, none of another's is.
func TestLangChainClaims(t *testing.T) {
	own := 0
	for _, file := range langStreams(t, true) {
		mine := isLangStream(t, file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f, problem := piece{text: strings.TrimSpace(string(line))}.frame()
			if problem != nil {
				continue // not one JSON value; that is the framing's to tell
			}
			got := claimsLangChain(f)
			if mine && got != surely || !mine && got != no {
				t.Errorf("%s\nevent %.200s\nclaim %d, of its own: %v", file, line, got, mine)
			}
			if mine {
				own++
			}
		}
	}
	if own == 0 {
		t.Error("no event was of this format")
	}
}

type langKey struct{ ns, message string }

// langCall is a call as a trivial accumulation finds it.
type langCall struct{ ID, Name, Args, NS, Message string }

// langAccumulate puts the fragments of each message and choice together, and
// gives what calls, results and problems there are.
func langAccumulate(t *testing.T, file string) (calls []langCall, results []chunks.Chunk, problems []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m Memory
	var r Reader
	type place struct {
		langKey
		choice int
	}
	open := map[place]*chunks.Message{}
	var order []place
	seen := map[string]bool{}
	limits := chunks.Limits{Calls: 1000, ArgsBytes: 1 << 20, NameBytes: 1 << 10}
	for line := range bytes.Lines(data) {
		r.Reset(&m, bytes.TrimSpace(line), "", Limits{})
		for r.Next() {
			if p := r.Problem(); p != nil {
				problems = append(problems, p.Text+" in "+string(line[:min(len(line), 200)]))
			}
			for _, c := range r.Chunks() {
				if c.Kind == chunks.Result && !c.Repeated {
					c.ID, c.Text, c.Status = strings.Clone(c.ID), strings.Clone(c.Text), strings.Clone(c.Status)
					results = append(results, c)
				}
				if c.Kind != chunks.Fragment || c.Repeated && seen[c.ID] {
					continue
				}
				seen[strings.Clone(c.ID)] = true
				at := place{langKey{c.Namespace, c.Message}, c.Choice}
				if open[at] == nil {
					at.ns, at.message = strings.Clone(at.ns), strings.Clone(at.message)
					open[at], order = &chunks.Message{}, append(order, at)
				}
				if _, _, err := open[at].Add(&c, limits); err != nil {
					problems = append(problems, err.Error())
				}
			}
		}
	}
	for _, at := range order {
		for _, c := range open[at].Calls {
			calls = append(calls, langCall{c.ID, c.Name, string(c.Text), at.ns, at.message})
		}
	}
	return calls, results, problems
}

// TestLangChainCorpus compares the calls of every stream with what it holds.
func TestLangChainCorpus(t *testing.T) {
	for _, file := range langStreams(t, false) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			want := langWant(t, file)
			got, results, problems := langAccumulate(t, file)
			for _, p := range problems {
				t.Errorf("problem: %s", p)
			}
			for _, w := range want.Results {
				found := false
				for _, g := range results {
					found = found || g.ID == w.ID && g.Text == w.Content && g.Status == w.Status
				}
				if !found {
					t.Errorf("results %+v\nlack %+v", results, w)
				}
			}
			if len(got) != len(want.Calls) {
				t.Fatalf("got %d calls %+v\nwant %d %+v", len(got), got, len(want.Calls), want.Calls)
			}
			if len(want.Calls) == 0 {
				return
			}
			// Interleaved messages: the order here is by message.
			sort.SliceStable(want.Calls, func(i, j int) bool { return first(got, want.Calls[i].Message) < first(got, want.Calls[j].Message) })
			for i, w := range want.Calls {
				g, id := got[i], ""
				if w.ID != nil {
					id = *w.ID
				}
				if g.ID != id || g.Name != w.Name || w.NS != nil && g.NS != *w.NS || g.Message != w.Message && !want.Ambiguous {
					t.Errorf("call %d: got %+v\nwant %s %+v", i, g, id, w)
				}
				var args any
				if g.Args == "" {
					args = map[string]any{}
				} else if json.Unmarshal([]byte(g.Args), &args) != nil {
					args = nil
				}
				if w.Valid && !reflect.DeepEqual(args, w.Args) || !w.Valid && g.Args != w.ArgsJSON {
					t.Errorf("call %d: got args %q\nwant %q", i, g.Args, w.ArgsJSON)
				}
			}
		})
	}
}

func first(calls []langCall, message string) int {
	for i, c := range calls {
		if c.Message == message {
			return i
		}
	}
	return len(calls)
}
