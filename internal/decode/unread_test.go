package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/decode/framing"
	"streamer/internal/decode/openai"
	"streamer/internal/decode/template"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// TestUnreadSlots checks for every delta of the streams in testdata, and of
// repeatingStreams, that no decoder reads the value of a slot which its format
// declares as unread. Such a slot gets every string and number that the source
// of the decoder has; the chunks, the state and the claim must stay the same.
func TestUnreadSlots(t *testing.T) {
	for k := range formats {
		format := &formats[k]
		if format.FindSlots == nil {
			continue
		}
		values := sourceValues(t, format)
		for i, stream := range deltaStreams(t, format.Name) {
			if i%stride > 0 {
				continue
			}
			var state State
			for _, event := range stream {
				for _, p := range readUnread(format, state.decoder(format), event, values) {
					t.Error(p)
				}
				var r Reader
				transcript(&r, &state, []byte(event), format.Name)
			}
		}
	}
}

// deltaStreams returns the recorded streams of a format and those of
// repeatingStreams, as lists of events.
func deltaStreams(t *testing.T, format string) (streams [][]string) {
	files, err := filepath.Glob(filepath.Join("testdata", format, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var events []string
		for line := range bytes.Lines(data) {
			events = append(events, string(bytes.TrimSpace(line)))
		}
		streams = append(streams, events)
	}
	for _, s := range repeatingStreams(t, format) {
		streams = append(streams, slices.Concat(s.before, []string{s.with(`"text"`, 1), s.with(`"more"`, 2)}))
	}
	return streams
}

// decoded describes everything that decoding an event results in.
func decoded(format *wire.Format, d wire.Decoder, event string) string {
	frame, problem := frameOf(framing.Event{Text: event})
	if problem != nil {
		return problem.Text
	}
	var w wire.Writer
	after, err := format.Copy(d)
	if err != nil {
		return err.Error()
	}
	problem = after.Decode(&w, frame)
	state := stored.Append(nil, &after, func(d *wire.Decoder, f *stored.Fields) { (*d).Fields(f) })
	return fmt.Sprintf("claim %d, chunks %+v, problem %+v, state %q", format.Claims(frame), w.Chunks(), problem, state)
}

// readUnread returns a text for each slot of an event which the format declares
// as unread, or as a copy of the args, and whose value changes what the event is
// decoded to.
func readUnread(format *wire.Format, d wire.Decoder, event string, values []string) (problems []string) {
	want := decoded(format, d, event)
	for _, slot := range slotsOf(format, d, event) {
		if slot.Slot != wire.Unread && slot.Slot != wire.ArgsCopy {
			continue
		}
		for _, v := range values {
			if slot.Number && wire.DigitsEnd(v, 0) != len(v) {
				continue
			}
			changed := event[:slot.From] + v + event[slot.To:]
			if got := decoded(format, d, changed); got != want {
				problems = append(problems, fmt.Sprintf("%s reads an unread slot\nevent %s\nother %s\n got %s\nwant %s", format.Name, event, changed, got, want))
				break
			}
		}
	}
	return problems
}

// slotsOf returns the slots of an event that a template can be made of.
func slotsOf(format *wire.Format, d wire.Decoder, event string) []wire.FoundSlot {
	frame, problem := frameOf(framing.Event{Text: event})
	if problem != nil || !frame.JSON.IsNested() {
		return nil
	}
	var w wire.Writer
	d, err := format.Copy(d)
	if err != nil {
		return nil
	}
	if d.Decode(&w, frame); template.Main(w.Since(0)) < 0 {
		return nil
	}
	finder := new(wire.SlotFinder)
	finder.Reset(event)
	at, ok := framePlace(finder, wire.Place{Value: jsonscan.ValueOf(event)}, frame)
	if !ok {
		return nil
	}
	if _, ok := format.FindSlots(finder, frame, at); !ok {
		return nil
	}
	slots, complete := finder.Found()
	if !complete {
		return nil
	}
	return slots
}

// sourceValues returns the inside of JSON strings: every string and number in
// the source of a format's package and of package wire, and some others.
func sourceValues(t *testing.T, format *wire.Format) []string {
	t.Helper()
	_, dir, _ := strings.Cut(reflect.TypeOf(format.New()).Elem().PkgPath(), "internal/decode")
	values := []string{"", "x", "0", "1", "2", "1700000000", "18446744073709551616"}
	for _, pattern := range []string{filepath.Join(".", dir, "*.go"), "wire/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s: %v", pattern, err)
		}
		for _, file := range files {
			values = append(values, literals(t, file)...)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// literals returns the string and integer literals of a Go file.
func literals(t *testing.T, file string) (list []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok {
			return true
		}
		switch lit.Kind {
		case token.INT:
			list = append(list, lit.Value)
		case token.STRING:
			text, _ := strconv.Unquote(lit.Value)
			quoted, _ := json.Marshal(text)
			list = append(list, string(quoted[1:len(quoted)-1]))
		}
		return true
	})
	return list
}

// TestUnreadSlotsReport checks that TestUnreadSlots fails for a decoder which
// reads a slot that its format declares as unread.
func TestUnreadSlotsReport(t *testing.T) {
	const event = `{"id":"c","created":3,"choices":[{"delta":{"content":"x"}}],"obfuscation":"abc"}`
	obfuscation := func(f wire.Frame) string { return f.JSON.Member("obfuscation").Str }
	for name, format := range map[string]wire.Format{
		"copies":  peeking(obfuscation, nil),
		"word":    peeking(func(f wire.Frame) string { return strconv.FormatBool(obfuscation(f) == "never") }, nil),
		"prefix":  peeking(func(f wire.Frame) string { return strconv.FormatBool(strings.HasPrefix(obfuscation(f), "no-")) }, nil),
		"number":  peeking(func(f wire.Frame) string { return strconv.FormatBool(f.JSON.Member("created").Int() == 4711) }, nil),
		"claims":  peeking(nil, func(f wire.Frame) bool { return obfuscation(f) != "other" }),
		"nothing": peeking(nil, nil),
	} {
		t.Run(name, func(t *testing.T) {
			problems := readUnread(&format, format.New(), event, sourceValues(t, &format))
			if want := name != "nothing"; (len(problems) > 0) != want {
				t.Errorf("%s: %d problems, want some: %v", name, len(problems), want)
			}
		})
	}
}

// peeking returns the format openai-chat with a decoder or claim that reads more
// members.
func peeking(read func(wire.Frame) string, claim func(wire.Frame) bool) wire.Format {
	format := openai.Chat()
	chat := openai.Chat()
	format.New = func() wire.Decoder { return &peekingDecoder{chat.New(), read} }
	format.Claims = func(f wire.Frame) wire.Claim {
		if claim != nil && !claim(f) {
			return wire.No
		}
		return chat.Claims(f)
	}
	return format
}

type peekingDecoder struct {
	wire.Decoder
	read func(wire.Frame) string
}

func (d *peekingDecoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	problem := d.Decoder.Decode(w, f)
	if d.read != nil {
		w.Since(0)[0].Reason = d.read(f)
	}
	return problem
}
