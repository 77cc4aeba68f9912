package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"streamer/internal/events"
	"streamer/internal/lifecycle"
)

// expireMargin is how long before the event log forgets a call's start the
// call is closed.
const expireMargin = time.Hour

// foldRules gives the settings of the fold, for logs of these retentions: the
// defaults, over them the file, over that the flags that were given.
func (s *serveFlags) foldRules(inputAge, eventAge time.Duration) (*lifecycle.Rules, error) {
	r := s.flagRules()
	if s.rulesFile != "" {
		read, err := readRules(s.rulesFile, r)
		if err != nil {
			return nil, fmt.Errorf("--rules: %w", err)
		}
		s.override(&read, r)
		r = read
	}
	latest := lifecycle.Of(eventAge - min(expireMargin, eventAge/10))
	if r.Expire == 0 {
		r.Expire = latest
	}
	if r.Forget == 0 {
		r.Forget = lifecycle.Of(eventAge)
	}
	errs := []error{tooLong(&r, inputAge)}
	if r.Expire > latest {
		errs = append(errs, fmt.Errorf("expire is %s: events are kept for %s, so that it must be %s at the most", r.Expire.Std(), eventAge, latest.Std()))
	}
	if r.Forget > lifecycle.Of(eventAge) {
		errs = append(errs, fmt.Errorf("forget is %s, longer than events are kept (%s)", r.Forget.Std(), eventAge))
	}
	if err := errors.Join(append(errs, r.Check())...); err != nil {
		return nil, err
	}
	return &r, nil
}

// flagRules gives the settings as the flags alone have them. Expire and Forget,
// which follow from the retention, are 0.
func (s *serveFlags) flagRules() lifecycle.Rules {
	r := s.rules
	r.ArgsTimeout, r.ResultTimeout = lifecycle.Of(s.args), lifecycle.Of(s.result)
	r.WaitTimeout, r.RunIdle = lifecycle.Of(s.wait), lifecycle.Of(s.idle)
	r.Deltas, r.Texts, r.Tools = lifecycle.Deltas(s.deltas), lifecycle.Deltas(s.texts), s.tools
	r.Expire, r.Forget = 0, 0
	return r
}

// override puts the flags that were given over what the file says. Patterns of
// tools come before the file's: the first that matches holds.
func (s *serveFlags) override(r *lifecycle.Rules, flags lifecycle.Rules) {
	r.Tools = slices.Concat(flags.Tools, r.Tools)
	s.given(func(f *flag.Flag) {
		switch f.Name {
		case "args-timeout":
			r.ArgsTimeout = flags.ArgsTimeout
		case "result-timeout":
			r.ResultTimeout = flags.ResultTimeout
		case "wait-timeout":
			r.WaitTimeout = flags.WaitTimeout
		case "run-idle":
			r.RunIdle = flags.RunIdle
		case "lang":
			r.Lang = flags.Lang
		case "deltas":
			r.Deltas = flags.Deltas
		case "texts":
			r.Texts = flags.Texts
		}
	})
}

// readRules reads settings from a file of JSON; what it leaves out stands in r.
// Tools are the file's alone.
func readRules(path string, r lifecycle.Rules) (lifecycle.Rules, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	r.Version, r.Tools = 0, nil
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("%s: %w", path, badRules(err, len(data)))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("%s: there is more behind the object that ends at byte %d", path, d.InputOffset())
	}
	if r.Version != 0 {
		return r, fmt.Errorf("%s: version is the program's own and cannot be set", path)
	}
	r.Version = lifecycle.FoldVersion
	for _, text := range slices.Sorted(maps.Keys(r.Templates)) {
		if !slices.Contains(texts(), text) {
			return r, fmt.Errorf("%s: there is no text %q to give a template for: they are %q", path, text, texts())
		}
	}
	return r, nil
}

// badRules says in words why size bytes of JSON are no settings.
func badRules(err error, size int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the JSON object is not complete, it ends at byte %d", size)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON at byte %d: %w", e.Offset, err)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field == "" {
		return fmt.Errorf("a JSON object is wanted, not %s", e.Value)
	} else if ok {
		return fmt.Errorf("%s at byte %d cannot be %s: durations are in milliseconds, numbers are whole", e.Field, e.Offset, e.Value)
	}
	return err
}

// texts are the sentences that templates can replace.
func texts() []events.Text {
	return []events.Text{events.TextNewMessage, events.TextInterrupted, events.TextArgs, events.TextCancelled, events.TextTimeout, events.TextDenied}
}

// tooLong refuses deadlines that come after their inputs are gone.
func tooLong(r *lifecycle.Rules, inputAge time.Duration) error {
	var errs []error
	check := func(name string, d lifecycle.Millis) {
		if d.Std() > inputAge {
			errs = append(errs, fmt.Errorf("%s is %s, longer than inputs are kept (%s)", name, d.Std(), inputAge))
		}
	}
	check("the args timeout", r.ArgsTimeout)
	check("the result timeout", r.ResultTimeout)
	check("the run idle time", r.RunIdle)
	for _, t := range r.Tools {
		check("the args timeout of tools "+t.Pattern, t.ArgsTimeout)
		check("the result timeout of tools "+t.Pattern, t.ResultTimeout)
	}
	return errors.Join(errs...)
}
