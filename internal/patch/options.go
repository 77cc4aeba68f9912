package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"streamer/internal/events"
)

// Options control how a history is repaired. The zero value is the recommended
// repair for an unknown provider. The JSON names are those of the API. For an
// option that takes one of several words, "" means the first word listed in
// choices.
type Options struct {
	Provider string `json:"provider,omitempty"` // provider whose rules for ids, order and args apply in addition to the shape's
	Profile  string `json:"profile,omitempty"`  // reproduces another system's repair exactly; then only Lang, Output and Dropped may be set

	Dangling     string `json:"dangling,omitempty"`     // calls without a result: synthesize one, or leave them and report it
	Late         string `json:"late,omitempty"`         // results after a later assistant turn: auto, replace, note, drop
	Orphans      string `json:"orphans,omitempty"`      // results without a call: auto (keep if the call may be in an earlier response, else drop), drop, keep, text, adopt
	Duplicates   string `json:"duplicates,omitempty"`   // which of several real results is kept: first, last
	Order        string `json:"order,omitempty"`        // order of a turn's results: keep, or that of the calls
	Args         string `json:"args,omitempty"`         // args that are not JSON: fix (replace by {}), keep
	Invalid      string `json:"invalid,omitempty"`      // LangChain's invalid_tool_calls: answer, convert to calls
	Names        string `json:"names,omitempty"`        // empty names: fix (replace by "unknown"), keep
	IDs          string `json:"ids,omitempty"`          // ids that the provider refuses: fix, off
	Server       string `json:"server,omitempty"`       // Anthropic's server tools without a result: auto (add an error), off
	Unanswerable string `json:"unanswerable,omitempty"` // calls that text cannot answer (computer_call): drop, keep
	RescueEarly  *bool  `json:"rescue_early,omitempty"` // move a result that precedes its call; default true
	MergeRoles   *bool  `json:"merge_roles,omitempty"`  // Anthropic: merge consecutive messages of one role; default false, true for bedrock
	Rebind       string `json:"rebind,omitempty"`       // match one open call and one orphan between two turns: off, single
	Tail         string `json:"tail,omitempty"`         // open calls of the last turn: close, leave (in flight)

	Pending []string                   `json:"pending,omitempty"` // ids of calls that must stay open: they run, or wait for a person
	Results map[string]json.RawMessage `json:"results,omitempty"` // result contents by call id: a string, or the shape's own content
	Reasons map[string]string          `json:"reasons,omitempty"` // reasons for missing results by call id: interrupted, args, cancelled, timeout, denied, new_message

	Lang         string   `json:"lang,omitempty"`         // en or zh
	Template     string   `json:"template,omitempty"`     // text of synthetic results, with {name}, {id} and {args}; at most 4 KiB
	Placeholders []string `json:"placeholders,omitempty"` // further texts that mark a result as a placeholder, with {name} and {id}
	// Templates are texts in place of Template for a reason, a tool, or both: "timeout",
	// "send_mail", "send_mail:timeout". The most specific one applies.
	Templates map[string]string `json:"templates,omitempty"`

	// MaxArgs is the maximum number of bytes of a string in the args of calls before the
	// last turn; longer ones are cut. At least 100; 0 cuts nothing.
	MaxArgs int `json:"max_args,omitempty"`

	Output  string `json:"output,omitempty"`  // full, ops or check
	Dropped bool   `json:"dropped,omitempty"` // include dropped content in the report

	Log []Outcome `json:"-"` // outcomes from a session's event log, as Outcomes.Log returns them

	Limits Limits `json:"-"`
}

// Limits bound the input of a repair. A zero field means the default in its
// comment.
type Limits struct {
	Bytes    int // of the history; 64 MiB
	Messages int // 200,000
	Depth    int // levels of nesting, including the list of messages; 64
	Calls    int // calls in one turn; 10,000
}

// ErrLimit matches, with errors.Is, the error of a Repair whose input exceeds a
// limit.
var ErrLimit = errors.New("patch: limit exceeded")

type limitError string

func (e limitError) Error() string { return string(e) }

func (e limitError) Is(target error) bool { return target == ErrLimit }

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

// maxTemplate is the maximum length of a text in the options, in bytes.
const maxTemplate = 4 << 10

// choice is an option that takes one of several words. The first is the default.
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

// Check returns an error that names the first invalid option, or nil.
func (o Options) Check() error {
	for _, c := range o.choices() {
		if *c.value != "" && !slices.Contains(c.words, *c.value) {
			return fmt.Errorf("patch: option %s: unknown value %q (known: %s)", c.name, *c.value, strings.TrimPrefix(wordList(c.words), ", "))
		}
	}
	if len(o.Template) > maxTemplate {
		return fmt.Errorf("patch: option template: %d bytes, more than %d", len(o.Template), maxTemplate)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Templates)) {
		if n := len(o.Templates[key]); n == 0 || n > maxTemplate {
			return fmt.Errorf("patch: option templates[%q]: %d bytes, not 1 to %d", key, n, maxTemplate)
		}
	}
	if o.MaxArgs != 0 && o.MaxArgs < minArgs {
		return fmt.Errorf("patch: option max_args: %d bytes, fewer than %d", o.MaxArgs, minArgs)
	}
	for i, p := range o.Placeholders {
		if p == "" || len(p) > maxTemplate {
			return fmt.Errorf("patch: option placeholders[%d]: %d bytes, not 1 to %d", i, len(p), maxTemplate)
		}
		if strings.TrimSpace(strings.Join(compilePattern(p), "")) == "" {
			return fmt.Errorf("patch: option placeholders[%d]: text besides {name} and {id} is missing, so it would match any result", i)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.Reasons)) {
		if !slices.Contains(reasons(), events.Text(o.Reasons[id])) {
			return fmt.Errorf("patch: option reasons: unknown reason %q of call %q (known: %s)", o.Reasons[id], id, wordList(reasons()))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.Results)) {
		if !json.Valid(o.Results[id]) {
			return fmt.Errorf("patch: option results: the result of call %q is not JSON", id)
		}
	}
	return o.checkProfile()
}

func (o Options) checkProfile() error {
	p, ok := profileOf(o.Profile)
	if !ok {
		return nil
	}
	var unused []string
	for _, c := range o.choices() {
		if *c.value != "" && !oneOf(c.name, "profile lang output") {
			unused = append(unused, c.name)
		}
	}
	for _, other := range []struct {
		name string
		set  bool
	}{
		{"rescue_early", o.RescueEarly != nil},
		{"merge_roles", o.MergeRoles != nil},
		{"pending", len(o.Pending) > 0},
		{"results", len(o.Results) > 0},
		{"reasons", len(o.Reasons) > 0},
		{"template", o.Template != ""},
		{"placeholders", len(o.Placeholders) > 0},
		{"templates", len(o.Templates) > 0},
		{"max_args", o.MaxArgs != 0},
		{"the session's log", len(o.Log) > 0},
	} {
		if other.set {
			unused = append(unused, other.name)
		}
	}
	switch {
	case len(unused) > 0:
		return fmt.Errorf("patch: profile %s fixes how a history is repaired; without effect beside it: %s", p.Name, strings.Join(unused, ", "))
	case o.Lang != "" && !slices.Contains(p.Langs, o.Lang):
		return fmt.Errorf("patch: profile %s has texts in %s only, not in %q", p.Name, strings.Join(p.Langs, ", "), o.Lang)
	}
	return nil
}

func reasons() []events.Text {
	return []events.Text{events.TextInterrupted, events.TextArgs, events.TextCancelled, events.TextTimeout, events.TextDenied, events.TextNewMessage}
}

// orDefaults returns the options with the defaults of the provider and then the
// general defaults in place of empty fields.
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
