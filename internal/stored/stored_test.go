package stored_test

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"streamer/internal/events"
	"streamer/internal/stored"
	"streamer/internal/stored/storedtest"
)

// part has a field of each type.
type part struct {
	Text   string      `json:"text,omitempty"`
	Texts  []string    `json:"texts,omitempty"`
	Bytes  []byte      `json:"bytes,omitempty"`
	Flag   bool        `json:"flag,omitempty"`
	Int    int         `json:"int,omitempty"`
	Small  uint8       `json:"small,omitempty"`
	Rune   rune        `json:"rune,omitempty"`
	Big    uint64      `json:"big,omitempty"`
	Ints   []int       `json:"ints,omitempty"`
	At     events.Time `json:"at,omitempty"`
	Inside inside      `json:"inside,omitzero"`
	Maybe  *inside     `json:"maybe,omitempty"`
	List   []inside    `json:"list,omitempty"`
}

type inside struct {
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
}

func (p *part) fields(f *stored.Fields) {
	f.Text("text", &p.Text)
	f.Texts("texts", &p.Texts)
	f.Bytes("bytes", &p.Bytes)
	f.Flag("flag", &p.Flag)
	stored.Number(f, "int", &p.Int)
	stored.Number(f, "small", &p.Small)
	stored.Number(f, "rune", &p.Rune)
	stored.Number(f, "big", &p.Big)
	stored.Numbers(f, "ints", &p.Ints)
	f.Time("at", &p.At)
	stored.Object(f, "inside", &p.Inside, (*inside).fields)
	stored.Pointer(f, "maybe", &p.Maybe, (*inside).fields)
	stored.List(f, "list", &p.List, (*inside).fields)
}

func (i *inside) fields(f *stored.Fields) {
	f.Text("text", &i.Text)
	stored.Number(f, "n", &i.N)
}

func TestValues(t *testing.T) {
	storedtest.Each(func(p *part) { storedtest.Check(t, p, (*part).fields) })
	for _, p := range []part{
		{},
		{Texts: []string{}, Maybe: new(inside)},
		{Texts: []string{"", "a", strings.Repeat("long ", 100), "\u2028\\\x00é"}, Ints: []int{0, -1, 1 << 40}},
		{Int: -1 << 63, Small: 255, Rune: -1 << 31, Big: 1<<64 - 1},
		{Int: 1<<63 - 1, Rune: 1<<31 - 1, At: -1},
		{List: []inside{{}, {Text: "a"}, {N: 1}}, Inside: inside{N: 1}},
	} {
		storedtest.Check(t, &p, (*part).fields)
	}
}

// TestLoadValues checks texts that Append does not write, and that encoding/json loads.
func TestLoadValues(t *testing.T) {
	for _, text := range []string{
		`null`,
		`{"text":null,"texts":null,"bytes":null,"flag":null,"int":null,"ints":null,"at":null,"inside":null,"maybe":null,"list":null}`,
		`{"texts":[],"bytes":"","ints":[],"list":[],"maybe":{},"inside":{}}`,
		`{"texts":[null],"ints":[null],"list":[null,{"n":1}]}`,
		`{"inside":{"n":2,"text":"b"},"int":1,"int":2,"other":{"int":3},"text":"a\/\u0062"}`,
		`{"inside":{"n":2},"inside":{"text":"b"},"maybe":{"n":2},"maybe":{"text":"b"}}`,
		`{"maybe":{"n":2},"maybe":null,"texts":["a"],"texts":null}`,
	} {
		storedtest.Load(t, text, (*part).fields)
	}
}

// TestLoadCopies checks that strings and bytes do not share the memory of the text, nor
// each other's.
func TestLoadCopies(t *testing.T) {
	want := part{Bytes: []byte("bytes")}
	for n := range 200 {
		want.Texts = append(want.Texts, strings.Repeat(string(rune('a'+n%26)), n))
	}
	data := stored.Append(nil, &want, (*part).fields)
	got := new(part)
	if err := stored.Load(unsafe.String(unsafe.SliceData(data), len(data)), got, (*part).fields); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("loaded %+v\n  want %+v", *got, want)
	}
}

func TestLoadOutOfRange(t *testing.T) {
	for _, text := range []string{
		`{"small":256}`, `{"small":-1}`, `{"int":9223372036854775808}`, `{"int":-9223372036854775809}`,
		`{"rune":2147483648}`, `{"rune":-2147483649}`, `{"big":18446744073709551616}`, `{"big":-1}`, `{"big":-0}`, `{"ints":[1.0]}`,
	} {
		if err := stored.Load(text, new(part), (*part).fields); err == nil {
			t.Errorf("%s is loaded", text)
		}
		storedtest.Compare(t, text, (*part).fields)
	}
}
