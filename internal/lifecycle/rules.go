package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// FoldVersion is the newest version of the fold that this program knows. When inputs
// that are stored already would cause other events than before, it is raised by 1. A
// predicate of Rules names the difference, as r.Version >= 2, and inputs under rules of
// an older version keep their events. A program stops where the rules of a newer version
// are in force. The version of rules without one is 1.
const FoldVersion = 1

// Rules are the settings of the fold. They are inputs themselves, so that a log
// that is folded under the rules in force at each input has the same events
// everywhere. Durations are in milliseconds in JSON.
type Rules struct {
	Version int `json:"version"`

	ArgsTimeout   Millis     `json:"args_timeout"`   // maximum silence of a call's args
	ResultTimeout Millis     `json:"result_timeout"` // from complete args, or the last progress, to the result
	WaitTimeout   Millis     `json:"wait_timeout"`   // of a call that waits for a person; 0: until it expires
	RunIdle       Millis     `json:"run_idle"`       // maximum silence of a run without a running call
	Expire        Millis     `json:"expire"`         // from a call's start; event retention less a margin
	Forget        Millis     `json:"forget"`         // from a session's last input, without an open item
	Tools         []ToolRule `json:"tools,omitempty"`

	Deltas Deltas `json:"deltas"` // tool_call_args_delta: coalesced, every, off
	Texts  Deltas `json:"texts"`  // agent_response_chunk: likewise
	// DeltaEvery is the least fold time between two events about the text of a call or
	// a part, at its beginning. The interval grows by DeltaEvery with each 2 KiB of
	// text, up to DeltaEveryMax.
	DeltaEvery    Millis `json:"delta_every"`
	DeltaEveryMax Millis `json:"delta_every_max"`
	DeltaBytes    int    `json:"delta_bytes"` // amount of held text that is emitted at once
	FlushAfter    Millis `json:"flush_after"` // silence after which held text is emitted

	Lang      string                 `json:"lang"`                // en, zh
	Templates map[events.Text]string `json:"templates,omitempty"` // instead of the built-in sentences

	MaxArgs      int `json:"max_args"`       // bytes per call
	MaxOpen      int `json:"max_open"`       // open calls, and open messages, per session
	MaxCalls     int `json:"max_calls"`      // per message
	MaxName      int `json:"max_name"`       // bytes of an id or a name
	MaxOrphans   int `json:"max_orphans"`    // remembered per session
	MaxClosed    int `json:"max_closed"`     // closed calls, and message ids, remembered per session
	MaxEventText int `json:"max_event_text"` // bytes of text in one event
}

// ToolRule sets deadlines and the template of the tools whose names match a
// pattern. The first rule that matches a tool applies.
type ToolRule struct {
	Pattern       string `json:"pattern"` // *, ?, [a-z] as in path.Match, but a slash has no special meaning
	ArgsTimeout   Millis `json:"args_timeout,omitempty"`
	ResultTimeout Millis `json:"result_timeout,omitempty"`
	Template      string `json:"template,omitempty"`
}

// Deltas is the way in which growing text is emitted.
type Deltas string

// The ways.
const (
	Coalesced Deltas = "coalesced"
	Every     Deltas = "every"
	Off       Deltas = "off"
)

// Millis is a duration in whole milliseconds.
type Millis int64

// Std returns the duration.
func (m Millis) Std() time.Duration { return time.Duration(m) * time.Millisecond }

// Of returns a duration in whole milliseconds.
func Of(d time.Duration) Millis { return Millis(d.Milliseconds()) }

// window returns the least fold time between two events about a text, after sent
// bytes of it were emitted. Every event makes clients render, and some of them parse,
// the whole text again, and the reader of a long text does not follow each word.
func (r *Rules) window(sent int) events.Time {
	const step, steps = 2 << 10, 1000 // so many steps cannot overflow
	grown := r.DeltaEvery * Millis(1+min(sent/step, steps))
	return events.Time(max(r.DeltaEvery, min(grown, r.DeltaEveryMax)))
}

// DefaultRules are the default settings, and the rules before the first rules input.
// They never change: the defaults of a later version get a function of their own.
func DefaultRules() Rules {
	return Rules{
		Version:       1,
		ArgsTimeout:   Of(2 * time.Minute),
		ResultTimeout: Of(10 * time.Minute),
		RunIdle:       Of(30 * time.Minute),
		Expire:        Of(23 * time.Hour),
		Forget:        Of(24 * time.Hour),
		Deltas:        Coalesced,
		Texts:         Coalesced,
		DeltaEvery:    50,
		DeltaEveryMax: 250,
		DeltaBytes:    4 << 10,
		FlushAfter:    250,
		Lang:          events.Langs[0],
		MaxArgs:       4 << 20,
		MaxOpen:       1000,
		MaxCalls:      1000,
		MaxName:       1 << 10,
		MaxOrphans:    100,
		MaxClosed:     10_000,
		MaxEventText:  32 << 10,
	}
}

// maxRule bounds every number of the rules, 68 years in milliseconds. No sum of
// them overflows, and RFC 3339 can represent every deadline.
const maxRule = math.MaxInt32 * 1000

// Check returns an error that names each field that is wrong, by its JSON name.
func (r *Rules) Check() error {
	var errs []error
	positive := func(name string, v int64) {
		switch {
		case v <= 0:
			errs = append(errs, fmt.Errorf("lifecycle: rules: %s is %d, it must be positive", name, v))
		case v > maxRule:
			errs = append(errs, fmt.Errorf("lifecycle: rules: %s is %d, it must not be above %d", name, v, int64(maxRule)))
		}
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"args_timeout", int64(r.ArgsTimeout)},
		{"result_timeout", int64(r.ResultTimeout)},
		{"run_idle", int64(r.RunIdle)},
		{"expire", int64(r.Expire)},
		{"forget", int64(r.Forget)},
		{"delta_every", int64(r.DeltaEvery)},
		{"delta_bytes", int64(r.DeltaBytes)},
		{"flush_after", int64(r.FlushAfter)},
		{"max_args", int64(r.MaxArgs)},
		{"max_open", int64(r.MaxOpen)},
		{"max_calls", int64(r.MaxCalls)},
		{"max_name", int64(r.MaxName)},
		{"max_orphans", int64(r.MaxOrphans)},
		{"max_closed", int64(r.MaxClosed)},
	} {
		positive(f.name, f.value)
	}
	if r.MaxEventText < 64 {
		errs = append(errs, fmt.Errorf("lifecycle: rules: max_event_text is %d, it must be at least 64", r.MaxEventText))
	}
	orNone := func(name string, v Millis) {
		if v != 0 {
			positive(name, int64(v))
		}
	}
	orNone("wait_timeout", r.WaitTimeout)
	orNone("delta_every_max", r.DeltaEveryMax)
	for _, way := range []struct {
		name string
		is   Deltas
	}{{"deltas", r.Deltas}, {"texts", r.Texts}} {
		if way.is != Coalesced && way.is != Every && way.is != Off {
			errs = append(errs, fmt.Errorf("lifecycle: rules: %s is %q, it must be coalesced, every or off", way.name, way.is))
		}
	}
	if r.Lang != "en" && r.Lang != "zh" {
		errs = append(errs, fmt.Errorf("lifecycle: rules: lang is %q, it must be en or zh", r.Lang))
	}
	for _, t := range r.Tools {
		if _, err := path.Match(t.Pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("lifecycle: rules: tool pattern %q: %w", t.Pattern, err))
		}
		orNone("args_timeout of tool "+t.Pattern, t.ArgsTimeout)
		orNone("result_timeout of tool "+t.Pattern, t.ResultTimeout)
		errs = append(errs, r.checkTemplate("of tool "+t.Pattern, t.Template))
	}
	for _, text := range slices.Sorted(maps.Keys(r.Templates)) {
		errs = append(errs, r.checkTemplate(string(text), r.Templates[text]))
	}
	return errors.Join(errs...)
}

// checkTemplate returns an error where a name or id can make the text of a
// template longer than an event may be.
func (r *Rules) checkTemplate(what, template string) error {
	places := strings.Count(template, "{name}") + strings.Count(template, "{id}")
	if n := len(template) + places*max(0, r.MaxName); n > r.MaxEventText {
		return fmt.Errorf("lifecycle: rules: template %s may grow to %d bytes, which is more than max_event_text, %d", what, n, r.MaxEventText)
	}
	return nil
}

func (r *Rules) limits() chunks.Limits {
	return chunks.Limits{Calls: r.MaxCalls, ArgsBytes: r.MaxArgs, NameBytes: r.MaxName}
}

func (r *Rules) tool(name string) ToolRule {
	for i := range r.Tools {
		if own := &r.Tools[i]; own.matches(name) {
			return ToolRule{
				ArgsTimeout:   cmp.Or(own.ArgsTimeout, r.ArgsTimeout),
				ResultTimeout: cmp.Or(own.ResultTimeout, r.ResultTimeout),
				Template:      own.Template,
			}
		}
	}
	return ToolRule{ArgsTimeout: r.ArgsTimeout, ResultTimeout: r.ResultTimeout}
}

// matches reports whether the rule applies to a tool. Names of tools are not
// paths: a star also matches those of MCP, server/tool.
func (t *ToolRule) matches(name string) bool {
	const slash = "\x00" // no name has it
	ok, err := path.Match(strings.ReplaceAll(t.Pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
	return err == nil && ok
}

func (r *Rules) sentence(text events.Text, name, id string) string {
	template := cmp.Or(r.tool(name).Template, r.Templates[text], events.Sentence(text, r.Lang))
	return events.Fill(template, name, id)
}
