package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"streamer/internal/events"
)

// Options say how a history is repaired. The zero value is the recommended
// repair for a provider nothing is known of. The JSON names are those of the
// wire; a choice that is empty is the first of its list in choices.
type Options struct {
	Provider string `json:"provider,omitempty"` // whose rules about ids, order and args hold besides the shape's own
	Profile  string `json:"profile,omitempty"`  // another system's repair, reproduced exactly; all but Lang is then fixed

	Dangling     string `json:"dangling,omitempty"`     // a call without a result: synthesize one, or leave it and say so
	Late         string `json:"late,omitempty"`         // a result behind another assistant turn: auto, replace, note, drop
	Orphans      string `json:"orphans,omitempty"`      // a result without a call: auto (drop, or keep where its call may be in an earlier response), drop, keep, text, adopt
	Duplicates   string `json:"duplicates,omitempty"`   // of several real results: the first or the last
	Order        string `json:"order,omitempty"`        // of a turn's results: keep, or that of the calls
	Args         string `json:"args,omitempty"`         // args that are no JSON: fix them to {}, or keep
	Invalid      string `json:"invalid,omitempty"`      // LangChain's invalid_tool_calls: answer, or convert to calls
	Names        string `json:"names,omitempty"`        // an empty name: fix it to "unknown", or keep
	IDs          string `json:"ids,omitempty"`          // ids the provider refuses: fix, or off
	Server       string `json:"server,omitempty"`       // Anthropic's server tools without a result: auto or off
	Unanswerable string `json:"unanswerable,omitempty"` // a call no text can answer (computer_call): drop or keep
	RescueEarly  *bool  `json:"rescue_early,omitempty"` // a result in front of its call is moved behind it: true
	MergeRoles   *bool  `json:"merge_roles,omitempty"`  // Anthropic: neighbours of one role become one message: false, true for bedrock
	Rebind       string `json:"rebind,omitempty"`       // one dangling call and one orphan in one gap: off, or single
	Tail         string `json:"tail,omitempty"`         // open calls of the last turn: close, or leave as in flight

	Pending []string                   `json:"pending,omitempty"` // ids of calls that are not to be closed: they run, or wait for a person
	Results map[string]json.RawMessage `json:"results,omitempty"` // the content of the result, by call id: a string, or what the shape takes as content
	Reasons map[string]string          `json:"reasons,omitempty"` // why there is no result, by call id: interrupted, args, cancelled, timeout, denied, new_message

	Lang         string   `json:"lang,omitempty"`         // en or zh
	Template     string   `json:"template,omitempty"`     // the text of a synthetic result, with the places {name} and {id}; at most 4 KiB
	Placeholders []string `json:"placeholders,omitempty"` // further texts that are no real result, with the places {name} and {id}

	Output  string `json:"output,omitempty"`  // full, ops or check
	Dropped bool   `json:"dropped,omitempty"` // put what was dropped into the report

	Log map[string][]Outcome `json:"-"` // what a session's event log knows of the calls of an id: one outcome each, oldest first

	Limits Limits `json:"-"`
}

// Limits bound what a repair takes; a zero is the default in the comment.
type Limits struct {
	Bytes    int // of the history; 64 MiB
	Messages int // 200,000
	Depth    int // of nesting, the list of messages included; 64
	Calls    int // of one turn; 10,000
}

// ErrLimit is what the error of a Repair is (errors.Is) where the history is
// beyond a limit.
var ErrLimit = errors.New("patch: beyond a limit")

// beyond is an ErrLimit in words.
type limitError string

func (b limitError) Error() string { return string(b) }

// Is makes it an ErrLimit.
func (b limitError) Is(target error) bool { return target == ErrLimit }

func overLimit(format string, args ...any) error { return limitError(fmt.Sprintf(format, args...)) }

func (l Limits) orDefaults() Limits {
	for _, d := range []struct {
		limit *int
		value int
	}{{&l.Bytes, 64 << 20}, {&l.Messages, 200_000}, {&l.Depth, 64}, {&l.Calls, 10_000}} {
		if *d.limit == 0 {
			*d.limit = d.value
		}
	}
	return l
}

// maxTemplate bounds the texts an option may bring.
const maxTemplate = 4 << 10

// choice is an option that takes one of a few words; the first is the default.
type choice struct {
	name  string
	value *string
	words []string
}

func (o *Options) choices() []choice {
	return []choice{
		{"provider", &o.Provider, Providers()},
		{"profile", &o.Profile, append([]string{""}, Profiles()...)},
		{"dangling", &o.Dangling, []string{"synthesize", "leave"}},
		{"late", &o.Late, []string{"auto", "replace", "note", "drop"}},
		{"orphans", &o.Orphans, []string{"auto", "drop", "keep", "text", "adopt"}},
		{"duplicates", &o.Duplicates, []string{"first", "last"}},
		{"order", &o.Order, []string{"keep", "call"}},
		{"args", &o.Args, []string{"fix", "keep"}},
		{"invalid", &o.Invalid, []string{"answer", "convert"}},
		{"names", &o.Names, []string{"fix", "keep"}},
		{"ids", &o.IDs, []string{"fix", "off"}},
		{"server", &o.Server, []string{"auto", "off"}},
		{"unanswerable", &o.Unanswerable, []string{"drop", "keep"}},
		{"rebind", &o.Rebind, []string{"off", "single"}},
		{"tail", &o.Tail, []string{"close", "leave"}},
		{"lang", &o.Lang, events.Langs[:]},
		{"output", &o.Output, []string{"full", "ops", "check"}},
	}
}

// Check names the first option that has no meaning.
func (o Options) Check() error {
	for _, c := range o.choices() {
		if *c.value != "" && !slices.Contains(c.words, *c.value) {
			return fmt.Errorf("patch: option %s: unknown word %q (known: %s)", c.name, *c.value, strings.TrimPrefix(wordList(c.words), ", "))
		}
	}
	if len(o.Template) > maxTemplate {
		return fmt.Errorf("patch: option template: %d bytes, more than %d", len(o.Template), maxTemplate)
	}
	for i, p := range o.Placeholders {
		if p == "" || len(p) > maxTemplate {
			return fmt.Errorf("patch: option placeholders[%d]: %d bytes, not 1 to %d", i, len(p), maxTemplate)
		}
		if strings.TrimSpace(strings.Join(compilePattern(p), "")) == "" {
			return fmt.Errorf("patch: option placeholders[%d]: nothing but places, which any result is", i)
		}
	}
	for _, id := range sortedKeys(o.Reasons) {
		if !slices.Contains(reasons(), events.Text(o.Reasons[id])) {
			return fmt.Errorf("patch: option reasons: unknown reason %q of call %q (known: %s)", o.Reasons[id], id, wordList(reasons()))
		}
	}
	for _, id := range sortedKeys(o.Results) {
		if !json.Valid(o.Results[id]) {
			return fmt.Errorf("patch: option results: the result of call %q is no JSON", id)
		}
	}
	return o.checkProfile()
}

// checkProfile names the options that a profile leaves without effect.
func (o Options) checkProfile() error {
	p, ok := profileOf(o.Profile)
	if !ok {
		return nil
	}
	var idle []string
	for _, c := range o.choices() {
		if *c.value != "" && !oneOf(c.name, "profile lang output") {
			idle = append(idle, c.name)
		}
	}
	for _, reasonGiven := range []struct {
		name string
		is   bool
	}{
		{"rescue_early", o.RescueEarly != nil},
		{"merge_roles", o.MergeRoles != nil},
		{"pending", len(o.Pending) > 0},
		{"results", len(o.Results) > 0},
		{"reasons", len(o.Reasons) > 0},
		{"template", o.Template != ""},
		{"placeholders", len(o.Placeholders) > 0},
		{"the session's log", len(o.Log) > 0},
	} {
		if reasonGiven.is {
			idle = append(idle, reasonGiven.name)
		}
	}
	switch {
	case len(idle) > 0:
		return fmt.Errorf("patch: profile %s fixes how a history is repaired; without effect beside it: %s", p.name, strings.Join(idle, ", "))
	case o.Lang != "" && !slices.Contains(p.langs, o.Lang):
		return fmt.Errorf("patch: profile %s has texts in %s only, not in %q", p.name, strings.Join(p.langs, ", "), o.Lang)
	}
	return nil
}

// reasons are the words of Options.Reasons.
func reasons() []events.Text {
	return []events.Text{events.TextInterrupted, events.TextArgs, events.TextCancelled, events.TextTimeout, events.TextDenied, events.TextNewMessage}
}

// orDefaults fills what is empty: first with what the provider wants, then
// with the first word of each list.
func (o Options) orDefaults() Options {
	p := providerOf(o.Provider)
	for _, d := range []struct{ value, want *string }{{&o.Order, &p.order}, {&o.Args, &p.args}, {&o.Invalid, &p.invalid}} {
		if *d.value == "" {
			*d.value = *d.want
		}
	}
	if o.MergeRoles == nil {
		o.MergeRoles = &p.merge
	}
	if o.RescueEarly == nil {
		yes := true
		o.RescueEarly = &yes
	}
	for _, c := range o.choices() {
		if *c.value == "" {
			*c.value = c.words[0]
		}
	}
	o.Limits = o.Limits.orDefaults()
	return o
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
