package chunks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var wide = Limits{Calls: 1000, ArgsBytes: 4 << 20, NameBytes: 1 << 10}

// plain is an Assembler that keeps nothing with its calls.
type plain = Assembler[struct{}]

// assembled returns the calls of a message as "index id name args", each followed
// by a semicolon.
func assembled(m *plain) string {
	var b strings.Builder
	for i := range m.Calls {
		c := &m.Calls[i]
		fmt.Fprintf(&b, "%s %s %s %s;", c.Index, c.ID, c.Name, c.Text)
	}
	return b.String()
}

// TestAssemblerRules checks which fragments belong to one call. Each rule is
// named after the property of real streams that requires it.
func TestAssemblerRules(t *testing.T) {
	type f = Chunk
	for _, c := range []struct {
		rule string
		in   []Chunk
		want string
	}{
		{"R1: blank and the word null are no id and no name", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{`}, {Index: "0", ID: " ", Name: "", Args: `}`}, {Index: "0", ID: "null", Name: "null"},
		}, `0 a f {};`},
		{"R2: a known index means its call", []f{
			{Index: "0", ID: "a", Name: "f"}, {Index: "1", ID: "b", Name: "g"}, {Index: "0", Args: `[`}, {Index: "1", Args: `{`}, {Index: "0", Args: `]`}, {Index: "1", Args: `}`},
		}, `0 a f [];1 b g {};`},
		{"R2: a fragment without an index belongs to the latest call", []f{
			{ID: "a", Name: "f", Args: `{`}, {Args: `}`}, {ID: "b", Name: "g", Args: `{`}, {Args: `}`},
		}, ` a f {}; b g {};`},
		{"R2: an index is a key, not a position", []f{
			{Index: "2147483647", ID: "a", Name: "f", Args: `{}`}, {Index: `"lc_1"`, ID: "b", Name: "g", Args: `{}`},
		}, `2147483647 a f {};"lc_1" b g {};`},
		{"R3: another id and a name on the same index", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"x":`}, {Index: "0", ID: "b", Name: "f", Args: `{}`},
		}, `0 a f {"x":;0 b f {};`},
		{"R3: another id alone, after whole args", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{}`}, {Index: "0", ID: "b", Args: `{"y":1}`},
		}, `0 a f {};0 b  {"y":1};`},
		{"R3: another id alone in the middle of the args is the same call", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"x`}, {Index: "0", ID: "b", Args: `":1}`},
		}, `0 a f {"x":1};`},
		{"R3: the same name without ids, once a value is whole and another begins", []f{
			{Index: "0", Name: "f", Args: `{"x":1}`}, {Index: "0", Name: "f", Args: `{"x":2}`},
		}, `0  f {"x":1};0  f {"x":2};`},
		{"R3: an id of the message means its call", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{`}, {Index: "0", ID: "b", Name: "g", Args: `[`}, {Index: "0", ID: "a", Args: `}`}, {Index: "0", ID: "b", Args: `]`},
		}, `0 a f {};0 b g [];`},
		{"R3: the same id and a name on another index, after whole args", []f{
			{Index: "0", ID: "f", Name: "f", Args: `{"x":1}`}, {Index: "1", ID: "f", Name: "f"}, {Index: "1", Args: `{"x":`}, {Index: "1", ID: "f", Args: `2}`},
		}, `0 f f {"x":1};1 f f {"x":2};`},
		{"R3: the same id and a name on another index, while the args are incomplete", []f{
			{Index: "0", ID: "f", Name: "f", Args: `{"x"`}, {Index: "1", ID: "f", Name: "f", Args: `:1}`},
		}, `0 f f {"x":1};`},
		{"R3: the same id and a name, once a value is whole and another begins", []f{
			{ID: "f", Name: "f", Args: `{"x":1}`}, {ID: "f", Name: "f", Args: `{"x":`}, {ID: "f", Args: `2}`},
		}, ` f f {"x":1}; f f {"x":2};`},
		{"R3: the same id, name and args in the same place are a repeat", []f{
			{Index: "0", ID: "f", Name: "f", Args: `{"x":1}`}, {Index: "0", ID: "f", Name: "f", Args: `{"x": 1}`}, {Index: "0", ID: "f", Name: "f"},
		}, `0 f f {"x":1};`},
		{"R3: the same id on an index that has a call of it", []f{
			{Index: "0", ID: "f", Name: "f", Args: `{}`}, {Index: "1", ID: "f", Name: "f", Args: `{}`}, {Index: "0", ID: "f", Args: `{"x":`}, {Index: "1", ID: "f", Args: `{"y":`}, {Index: "0", ID: "f", Args: `1}`}, {Index: "1", ID: "f", Args: `2}`},
		}, `0 f f {"x":1};1 f f {"y":2};`},
		{"R3: whole parts with the same id", []f{
			{ID: "f", Name: "f", Args: `{"x":1}`, Object: true, Opens: true}, {ID: "f", Name: "f", Args: `{"x":1}`, Object: true, Opens: true},
		}, ` f f {"x":1}; f f {"x":1};`},
		{"R4: an index that drifts in the middle of the args", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"x":`}, {Index: "1", Args: `1`}, {Index: "2", Args: `}`},
		}, `0 a f {"x":1};`},
		{"R5: id and name come late", []f{
			{Index: "0", Args: `{`}, {Index: "0", ID: "a"}, {Index: "0", Name: "f", Args: `}`},
		}, `0 a f {};`},
		{"R5: a name in pieces, before the args", []f{
			{Index: "0", ID: "a", Name: "get_"}, {Index: "0", Name: "weather"}, {Index: "0", Args: `{}`},
		}, `0 a get_weather {};`},
		{"R5: a name again is a repeat, and a longer one of the same beginning too", []f{
			{Index: "0", ID: "a", Name: "get"}, {Index: "0", Name: "get"}, {Index: "0", Name: "get_it"}, {Index: "0", Name: "get_it", Args: `{}`},
		}, `0 a get_it {};`},
		{"R6: no id at all", []f{{Index: "0", Name: "f", Args: `{`}, {Index: "0", Args: `}`}}, `0  f {};`},
		{"R9: equal pieces are not repeats", []f{
			{Index: "0", ID: "a", Name: "f", Args: `["a`}, {Index: "0", Args: `a`}, {Index: "0", Args: `a"]`},
		}, `0 a f ["aaa"];`},
		{"R10: an object replaces text", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"x"`}, {Index: "0", Args: `{"x":1}`, Object: true},
		}, `0 a f {"x":1};`},
		{"R11: a bare {} before the args", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{}`}, {Index: "0", Args: `{"x":`}, {Index: "0", Args: `1}`},
		}, `0 a f {"x":1};`},
		{"R12: the whole text so far again, and more", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"x`}, {Index: "0", Args: `{"x":1`}, {Index: "0", Args: `{"x":1}`},
		}, `0 a f {"x":1};`},
		{"R12: a key that begins with a brace is no resend", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"`}, {Index: "0", Args: `{": 1}`},
		}, `0 a f {"{": 1};`},
		{"R12: a blank and such a key are no resend, nor is a key cut after its brace", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{ "`}, {Index: "0", Args: `{ "`}, {Index: "0", Args: `:1}`},
		}, `0 a f { "{ ":1};`},
		{"R17: a surrogate pair cut in two", []f{
			{Index: "0", ID: "a", Name: "f", Args: "\"\xED\xA0\xBD"}, {Index: "0", Args: "\xED\xB8\x80\""},
		}, "0 a f \"\U0001F600\";"},
		{"a full message confirms what was streamed", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"x": 1}`}, {ID: "a", Name: "f", Args: `{"x":1}`, Object: true, Whole: true},
		}, `0 a f {"x": 1};`},
		{"a weak object counts where no text comes", []f{
			{Index: "0", ID: "a", Name: "f", Args: `{"x":1}`, Object: true, Weak: true}, {Index: "1", ID: "b", Name: "f", Args: `{"y":1}`, Object: true, Weak: true}, {Index: "1", Args: `{}`},
		}, `0 a f {"x":1};1 b f {};`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.rule), func(t *testing.T) {
			var m plain
			for i := range c.in {
				if _, _, err := m.Add(&c.in[i], wide); err != nil {
					t.Errorf("%s: fragment %d: %v", c.rule, i, err)
				}
			}
			for i := range m.Calls {
				m.Calls[i].Seal()
			}
			if got := assembled(&m); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.rule, got, c.want)
			}
		})
	}
}

// TestAssemblerLimits checks that what exceeds a limit is refused with its error,
// that the continuation of a refused call is refused, and that the other calls
// are unaffected.
func TestAssemblerLimits(t *testing.T) {
	lim := Limits{Calls: 2, ArgsBytes: 8, NameBytes: 4}
	var m plain
	for _, c := range []struct {
		f    Chunk
		err  error
		want string
	}{
		{Chunk{Index: "0", ID: "a", Name: "f", Args: `{"x"`}, nil, `0 a f {"x";`},
		{Chunk{Index: "1", ID: "long_", Name: "g"}, ErrName, `0 a f {"x";`},
		{Chunk{Index: "1", Args: `{}`}, ErrRest, `0 a f {"x";`}, // no drift: it continues a refused call
		{Chunk{Index: "0", Args: `:1`}, nil, `0 a f {"x":1;`},
		{Chunk{Index: "2", ID: "b", Name: "g", Args: `"123456789"`}, ErrArgs, `0 a f {"x":1;`},
		{Chunk{Index: "2", ID: "b", Name: "g", Args: `12345`}, nil, `0 a f {"x":1;2 b g 12345;`},
		{Chunk{Index: "3", ID: "c", Name: "h"}, ErrCalls, `0 a f {"x":1;2 b g 12345;`},
		{Chunk{Index: "2", Args: `6789`}, ErrArgs, `0 a f {"x":1;2 b g 12345;`},
		{Chunk{Index: "2", Args: `6`}, nil, `0 a f {"x":1;2 b g 12345;`}, // nothing is added after a gap
		{Chunk{Index: "0", Args: `}`}, nil, `0 a f {"x":1};2 b g 12345;`},
		{Chunk{Index: "1", Args: `{}`}, ErrRest, `0 a f {"x":1};2 b g 12345;`}, // nor is it later
		{Chunk{ID: "c", Args: `{}`}, ErrCalls, `0 a f {"x":1};2 b g 12345;`},
	} {
		if _, _, err := m.Add(&c.f, lim); !errors.Is(err, c.err) {
			t.Errorf("%+v: error %v, want %v", c.f, err, c.err)
		}
		if got := assembled(&m); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.f, got, c.want)
		}
	}
	if args := m.Calls[0].Args(); !args.Valid || string(args.JSON) != `{"x":1}` {
		t.Errorf("the first call's args are %+v", args)
	}
	if args := m.Calls[1].Args(); args.Valid || args.Error == "" || args.JSON != nil {
		t.Errorf("args with a gap are %+v", args)
	}
	m.Calls[0].Seal()
	if _, _, err := m.Add(&Chunk{Index: "0", Args: "x"}, lim); !errors.Is(err, ErrEnd) {
		t.Errorf("bytes for a sealed call: error %v, want %v", err, ErrEnd)
	}
}

// TestArgs checks what Args makes of the text.
func TestArgs(t *testing.T) {
	for _, c := range []struct {
		rule, kind, text string
		json             string // "" where there is none
		object, double   bool
		fault            string
	}{
		{rule: "JSON is unchanged", text: ` {"a": 1.50}`, json: ` {"a": 1.50}`},
		{rule: "R13: no text", text: "", json: "{}"},
		{rule: "R13: blanks", text: " \n", json: "{}"},
		{rule: "R13: null", text: " null", json: "{}"},
		{rule: "R14: a string that holds an object", text: `"{\"a\":1}"`, json: `{"a":1}`, double: true},
		{rule: "R14: a string that holds anything else", text: `"[1]"`, json: `"[1]"`},
		{rule: "R15: bytes after the value", text: `{}x`, fault: "2"},
		{rule: "R15: no JSON", text: `{a}`, fault: "1"},
		{rule: "R16: cut off", text: `{"a":`, fault: "middle"},
		{rule: "free text", kind: "custom", text: `{{x`},
		{rule: "an object of the wire that is not JSON", object: true, text: `ls -l`, fault: "offset 0"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			call := Assembly{Rare: &Rare{Kind: c.kind}}
			if c.object {
				call.replace(c.text, true)
			} else {
				call.grow(c.text)
			}
			call.Seal()
			got := call.Args()
			if valid := c.fault == ""; got.Valid != valid || string(got.JSON) != c.json || got.DoubleEncoded != c.double || !strings.Contains(got.Error, c.fault) {
				t.Errorf("%s: %q: got %s %+v", c.rule, c.text, got.JSON, got)
			}
			if string(call.Text) != c.text {
				t.Errorf("%s: the text %q became %q", c.rule, c.text, call.Text)
			}
		})
	}
}

// FuzzAssemblerResume checks that calls that are resumed after each fragment are
// the same as those that never were.
func FuzzAssemblerResume(f *testing.F) {
	f.Add("a|b", `{"x":`, `1}`, `{}`, byte(3))
	f.Fuzz(func(t *testing.T, ids, one, two, three string, how byte) {
		id, other, _ := strings.Cut(ids, "|")
		in := []Chunk{
			{Index: "0", ID: id, Name: "f", Args: one},
			{Index: "0", Args: two, Object: how&1 == 1},
			{ID: other, Name: "f", Args: three, Whole: how&2 == 2, Object: how&4 == 4, Weak: how&8 == 8},
			{Index: "0", Args: one},
		}
		var kept, resumed plain
		for i := range in {
			_, _, err := kept.Add(&in[i], wide)
			_, _, err2 := resumed.Add(&in[i], wide)
			if !errors.Is(err2, err) || assembled(&kept) != assembled(&resumed) {
				t.Fatalf("fragment %d: kept %s %v, resumed %s %v", i, assembled(&kept), err, assembled(&resumed), err2)
			}
			for k := range resumed.Calls {
				resumed.Calls[k].Resume()
				if a, b := kept.Calls[k].Args(), resumed.Calls[k].Args(); a.Valid != b.Valid || a.Error != b.Error {
					t.Fatalf("call %d: kept %+v, resumed %+v", k, a, b)
				}
			}
		}
	})
}
