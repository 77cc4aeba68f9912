package lifecycle

import (
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

// FoldVersion is the version of the fold this program knows. It grows when the
// same inputs would give other events; rules of an older version keep their
// events. Since version 2 the bodies of control inputs are read strictly, what
// finds nothing open is reported, and so is the rest of a call that was closed.
const FoldVersion = 2

// firstVersion is the version of the rules before the first rules input.
const firstVersion = 1

// Rules are the settings the fold reads. They are inputs themselves: a log
// folded under the rules in force at each place gives the same events anywhere.
// Durations are in milliseconds in JSON. DefaultRules are in force before the
// first rules input and never change; NewRules are the settings of this program.
type Rules struct {
	Version int `json:"version"`

	ArgsTimeout   Millis     `json:"args_timeout"`   // silence of a call's args
	ResultTimeout Millis     `json:"result_timeout"` // from complete args, or the last progress, to the result
	WaitTimeout   Millis     `json:"wait_timeout"`   // of a call that waits for a person; 0 = until it expires
	RunIdle       Millis     `json:"run_idle"`       // silence of a run with nothing to wait for
	Expire        Millis     `json:"expire"`         // from a call's start; event retention less a margin
	Forget        Millis     `json:"forget"`         // from a session's last input, with nothing open
	Tools         []ToolRule `json:"tools,omitempty"`

	Deltas     Deltas `json:"deltas"`      // tool_call_args_delta: coalesced, every, off
	Texts      Deltas `json:"texts"`       // agent_response_chunk: likewise
	DeltaEvery Millis `json:"delta_every"` // of fold time, per call or part
	DeltaBytes int    `json:"delta_bytes"` // held text that is sent at once
	FlushAfter Millis `json:"flush_after"` // silence after which held text is sent

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

// ToolRule gives the tools whose names match a pattern their own deadlines and
// words. The first that matches holds.
type ToolRule struct {
	Pattern       string `json:"pattern"` // *, ?, [a-z], as of path.Match; a slash is a character like any other
	ArgsTimeout   Millis `json:"args_timeout,omitempty"`
	ResultTimeout Millis `json:"result_timeout,omitempty"`
	Template      string `json:"template,omitempty"`
}

// Deltas says how text that grows is told.
type Deltas string

// The ways.
const (
	Coalesced Deltas = "coalesced"
	Every     Deltas = "every"
	Off       Deltas = "off"
)

// Millis is a duration in whole milliseconds.
type Millis int64

// Std gives the duration.
func (m Millis) Std() time.Duration { return time.Duration(m) * time.Millisecond }

// Of gives a duration in whole milliseconds.
func Of(d time.Duration) Millis { return Millis(d.Milliseconds()) }

// NewRules returns the default settings under the newest fold version.
func NewRules() Rules {
	r := DefaultRules()
	r.Version = FoldVersion
	return r
}

// Strict reports whether control inputs are read strictly and what finds nothing
// open is reported.
func (r *Rules) Strict() bool { return r.Version >= 2 }

// DefaultRules are the rules before the first rules input.
func DefaultRules() Rules {
	return Rules{
		Version:       firstVersion,
		ArgsTimeout:   Of(2 * time.Minute),
		ResultTimeout: Of(10 * time.Minute),
		RunIdle:       Of(30 * time.Minute),
		Expire:        Of(23 * time.Hour),
		Forget:        Of(24 * time.Hour),
		Deltas:        Coalesced,
		Texts:         Coalesced,
		DeltaEvery:    50,
		DeltaBytes:    512,
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

// maxRule bounds every number of the rules, so that no sum of them overflows
// and no deadline leaves the years that RFC 3339 can spell: 68 years.
const maxRule = math.MaxInt32 * 1000

// Check says in words what is wrong with rules, field by field.
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
	positive("args_timeout", int64(r.ArgsTimeout))
	positive("result_timeout", int64(r.ResultTimeout))
	positive("run_idle", int64(r.RunIdle))
	positive("expire", int64(r.Expire))
	positive("forget", int64(r.Forget))
	positive("delta_every", int64(r.DeltaEvery))
	positive("delta_bytes", int64(r.DeltaBytes))
	positive("flush_after", int64(r.FlushAfter))
	positive("max_args", int64(r.MaxArgs))
	positive("max_open", int64(r.MaxOpen))
	positive("max_calls", int64(r.MaxCalls))
	positive("max_name", int64(r.MaxName))
	positive("max_orphans", int64(r.MaxOrphans))
	positive("max_closed", int64(r.MaxClosed))
	if r.MaxEventText < 64 {
		errs = append(errs, fmt.Errorf("lifecycle: rules: max_event_text is %d, it must be at least 64", r.MaxEventText))
	}
	orNone := func(name string, v Millis) {
		if v != 0 {
			positive(name, int64(v))
		}
	}
	orNone("wait_timeout", r.WaitTimeout)
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

// checkTemplate holds that no name or id makes a sentence longer than an event
// takes.
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

// tool gives the deadlines and the template that hold for a tool.
func (r *Rules) tool(name string) ToolRule {
	t := ToolRule{ArgsTimeout: r.ArgsTimeout, ResultTimeout: r.ResultTimeout}
	if len(r.Tools) > 0 { // for every fragment this is asked
		r.own(&t, name)
	}
	return t
}

// own takes into t what the first rule says that is of the tool.
func (r *Rules) own(t *ToolRule, name string) {
	for i := range r.Tools {
		own := &r.Tools[i]
		if !own.matches(name) {
			continue
		}
		if own.ArgsTimeout > 0 {
			t.ArgsTimeout = own.ArgsTimeout
		}
		if own.ResultTimeout > 0 {
			t.ResultTimeout = own.ResultTimeout
		}
		t.Template = own.Template
		return
	}
}

// matches tells whether the rule is for a tool. Names of tools are no paths:
// those of MCP, server/tool, are matched by a star, too.
func (t *ToolRule) matches(name string) bool {
	const plain = "\x00" // which no name has
	ok, err := path.Match(strings.ReplaceAll(t.Pattern, "/", plain), strings.ReplaceAll(name, "/", plain))
	return err == nil && ok
}

// sentence gives the words for a call that is closed for a reason.
func (r *Rules) sentence(text events.Text, name, id string) string {
	template := r.tool(name).Template
	if template == "" {
		template = r.Templates[text]
	}
	if template == "" {
		template = events.Sentence(text, r.Lang)
	}
	return events.Fill(template, name, id)
}
