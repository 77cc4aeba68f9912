package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"streamer/internal/events"
	"streamer/internal/lifecycle"
)

// Rules configures the settings of the fold.
type Rules struct {
	// Base are the settings that the file does not replace. Expire and Forget
	// are ignored: they follow from the retention of events.
	Base lifecycle.Rules
	// File is a JSON file of settings that replace those of Base; if "", none.
	// Its tools replace those of Base.
	File string
	// Override changes the settings after the file was read. If nil, they stay as
	// they are. It is not called without a file.
	Override func(r *lifecycle.Rules)
}

// expireMargin is how long before its start leaves the event log a call is closed.
const expireMargin = time.Hour

// Fold returns the settings of the fold for logs with these retentions.
func (c *Rules) Fold(inputAge, eventAge time.Duration) (*lifecycle.Rules, error) {
	r, err := c.read()
	if err != nil {
		return nil, err
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
		errs = append(errs, fmt.Errorf("invalid expire %s: need at most %s, because events are kept for %s", r.Expire.Std(), latest.Std(), eventAge))
	}
	if r.Forget > lifecycle.Of(eventAge) {
		errs = append(errs, fmt.Errorf("invalid forget %s: need at most %s, which is how long events are kept", r.Forget.Std(), eventAge))
	}
	if err := errors.Join(append(errs, r.Check())...); err != nil {
		return nil, err
	}
	return &r, nil
}

// read returns the settings of Base, the file and Override, without those that follow
// from the retention of the logs.
func (c *Rules) read() (r lifecycle.Rules, err error) {
	r = c.Base
	r.Expire, r.Forget = 0, 0
	if c.File == "" {
		return r, nil
	}
	if r, err = readRules(c.File, r); err != nil {
		return r, fmt.Errorf("--rules: %w", err)
	}
	if c.Override != nil {
		c.Override(&r)
	}
	return r, nil
}

// readRules reads settings from a JSON file. A setting that the file leaves out
// keeps its value in r, except that tools are the file's alone.
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
		return r, fmt.Errorf("%s: more data after the JSON object, which ends at byte %d", path, d.InputOffset())
	}
	if r.Version != 0 {
		return r, fmt.Errorf("%s: version is set by the program: remove it", path)
	}
	r.Version = lifecycle.FoldVersion
	for _, text := range slices.Sorted(maps.Keys(r.Templates)) {
		if !slices.Contains(texts(), text) {
			return r, fmt.Errorf("%s: invalid template %q: need one of %q", path, text, texts())
		}
	}
	return r, nil
}

func badRules(err error, size int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("incomplete JSON object, it ends at byte %d", size)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON at byte %d: %w", e.Offset-1, err)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field == "" {
		return fmt.Errorf("need a JSON object, not %s", e.Value)
	} else if ok {
		return fmt.Errorf("%s at byte %d cannot be %s: durations are in milliseconds, numbers are whole", e.Field, e.Offset, e.Value)
	}
	return err
}

func texts() []events.Text {
	return []events.Text{events.TextNewMessage, events.TextInterrupted, events.TextArgs, events.TextCancelled, events.TextTimeout, events.TextDenied}
}

func tooLong(r *lifecycle.Rules, inputAge time.Duration) error {
	var errs []error
	check := func(name string, d lifecycle.Millis) {
		if d.Std() > inputAge {
			errs = append(errs, fmt.Errorf("invalid %s %s: need at most %s, which is how long inputs are kept", name, d.Std(), inputAge))
		}
	}
	check("args timeout", r.ArgsTimeout)
	check("result timeout", r.ResultTimeout)
	check("run idle time", r.RunIdle)
	for _, t := range r.Tools {
		check("args timeout of tools "+t.Pattern, t.ArgsTimeout)
		check("result timeout of tools "+t.Pattern, t.ResultTimeout)
	}
	return errors.Join(errs...)
}
