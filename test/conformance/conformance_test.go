package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"streamer/internal/client"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/test/testkit"
)

// TestFixtures: the streams in the repository whose calls are listed give exactly what is
// expected, with a named format and without, in every framing.
func TestFixtures(t *testing.T) {
	for _, dir := range fixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) { conform(t, dir) })
	}
}

// TestCorpora: so do the recorded streams outside of the repository, if they are
// available.
func TestCorpora(t *testing.T) {
	for _, dir := range corpora(t) {
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) { conform(t, dir) })
	}
}

// conform checks the recorded streams in a directory.
func conform(t *testing.T, dir string) {
	for _, r := range recordings(t, dir) {
		t.Run(strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file)), func(t *testing.T) {
			for _, format := range []string{"", r.format} {
				a, err := client.Assemble(bytes.NewReader(r.data), format)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.check(a); err != nil {
					t.Errorf("format %q: %v", format, err)
				}
			}
			if !r.lines {
				return
			}
			for _, done := range []bool{false, true} {
				if err := r.check(assemble("", r.sse(done))); err != nil {
					t.Errorf("as raw SSE, [DONE] %v: %v", done, err)
				}
			}
		})
	}
}

// TestOtherNames: a stream that is named as another format has no call. Its events are
// rejected, unless that format ignores them.
func TestOtherNames(t *testing.T) {
	dirs := fixtures(t)
	t.Run("corpora", func(t *testing.T) { dirs = append(dirs, corpora(t)...) })
	for _, dir := range dirs {
		for i, r := range recordings(t, dir) {
			if !testkit.Campaigns() && i%8 > 0 {
				continue // the streams have much in common
			}
			for _, name := range decode.Names() {
				if shared(name, r.format) || bytes.Contains(r.data, []byte(`{"bytes":"`)) { // which hold events of any format
					continue
				}
				if list := assemble(name, r.data).Calls(); len(list) > 0 && len(r.want.Calls) > 0 {
					t.Errorf("%s: %d calls as %s, the first of %s", r.file, len(list), name, list[0].Name)
				}
			}
		}
	}
}

// shared reports whether two formats have events in common.
func shared(a, b string) bool {
	return a == b || slices.Contains(sharing, [2]string{a, b}) || slices.Contains(sharing, [2]string{b, a})
}

var sharing = [][2]string{{"openai-chat", "mistral"}, {"strands", "bedrock"}} // the events of strands in Python have those of bedrock

// TestCuts: the recorded streams and the streams in the repository give the same when they are
// cut anywhere, as JSON Lines and as raw SSE.
func TestCuts(t *testing.T) {
	dirs := fixtures(t)
	t.Run("corpora", func(t *testing.T) { dirs = append(dirs, corpora(t)...) })
	for _, dir := range dirs {
		for i, r := range recordings(t, dir) {
			if !testkit.Campaigns() && i%8 > 0 {
				continue // the streams have much in common
			}
			t.Run(filepath.Base(dir)+"/"+filepath.Base(r.file), func(t *testing.T) {
				forms := map[string][]byte{"as it is": r.data}
				if r.lines {
					forms["as raw SSE"] = r.sse(false)
				}
				for form, text := range forms {
					for what, pieces := range cuts(text) {
						if err := r.check(assemble(r.format, pieces...)); err != nil {
							t.Fatalf("%s, %s: %v", form, what, err)
						}
					}
				}
			})
		}
	}
}

// cuts returns a text in two pieces at some places, and in many pieces.
func cuts(text []byte) map[string][][]byte {
	list := map[string][][]byte{}
	random := rand.New(rand.NewPCG(1, uint64(len(text))))
	for range 4 {
		at := random.IntN(len(text) + 1)
		list[fmt.Sprintf("cut at byte %d", at)] = [][]byte{text[:at], text[at:]}
	}
	sizes := []int{7, 1000}
	if len(text) > 256<<10 {
		sizes = []int{1000}
	}
	for _, size := range sizes {
		list[fmt.Sprintf("in pieces of %d bytes", size)] = slices.Collect(slices.Chunk(text, size))
	}
	return list
}

// check returns an error where a stream did not give what is expected of it.
func (r *recording) check(a *session.Assembly) error {
	var out bytes.Buffer
	if err := client.WriteCalls(&out, a.Calls()); err != nil {
		return err
	}
	var got []session.AssembledCall
	for line := range bytes.Lines(out.Bytes()) {
		var c session.AssembledCall
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		got = append(got, c)
	}
	got = slices.DeleteFunc(got, r.unlisted)
	var wrong []string
	if len(got) != len(r.want.Calls) && r.want.Ambiguity == "" {
		wrong = append(wrong, fmt.Sprintf("%d calls, want %d", len(got), len(r.want.Calls)))
	}
	for i := range min(len(got), len(r.want.Calls)) {
		if r.unindexed {
			r.want.Calls[i].Index = got[i].Index
		}
		if r.want.NameOpen {
			r.want.Calls[i].open(&got[i])
		}
		wrong = append(wrong, compareCall(i, got[i], r.want.Calls[i])...)
	}
	if wrong != nil {
		wrong = append(wrong, "got "+out.String())
	}
	wrong = append(wrong, r.rejections(a.Events)...)
	wrong = append(wrong, r.messages(a.Events)...)
	wrong = append(wrong, r.humans(a.Events)...)
	wrong = append(wrong, r.text(a.Events)...)
	wrong = append(wrong, r.results(a.Events)...)
	wrong = append(wrong, r.ends(a.Events)...)
	if wrong != nil {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// unlisted reports whether a call is one that a provider ran without an id, in a
// stream of which no such calls are listed: lists differ in whether these are calls.
func (r *recording) unlisted(c session.AssembledCall) bool {
	return c.Kind == "server" && c.IDSynthesized &&
		!slices.ContainsFunc(r.want.Calls, func(w expectedCall) bool { return w.Kind == "server" && w.ID == nil })
}

// open adopts the name, the kind and the args of a call.
func (c *expectedCall) open(got *session.AssembledCall) {
	c.Name, c.Kind, c.ArgsJSON, c.Args = got.Name, got.Kind, got.ArgsText, nil
	if json.Unmarshal(got.Args, &c.Args) != nil {
		c.Args = nil
	}
}

func compareCall(i int, got session.AssembledCall, want expectedCall) (wrong []string) {
	check := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			wrong = append(wrong, fmt.Sprintf("call %d: %s is %#v, want %#v", i, what, got, want))
		}
	}
	check("id_synthesized", got.IDSynthesized, want.ID == nil)
	if want.ID != nil {
		check("id", got.ID, *want.ID)
	}
	var args any
	if err := json.Unmarshal(got.Args, &args); err != nil {
		wrong = append(wrong, fmt.Sprintf("call %d: args: %v", i, err))
	}
	index := string(want.Index)
	if index == "" {
		index = "null"
	}
	kind := want.Kind
	if kind == "unnamed" {
		kind = got.Kind
	}
	check("name", got.Name, want.Name)
	check("args_text", got.ArgsText, want.ArgsJSON)
	check("args_valid", got.ArgsValid, want.ArgsValid || want.Kind == "custom") // free text is valid as it is
	var inner map[string]any
	if text, double := want.Args.(string); double && want.Kind != "custom" && json.Unmarshal([]byte(text), &inner) == nil {
		want.Args = inner // the args are an object in a string
	}
	if want.ArgsValid && want.Kind != "custom" && want.ArgsJSON != "" {
		check("args", args, want.Args)
	}
	check("index", string(got.Index), index)
	check("kind", got.Kind, kind)
	if want.MessageID != nil {
		check("message_id", got.MessageID, *want.MessageID)
	}
	check("complete", got.Complete, want.Complete)
	if want.Choice != nil {
		check("choice", got.Choice, *want.Choice)
	}
	if want.NS != nil {
		check("namespace", got.Namespace, *want.NS)
	}
	if want.Status != nil && want.Result == nil {
		check("status", string(got.Status), *want.Status)
	}
	return wrong
}

// rejections returns the inputs that were rejected although they hold no garbage.
func (r *recording) rejections(list []events.Event) (wrong []string) {
	for i := range list {
		if e := &list[i]; e.Type == events.Rejected && !r.want.Rejects {
			wrong = append(wrong, fmt.Sprintf("input %d is rejected: %s: %s", e.Input, e.Reason.Code, e.Reason.Text))
		}
	}
	return wrong
}

// messages compares the messages and the runs with what is expected: each message
// begins and ends once, and so does each run that is not cut off and whose last
// message made no call.
func (r *recording) messages(list []events.Event) (wrong []string) {
	started, open, runs, answered := 0, 0, 0, true
	pending, asked := map[string]bool{}, map[events.Place]bool{}
	for i := range list {
		switch e := &list[i]; e.Type {
		case events.MessageStarted:
			started++
			open++
		case events.MessageFinished:
			open--
			answered = !asked[*e.Place]
		case events.RunStarted:
			runs++
		case events.RunFinished:
			runs--
		case events.ToolCallStart:
			pending[e.Call], asked[*e.Place] = true, true
		case events.ToolCallResult:
			delete(pending, e.Call)
		}
		if open < 0 {
			wrong = append(wrong, fmt.Sprintf("message %+v is finished twice", list[i].Place))
		}
	}
	if r.want.Messages != nil && started != *r.want.Messages && !slices.Contains([]string{"codex-rollout", "codex-app-server"}, r.format) { // their lists count texts
		wrong = append(wrong, fmt.Sprintf("%d messages, want %d", started, *r.want.Messages))
	}
	if r.cut() {
		return wrong
	}
	if open > 0 {
		wrong = append(wrong, fmt.Sprintf("%d messages are not finished", open))
	}
	if runs > 0 && len(pending) == 0 && answered {
		wrong = append(wrong, fmt.Sprintf("%d runs have not ended", runs))
	}
	return wrong
}

// humans compares the texts of the human messages with what is expected.
func (r *recording) humans(list []events.Event) (wrong []string) {
	var texts []string
	for i := range list {
		switch e := &list[i]; {
		case e.Type != events.HumanMessage:
		case e.Offset.Bytes() == 0:
			texts = append(texts, e.Content)
		default:
			texts[len(texts)-1] += e.Content
		}
	}
	if r.want.Humans != nil && !slices.Equal(texts, r.want.Humans) {
		wrong = append(wrong, fmt.Sprintf("the human messages are %q, want %q", texts, r.want.Humans))
	}
	return wrong
}

// text compares the text of the messages with what is expected.
func (r *recording) text(list []events.Event) (wrong []string) {
	var text strings.Builder
	for i := range list {
		if e := &list[i]; e.Type == events.AgentResponseChunk && e.Kind == "text" {
			text.WriteString(e.Content)
		}
	}
	if got := text.String(); r.want.Text != "" && got != r.want.Text {
		wrong = append(wrong, fmt.Sprintf("the text is %q, want %q", got, r.want.Text))
	}
	return wrong
}

// cut reports whether the stream does not have the end of its last message.
func (r *recording) cut() bool {
	end, needed := endings[r.format]
	return r.want.Rejects || needed && !end.Match(r.data) || strings.Contains(filepath.Base(r.file), "-cut") ||
		slices.ContainsFunc(r.want.Calls, func(c expectedCall) bool { return !c.Complete })
}

// endings match what ends the last message in formats in which it may be absent.
var endings = map[string]*regexp.Regexp{
	"openai-chat":   regexp.MustCompile(`"finish_reason": ?"`),
	"codex-rollout": regexp.MustCompile(`"type": ?"(task_complete|turn_aborted)"`),
}

// results compares the results and the parents of the calls with what is expected.
func (r *recording) results(list []events.Event) (wrong []string) {
	var calls []*events.Event
	results, parents := map[string]*events.Event{}, map[string]string{}
	awaited, moved := map[string]bool{}, map[string]bool{}
	for i := range list {
		switch e := &list[i]; e.Type {
		case events.ToolCallStart:
			calls = append(calls, e)
			parents[e.Call] = e.ParentCall
		case events.ToolCallParent:
			parents[e.Call] = e.ParentCall
		case events.ToolCallAwaiting:
			awaited[e.Call] = true
		case events.ToolCallProgress:
			moved[e.Call] = true
		case events.ToolCallResult:
			results[e.Call] = e
		}
	}
	ids := map[string]string{}
	for i, c := range calls {
		ids[c.Call] = c.ID
		if i >= len(r.want.Calls) {
			break
		}
		want := r.want.Calls[i]
		if e := results[c.Call]; want.Cancelled != "" && (e == nil || e.Status != events.Cancelled) {
			wrong = append(wrong, fmt.Sprintf("call %d: it is not cancelled: %+v", i, e))
		}
		if want.Waited && !awaited[c.Call] {
			wrong = append(wrong, fmt.Sprintf("call %d: it did not wait", i))
		}
		if parent := parents[c.Call]; want.Parent != nil && parent != *want.Parent && ids[parent] != *want.Parent {
			wrong = append(wrong, fmt.Sprintf("call %d: parent is %q, want %q", i, parent, *want.Parent))
		}
		if e := results[c.Call]; want.ResStatus != "" && (e == nil || string(e.Status) != want.ResStatus) {
			wrong = append(wrong, fmt.Sprintf("call %d: the result is %+v, want status %s", i, e, want.ResStatus))
		}
		if want.Result == nil {
			continue
		}
		switch e := results[c.Call]; {
		case want.Result.Intermediate:
			if e != nil || !moved[c.Call] {
				wrong = append(wrong, fmt.Sprintf("call %d: the result is %+v, progress %v, want progress", i, e, moved[c.Call]))
			}
		case e == nil:
			wrong = append(wrong, fmt.Sprintf("call %d: no result", i))
		case e.Synthetic:
			wrong = append(wrong, fmt.Sprintf("call %d: the result is synthetic: %s", i, e.Reason.Code))
		default:
			wrong = append(wrong, want.Result.compare(i, e)...)
		}
	}
	return wrong
}

// ends compares the ends of the runs with those that are expected. An end that the wire
// does not state is none: the calls of its run may wait for the client.
func (r *recording) ends(list []events.Event) (wrong []string) {
	var want, got []string
	for _, run := range r.want.Runs {
		switch end := run.Ending; {
		case r.format == "openai-responses", end == nil, strings.Contains(*end, "wait"):
			return nil
		case strings.HasPrefix(*end, "aborted"):
			want = append(want, "cancelled")
		case *end == "success", *end == "endTurn", strings.HasPrefix(*end, "completed"):
			want = append(want, "completed")
		default:
			want = append(want, *end)
		}
	}
	for i := range list {
		if e := &list[i]; e.Type == events.RunFinished {
			got = append(got, string(e.Status))
		}
	}
	if want != nil && !slices.Equal(got, want) {
		wrong = append(wrong, fmt.Sprintf("the runs end as %q, want %q", got, want))
	}
	return wrong
}

// compare compares a result with what is expected.
func (want *expectedResult) compare(i int, e *events.Event) (wrong []string) {
	failed := e.Status == events.Error || e.Status == events.Denied || want.Aborted && e.Status == events.Cancelled
	if failed != want.Error {
		wrong = append(wrong, fmt.Sprintf("call %d: status of the result is %s, want error %v", i, e.Status, want.Error))
	}
	var text string
	if json.Unmarshal(e.ToolResult, &text) != nil || want.SHA256 == "" {
		return wrong // not a text, or not listed
	}
	sum := sha256.Sum256([]byte(text))
	if n := utf8.RuneCountInString(text); n != want.Chars || hex.EncodeToString(sum[:4]) != want.SHA256 {
		wrong = append(wrong, fmt.Sprintf("call %d: the result has %d characters (%x), want %d (%s)", i, n, sum[:4], want.Chars, want.SHA256))
	}
	return wrong
}
