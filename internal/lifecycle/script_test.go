package lifecycle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/events"
	"streamer/internal/stored"
	"streamer/test/testkit"
)

// TestScripts runs each testdata/*.txt. A line without indentation is an input;
// the indented lines below it are the events that it must cause.
//
//	at MS            fold time from here on
//	rule NAME=VALUE  a setting, as its JSON field
//	VERB k=v …       an input; values with blanks are in backquotes
//	event A / B      a stream event of several chunks
//	snapshot A / B   a repeated history of several chunks; of an update likewise: update A / B
//	recover          the inputs from here on were lost; with "fresh" the state too
//
// After each input the state is stored and loaded again, so every script also
// checks that a session resumes after any input. The open items of the events are
// compared with those of the state.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *testkit.Update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("%s\n%s", f, firstDifference(got, string(want)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			line := ""
			if i < len(w) {
				line = w[i]
			}
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], line)
		}
	}
	return fmt.Sprintf("line %d is missing: %s", len(g)+1, w[len(g)])
}

// player runs a script.
type player struct {
	t     *testing.T
	state *State
	rules Rules
	now   events.Time
	seq   uint64
	open  OpenItems         // of all events
	ends  map[string]int    // terminal events by call
	began map[string]bool   // calls that started
	args  map[string]string // the sum of the deltas of each call
}

func runScript(t *testing.T, script string) string {
	p := player{t: t, state: new(State), rules: DefaultRules(), ends: map[string]int{}, began: map[string]bool{}, args: map[string]string{}}
	var out strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line)
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		for _, e := range p.play(line) {
			out.WriteString("  " + e + "\n")
		}
	}
	return out.String()
}

func (p *player) play(line string) []string {
	verb, args := words(p.t, line)
	switch verb {
	case "at":
		ms, err := strconv.ParseInt(args[""], 10, 64)
		if err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		p.now = events.Time(ms)
		return nil
	case "rule":
		data, _ := json.Marshal(args)
		for k, v := range args {
			if _, err := strconv.Atoi(v); err == nil {
				data = fmt.Appendf(nil, `{%q:%s}`, k, v)
			}
		}
		if err := json.Unmarshal(data, &p.rules); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		return nil
	}
	p.seq++
	if verb == "recover" {
		return p.finish(line, p.recover(args))
	}
	clock := clockVerbs[verb]
	st := New(nil, p.state, &p.rules, "s", p.seq, p.now, clock)
	st.Shape = "openai"
	if verb == "event" || verb == "snapshot" || verb == "update" {
		st.Chunks(p.frame(line))
	} else {
		p.apply(st, verb, args)
	}
	return p.finish(line, st.Done())
}

// recover closes what the events show as open, with the state or without it.
func (p *player) recover(args map[string]string) []events.Event {
	if _, fresh := args["fresh"]; fresh {
		p.state = new(State)
	}
	open := p.open
	return p.state.Recover(nil, &p.rules, Recovery{Session: "s", Next: events.ID{Seq: p.seq}, Open: &open, Shape: "other"})
}

// finish checks the events of an input and returns them as lines.
func (p *player) finish(line string, out []events.Event) []string {
	p.check(line, out)
	p.checkOpen(line, out)
	p.checkAnswer(line, out)
	p.reload()
	lines := make([]string, len(out))
	for i := range out {
		lines[i] = describe(&out[i])
	}
	return lines
}

// checkAnswer checks that the last event of an interrupt, and no other event, answers
// it with the calls that it closed.
func (p *player) checkAnswer(line string, out []events.Event) {
	var closed []string
	answers := 0
	for i := range out {
		switch {
		case out[i].Type == events.ToolCallResult && out[i].Synthetic:
			closed = append(closed, out[i].Call)
		case out[i].Type == events.Interruption && out[i].Binding == nil:
			answers++
		}
	}
	if !strings.HasPrefix(line, "interrupt") {
		if answers > 0 {
			p.t.Errorf("%s: %d answers to no interrupt", line, answers)
		}
		return
	}
	if answers != 1 || out[len(out)-1].Type != events.Interruption || !slices.Equal(out[len(out)-1].Calls, closed) || *out[len(out)-1].Closed != int64(len(closed)) {
		p.t.Errorf("%s: %d answers, the last event is %+v, want the one answer, with the calls %v", line, answers, out[len(out)-1], closed)
	}
}

// checkOpen checks that the event log shows the open items that the state has.
func (p *player) checkOpen(line string, out []events.Event) {
	for i := range out {
		if out[i].Type == events.Synthetic {
			continue
		}
		var e events.Event
		body, err := out[i].Body()
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		p.open.Add(&e)
	}
	if got, want := openOfEvents(&p.open), openOfState(p.state); !slices.Equal(got, want) {
		p.t.Errorf("%s: the events show as open\n%s\nthe state has\n%s", line, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// openOfEvents describes the open items of the events.
func openOfEvents(open *OpenItems) []string {
	list := []string{"run " + open.Run, "last run " + open.LastRun}
	for _, c := range open.Calls() {
		list = append(list, fmt.Sprintf("call %s, args complete: %t", c.Start.Call, c.Complete != nil))
	}
	for _, m := range open.Building() {
		list = append(list, fmt.Sprintf("message %q %q %d of %s", m.Namespace, m.MessageID, m.Choice, m.Run))
	}
	slices.Sort(list)
	return list
}

// openOfState describes the open items of a state that events show.
func openOfState(s *State) []string {
	list := []string{"run ", "last run " + s.LastRun}
	if s.Run != nil {
		list[0] += s.Run.ID
	}
	for _, m := range s.Messages {
		for i := range m.Calls {
			if c := &m.Calls[i].State; c.Started && !c.Status.Terminal() {
				list = append(list, fmt.Sprintf("call %s, args complete: %t", c.Call, c.Status != events.BuildingArgs))
			}
		}
		if m.Phase != Finished && !m.Quiet {
			list = append(list, fmt.Sprintf("message %q %q %d of %s", m.Namespace, m.ID, m.Choice, m.Run))
		}
	}
	slices.Sort(list)
	return list
}

// apply applies the input of a verb.
func (p *player) apply(st *Step, verb string, a map[string]string) {
	if _, elapsed := a["elapsed"]; clockVerbs[verb] && !st.Tick(p.time(a["due"]), p.time(a["until"]), elapsed) {
		return
	}
	switch verb {
	case "interrupt":
		in := Interrupt{Reason: a["reason"], Run: a["run"], MessageID: a["msg"], Namespace: a["ns"]}
		if a["id"] != "" {
			in.IDs = strings.Split(a["id"], ",")
		}
		if a["call"] != "" {
			in.Calls = strings.Split(a["call"], ",")
		}
		st.Interrupt(in)
	case "bound":
		st.Bound(7, events.Binding{CallsOut: strings.Split(a["calls"], ",")})
	case "resume_all":
		st.Resume(a["by"])
	case "reply":
		st.Reply(Reply{ID: a["id"], Call: a["call"], InterruptID: a["interrupt"], Decision: a["decision"], Args: a["args"], Value: a["value"], Text: a["text"], By: a["by"]})
	case "end":
		st.End(events.Status(a["status"]), "")
	case "deadline":
		st.Deadline(a["call"])
	case "flush":
		_, ended := a["ended"]
		st.Flush(ended)
	case "idle":
		st.RunIdle()
	case "alive":
		st.ProgressInput(&chunks.Chunk{Kind: chunks.Progress, ID: a["id"], Call: a["call"], Text: a["text"]})
	default:
		st.Chunks([]chunks.Chunk{p.chunk(verb, a)})
	}
}

// clockVerbs are those of clock inputs. "due" and "until" are times as of "at", and
// "elapsed" states that the session's time has reached "due".
var clockVerbs = map[string]bool{"deadline": true, "flush": true, "idle": true}

// time parses a time, 0 where there is none.
func (p *player) time(text string) events.Time {
	if text == "" {
		return 0
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return events.Time(ms)
}

// frame returns the chunks of a line that is an "event" or a repeated history,
// "snapshot" or "update", and its chunks, separated by slashes.
func (p *player) frame(line string) (list []chunks.Chunk) {
	verb, rest, _ := strings.Cut(line, " ")
	for part := range strings.SplitSeq(rest, " / ") {
		c := p.chunk(words(p.t, strings.TrimSpace(part)))
		if verb != "event" {
			c.Whole = c.Kind == chunks.Fragment
			c.Repeated, c.Snapshot = c.Kind != chunks.RunStart, verb == "snapshot" && c.Kind != chunks.RunStart
		}
		list = append(list, c)
	}
	return list
}

// chunk returns the chunk of a verb.
func (p *player) chunk(verb string, a map[string]string) chunks.Chunk {
	kinds := map[string]chunks.Kind{
		"start": chunks.Start, "fragment": chunks.Fragment, "seal": chunks.Seal, "next": chunks.Next,
		"text": chunks.Text, "reasoning": chunks.Reasoning, "partend": chunks.PartEnd, "finish": chunks.Finish,
		"usage": chunks.Usage, "ended": chunks.Ended, "done": chunks.Done, "result": chunks.Result, "human": chunks.Human, "humantext": chunks.HumanText,
		"await": chunks.Await, "progress": chunks.Progress, "resume": chunks.Resume, "runstart": chunks.RunStart, "runend": chunks.RunEnd,
		"attempt": chunks.Attempt, "failure": chunks.Failure, "listed": chunks.Listed, "answer": chunks.Answer,
	}
	kind, known := kinds[verb]
	if !known {
		p.t.Fatalf("there is no verb %q", verb)
	}
	choice, _ := strconv.Atoi(a["choice"])
	part, _ := strconv.Atoi(a["part"])
	wait, _ := strconv.Atoi(a["wait"])
	restated, _ := strconv.Atoi(a["restated"])
	_, repeated := a["repeated"]
	_, whole := a["whole"]
	_, object := a["object"]
	_, weak := a["weak"]
	_, provider := a["provider"]
	_, final := a["final"]
	_, opens := a["opens"]
	_, fresh := a["fresh"]
	_, varies := a["varies"]
	_, exact := a["exact"]
	_, truncated := a["truncated"]
	_, explicit := a["explicit"]
	_, abandons := a["abandons"]
	_, aside := a["aside"]
	_, spares := a["spares"]
	return chunks.Chunk{
		Kind: kind, Namespace: a["ns"], Message: a["msg"], Choice: choice, Role: a["role"], Fresh: fresh, IDVaries: varies,
		Index: a["index"], ID: a["id"], Call: a["call"], Name: a["name"], Args: a["args"], CallKind: a["kind"], ParentCall: a["parent"], Provider: provider,
		Object: object, Weak: weak, Whole: whole, Final: final, Opens: opens, Exact: exact, Part: part, Text: a["text"], Status: a["status"],
		Truncated: truncated, Wait: uint8(wait), Reason: a["reason"], Usage: a["usage"], Why: a["why"],
		InterruptID: a["interrupt"], Run: a["run"], Restated: chunks.Restating(restated), Repeated: repeated, Explicit: explicit, Abandons: abandons, Aside: aside, Spares: spares,
	}
}

// check checks the invariants of every event sequence.
func (p *player) check(line string, out []events.Event) {
	for i := range out {
		e := &out[i]
		if e.EventID != (events.ID{Seq: p.seq, N: i}) {
			p.t.Errorf("%s: event %d has id %s", line, i, e.EventID)
		}
		switch e.Type {
		case events.ToolCallStart:
			if p.began[e.Call] {
				p.t.Errorf("%s: call %s started twice", line, e.Call)
			}
			p.began[e.Call] = true
		case events.ToolCallResult:
			if p.ends[e.Call]++; p.ends[e.Call] > 1 {
				p.t.Errorf("%s: call %s has two results", line, e.Call)
			}
			fallthrough
		case events.ToolCallArgsDelta, events.ToolCallArgsComplete, events.ToolCallProgress, events.ToolCallAwaiting, events.ToolCallAnswered:
			if !p.began[e.Call] {
				p.t.Errorf("%s: %s of call %s before its start", line, e.Type, e.Call)
			}
		}
		p.checkArgs(line, e)
		if _, err := e.Body(); err != nil {
			p.t.Errorf("%s: %v", line, err)
		}
	}
}

// checkArgs checks that the deltas, each at its offset, add up to the args.
func (p *player) checkArgs(line string, e *events.Event) {
	sum, ok := p.args[e.Call]
	switch e.Type {
	case events.ToolCallArgsDelta:
		if e.Offset.Bytes() > len(sum) {
			p.t.Errorf("%s: delta of call %s at %d, after %q", line, e.Call, e.Offset.Bytes(), sum)
			return
		}
		p.args[e.Call] = sum[:e.Offset.Bytes()] + e.Args
	case events.ToolCallArgsComplete:
		if ok && sum != *e.ArgsText {
			p.t.Errorf("%s: deltas of call %s add up to %q, args_text is %q", line, e.Call, sum, *e.ArgsText)
		}
	}
}

// reload stores the state and loads it again.
func (p *player) reload() {
	data := stored.Append(nil, p.state, (*State).Fields)
	p.state = new(State)
	if err := stored.Load(data, p.state, (*State).Fields); err != nil {
		p.t.Fatal(err)
	}
	p.state.Resume()
}

// describe returns the main fields of an event as a line.
func describe(e *events.Event) string {
	var b strings.Builder
	b.WriteString(string(e.Type))
	put := func(k, v string) {
		if v != "" {
			b.WriteString(" " + k + "=" + v)
		}
	}
	put("run", e.Run)
	if e.Place != nil {
		put("msg", e.MessageID)
		put("ns", e.Namespace)
	}
	put("call", e.Call)
	put("id", e.ID)
	if e.UID != e.ID {
		put("uid", e.UID)
	}
	put("name", e.ToolName)
	put("kind", e.Kind)
	if e.Type == events.ToolCallParent {
		put("parent", e.ParentCall)
	}
	put("status", string(e.Status))
	if e.Reason != nil {
		put("reason", string(e.Reason.Code))
		put("text", strconv.Quote(e.Reason.Text))
		put("detail", e.Reason.Detail)
	}
	if e.Offset != 0 && e.Type != events.Rejected {
		put("offset", strconv.Itoa(e.Offset.Bytes()))
	}
	put("content", e.Content)
	put("args", e.Args)
	if e.ArgsText != nil {
		put("args_text", *e.ArgsText)
		put("valid", strconv.FormatBool(*e.ArgsValid))
	}
	put("error", e.ArgsError)
	if e.Closed != nil {
		put("closed", strconv.FormatInt(*e.Closed, 10))
		put("calls", strings.Join(e.Calls, ","))
	}
	put("by", e.By)
	put("decision", e.Decision)
	put("value", string(e.Value))
	put("tool", e.ToolState)
	if e.Type == events.ToolCallAnswered {
		put("interrupt", e.InterruptID)
		put("args", string(e.ToolArgs))
	}
	if !e.Synthetic {
		put("result", string(e.ToolResult))
	}
	if e.Conflict {
		put("conflict", "true")
	}
	if e.Deadline != nil {
		put("deadline", strconv.FormatInt(int64(*e.Deadline), 10))
	}
	if e.DurationMS != nil {
		put("ms", strconv.FormatInt(*e.DurationMS, 10))
	}
	put("finish", e.FinishReason)
	put("usage", string(e.Usage))
	if e.Superseded {
		put("superseded", "true")
	}
	put("pending", strings.Join(e.Pending, ","))
	put("message", e.Progress)
	if e.Binding != nil {
		binding, _ := json.Marshal(e.Binding)
		put("binding", string(binding))
	}
	if e.Target != nil {
		target, _ := json.Marshal(e.Target)
		put("target", string(target))
	}
	return b.String()
}

// words returns the verb and the arguments of a line of a script.
func words(t *testing.T, line string) (verb string, args map[string]string) {
	verb, rest, _ := strings.Cut(line, " ")
	args = map[string]string{}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		end := strings.IndexByte(rest, ' ')
		if q := strings.IndexByte(rest, '`'); q >= 0 && (end < 0 || q < end) {
			close := strings.IndexByte(rest[q+1:], '`')
			if close < 0 {
				t.Fatalf("%s: a backquote is open", line)
			}
			end = q + 1 + close + 1
		}
		if end < 0 || end > len(rest) {
			end = len(rest)
		}
		word := strings.ReplaceAll(rest[:end], "`", "")
		rest = rest[end:]
		k, v, ok := strings.Cut(word, "=")
		if !ok && verb == "at" {
			k, v = "", word
		}
		args[k] = v
	}
	return verb, args
}
