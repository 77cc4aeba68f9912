package patch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/patch"
)

// tested are the shapes of the random histories.
var tested = []patch.Shape{patch.OpenAI, patch.LangChain, patch.Anthropic, patch.Responses, patch.AIUI, patch.AIModel, patch.AGUI, patch.Bedrock, patch.Gemini, patch.LangChainEx}

// TestProperties repairs random histories with all known faults, in all shapes and
// under many options. The output is valid, a fixpoint and prefix-stable, no real
// result is lost, a valid input stays unchanged, and the steps lead to the same
// output. STREAMER_REPAIR sets the number of histories, STREAMER_SEED repeats a
// single one.
func TestProperties(t *testing.T) {
	n, seed := sampleSize(t, 800/stride)
	met := map[string]int{}
	for i := range n {
		r := rand.New(rand.NewPCG(seed+uint64(i), 0))
		shape := tested[r.IntN(len(tested))]
		o := someOptions(r, shape)
		s := someScenario(r, shape)
		if shape == patch.Gemini { // some ids but not all: refused if a result has no place
			s = slices.DeleteFunc(s, withoutID)
		}
		if failed(shape, s, o, met) == "" {
			continue
		}
		s = shrink(s, func(less []event) bool { return failed(shape, less, o, nil) != "" })
		t.Fatalf("STREAMER_SEED=%d options %s\ninput %s\n%s", seed+uint64(i), asJSON(o), render(shape, s), failed(shape, s, o, nil))
	}
	t.Logf("%d histories, %d kinds of changes: %v", n, len(met), met)
	if n >= 1000 && (len(met) < 17 || met["patched false"] < n/20) {
		t.Errorf("%d histories have too few kinds of changes: %v", n, met)
	}
}

// sampleSize returns the number of histories and the seed of the first one.
func sampleSize(t *testing.T, n int) (int, uint64) {
	if s := os.Getenv("STREAMER_REPAIR"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal("STREAMER_REPAIR: ", err)
		}
	}
	if s := os.Getenv("STREAMER_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal("STREAMER_SEED: ", err)
		}
		return 1, seed
	}
	return n, uint64(time.Now().UnixNano())
}

// shrink removes the parts of a scenario that are not needed to make it fail.
func shrink(s []event, fails func([]event) bool) []event {
	for i := 0; i < len(s); {
		if less := slices.Delete(slices.Clone(s), i, i+1); fails(less) {
			s, i = less, 0
			continue
		}
		for c := 0; c < len(s[i].calls); {
			less := slices.Clone(s)
			if less[i].calls = slices.Delete(slices.Clone(s[i].calls), c, c+1); fails(less) {
				s = less
				continue
			}
			c++
		}
		i++
	}
	return s
}

// failed returns what is wrong with the repair of a scenario, "" if nothing is.
func failed(shape patch.Shape, s []event, o patch.Options, met map[string]int) (failure string) {
	p := &probe{}
	defer func() {
		if err := recover(); err != nil && err != any(p) {
			p.Errorf("panic: %v", err)
		}
		if failure = p.failure; strings.Contains(failure, "a result without the id of its call may belong to") {
			failure = "" // it is refused, as it must be
		}
	}()
	input := render(shape, s)
	r := repair(p, shape, input, o)
	if met != nil {
		for _, op := range r.Report.Ops {
			met[op.Op]++
		}
		met["patched "+strconv.FormatBool(r.Report.Patched)]++
	}
	messages := messagesOf(p, input)
	broken := append(validate(shape, o.Provider, messages), validateFor(shape, o, messages)...)
	var except []string
	if slices.ContainsFunc(broken, func(v violation) bool { return v.Rule == loneReasoning }) {
		except = []string{loneReasoning}
	}
	if slices.ContainsFunc(r.Report.ViolationsLeft, func(v patch.Violation) bool { return v.Rule == "output_kind" }) {
		except = append(except, "kind_mismatch", "unanswered_call")
	}
	checkFixpoint(p, shape, r.History, o)
	checkValid(p, shape, r.History, o, except...)
	checkPrefixes(p, shape, input, o)
	checkOutputs(p, shape, input, o, r)
	checkKept(p, s, input, r)
	if len(broken) == 0 && r.Report.Patched && !unsettled(shape, messages, o) {
		p.Errorf("the input is valid, but %v changes it to\n%s", kinds(r.Report), r.History)
	}
	return
}

// probe records the first failure of a check.
type probe struct {
	testing.TB
	failure string
}

func (p *probe) Helper() {}

func (p *probe) Errorf(format string, args ...any) {
	if p.failure == "" {
		p.failure = fmt.Sprintf(format, args...)
	}
}

func (p *probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	panic(p)
}

func (p *probe) Fatal(args ...any) { p.Fatalf("%s", fmt.Sprint(args...)) }

// unsettled reports whether a repair may change a valid history. In Responses,
// outputs move directly behind their calls, and into the order of the calls if
// requested. Invalid calls may be converted.
func unsettled(shape patch.Shape, messages []object, o patch.Options) bool {
	if shape == patch.Responses && o.Order == "call" {
		return true
	}
	for i, m := range messages {
		if shape == patch.LangChain && len(list(m["invalid_tool_calls"])) > 0 &&
			(o.Invalid == "convert" || slices.Contains([]string{"anthropic", "bedrock", "gemini"}, o.Provider)) {
			return true
		}
		if shape != patch.Responses || outputOf[str(m["type"])] == "" {
			continue
		}
		outputs := false
		for _, n := range messages[i+1:] {
			if isOutput(str(n["type"])) {
				if outputs = true; callID(n) == callID(m) {
					break
				}
			} else if outputs || !ofModel(n) {
				return true
			}
		}
	}
	return false
}

// checkOutputs checks that the other outputs agree with the full one.
func checkOutputs(t testing.TB, shape patch.Shape, input []byte, o patch.Options, full patch.Repaired) {
	t.Helper()
	o.Output = "check"
	check := repair(t, shape, input, o)
	o.Output = "ops"
	ops := repair(t, shape, input, o)
	if check.History != nil || check.Script != nil || !reflect.DeepEqual(check.Report, full.Report) || !reflect.DeepEqual(ops.Report, full.Report) {
		t.Errorf("reports differ:\nfull  %s\nops   %s\ncheck %s", asJSON(full.Report), asJSON(ops.Report), asJSON(check.Report))
	}
	got := apply(t, input, ops.Script)
	want := canonical(t, full.History)
	if !slices.Equal(got, want) {
		t.Errorf("the script %s returns\n%s\nwant\n%s", asJSON(ops.Script), got, want)
	}
	before, first := canonical(t, input), -1
	for i := range max(len(before), len(want)) {
		if i >= len(before) || i >= len(want) || before[i] != want[i] {
			first = i
			break
		}
	}
	if first < full.Report.FirstChange && first >= 0 || full.Report.FirstChange < 0 && first >= 0 {
		t.Errorf("first change at %d, want %d:\n%s\n%s", full.Report.FirstChange, first, before, want)
	}
	if full.Report.In != len(before) || full.Report.Out != len(want) {
		t.Errorf("%d messages in and %d out, want %d and %d", full.Report.In, full.Report.Out, len(before), len(want))
	}
}

// apply returns the messages after the steps of a script.
func apply(t testing.TB, input []byte, script []patch.Edit) []string {
	t.Helper()
	messages := canonical(t, input)
	var out []string
	for _, e := range script {
		switch {
		case e.Copy != nil:
			out = append(out, messages[e.Copy[0]:e.Copy[1]]...)
		case e.Insert != nil:
			out = append(out, canonical(t, slices.Concat([]byte("["), e.Insert, []byte("]")))...)
		case e.Replace != nil:
			out = append(out, canonical(t, slices.Concat([]byte("["), e.Replace.With, []byte("]")))...)
		}
	}
	return out
}

// checkKept checks that every real result is in the output once, or in the report.
func checkKept(t testing.TB, s []event, input []byte, r patch.Repaired) {
	t.Helper()
	var dropped []byte
	for _, op := range r.Report.Ops {
		dropped = append(dropped, op.Dropped...)
	}
	for _, e := range s {
		text := []byte(e.text)
		if e.kind != "result" || e.fake || !bytes.Contains(input, text) { // ai-ui has no place for some results
			continue
		}
		if n, gone := bytes.Count(r.History, text), bytes.Count(dropped, text); n+gone != 1 {
			t.Errorf("the result %s is %d times in the output and %d times in the dropped content\n%s\n%s", e.text, n, gone, r.History, asJSON(r.Report.Ops))
		}
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// someOptions returns random options for a shape.
func someOptions(r *rand.Rand, shape patch.Shape) patch.Options {
	o := patch.Options{Dropped: true}
	for _, set := range []func(){
		func() { o.Late = pick(r, "auto", "replace", "note", "note", "drop") },
		func() { o.Orphans = pick(r, "drop", "text", "adopt") },
		func() { o.Provider = pick(r, providersOf[shape]...) },
		func() { o.Duplicates = pick(r, "first", "last") },
		func() { o.Order = pick(r, "keep", "call") },
		func() { o.Invalid = pick(r, "answer", "convert") },
		func() { o.Lang = pick(r, "en", "zh") },
		func() { o.Rebind = pick(r, "off", "off", "single") },
	} {
		if r.IntN(3) == 0 {
			set()
		}
	}
	if (o.Provider == "gemini" || o.Provider == "mistral") && o.Order == "keep" {
		o.Order = ""
	}
	return o
}

// providersOf has the providers that accept a shape.
var providersOf = map[patch.Shape][]string{
	patch.OpenAI:      {"generic", "openai", "openai-chat40", "gemini", "mistral", "deepseek"},
	patch.LangChain:   {"generic", "openai", "openai-chat40", "gemini", "mistral", "anthropic", "bedrock"},
	patch.Anthropic:   {"generic", "anthropic", "bedrock"},
	patch.Responses:   {"generic", "openai", "deepseek"},
	patch.Bedrock:     {"generic", "bedrock", "anthropic"},
	patch.Gemini:      {"generic", "gemini"},
	patch.LangChainEx: {"generic", "anthropic", "mistral", "gemini"},
	patch.AIUI:        {"generic", "openai", "mistral", "anthropic", "gemini"},
	patch.AIModel:     {"generic", "openai", "mistral", "anthropic", "gemini"},
	patch.AGUI:        {"generic", "openai", "openai-chat40", "mistral", "anthropic", "gemini"},
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// event is one event of a conversation, independent of the shape.
type event struct {
	kind   string // user, system, turn, result
	text   string // text of a message or a result
	signed bool   // a turn with reasoning that has a signature
	server string // a server tool of the turn: done, open or unknown, then its id
	calls  []toolCall
	id     string // of a result
	name   string
	kindOf string // Responses: type of a call or of the call of a result, "" for function
	fake   bool   // a placeholder result
	joined bool   // part of the previous message, if the shape allows it
	inside bool   // a result in a message of the model, or between reasoning and its item
}

type toolCall struct {
	id, name, args, kindOf string
	views                  int // further LangChain views that have it
}

// writer makes up a conversation.
type writer struct {
	*rand.Rand
	shape  patch.Shape
	events []event
	later  []event // results that come later
	made   int
}

func (w *writer) one(in int) bool { return w.IntN(in) == 0 }

func (w *writer) next(what string) string {
	w.made++
	return fmt.Sprintf("%s-%d-", what, w.made)
}

func (w *writer) id() string {
	if w.one(3) {
		return pick(w.Rand, "a", "a", "b", "c", "", "fn.x:0", "123456789", strings.Repeat("long", 18))
	}
	return w.next("call")
}

func someScenario(r *rand.Rand, shape patch.Shape) []event {
	w := &writer{Rand: r, shape: shape}
	for n := 1 + r.IntN(7); n > 0; n-- {
		switch {
		case w.one(4):
			w.say()
		case w.one(8):
			w.events = append(w.events, w.result(toolCall{id: w.id(), name: "x"}))
		default:
			w.turn()
		}
		w.late()
	}
	return w.events
}

func (w *writer) say() {
	w.events = append(w.events, event{kind: pick(w.Rand, "user", "user", "user", "system"), text: w.next("text"), joined: w.one(3)})
}

// late adds some of the later results.
func (w *writer) late() {
	var still []event
	for _, e := range w.later {
		if w.one(2) {
			w.events = append(w.events, e)
		} else {
			still = append(still, e)
		}
	}
	w.later = still
}

// turn adds a turn of the assistant and the results of its calls.
func (w *writer) turn() {
	e := event{kind: "turn", signed: w.one(5), joined: w.one(2)}
	if w.one(2) {
		e.text = w.next("text")
	}
	if w.one(8) {
		e.server = pick(w.Rand, "done ", "open ", "unknown ") + w.next("srvtoolu")
	}
	for n := w.IntN(5); n > 0; n-- {
		c := toolCall{id: w.id(), name: pick(w.Rand, "x", "y", "x", "y", "x", "y", ""), args: fmt.Sprintf(`{"p":%d}`, w.IntN(2)), views: w.IntN(4)}
		if w.one(8) {
			c.args = pick(w.Rand, `{"p":`, "", "null", `"text"`)
		}
		if w.one(5) {
			c.kindOf = pick(w.Rand, "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")
		}
		e.calls = append(e.calls, c)
	}
	if len(e.calls) == 0 && e.text == "" {
		e.text = w.next("text") // without it, a following result shows that calls are missing
	}
	if len(e.calls) > 0 && w.one(12) { // a result before its call
		w.events = append(w.events, w.result(e.calls[0]))
	}
	if first := e; len(e.calls) > 1 && w.one(4) { // a turn in two messages
		first.calls = e.calls[:1]
		w.events = append(w.events, first, event{kind: "turn", text: w.next("text"), signed: w.one(5), calls: e.calls[1:]})
	} else {
		w.events = append(w.events, e)
	}
	order := w.Perm(len(e.calls))
	if w.one(2) {
		slices.Sort(order)
	}
	for _, i := range order {
		w.answer(e.calls[i])
		if w.one(12) {
			w.say()
		}
	}
}

func (w *writer) answer(c toolCall) {
	r := w.result(c)
	fake := r
	fake.fake, fake.text = true, pick(w.Rand, "aborted", "[Tool execution was interrupted]")
	switch w.IntN(12) {
	case 0: // never
	case 1:
		w.later = append(w.later, r)
	case 2:
		w.later = append(w.later, r)
		w.events = append(w.events, fake)
	case 3:
		w.events = append(w.events, r, w.result(c))
	case 4:
		w.events = append(w.events, fake, r)
	case 5:
		r.id = w.id()
		w.events = append(w.events, r)
	case 6:
		w.events = append(w.events, fake)
	default:
		w.events = append(w.events, r)
	}
}

func (w *writer) result(c toolCall) event {
	e := event{kind: "result", id: c.id, name: c.name, text: w.next("real"), kindOf: c.kindOf, joined: w.one(2)}
	if w.one(3) {
		e.name = ""
	}
	if w.one(12) {
		e.kindOf = pick(w.Rand, "", "custom_tool_call", "apply_patch_call")
	}
	e.inside = w.one(8)
	return e
}
