package stored_test

import (
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/stored"
	"streamer/internal/stored/storedtest"
)

// part has a field of each type.
type part struct {
	Text   string      `json:"text,omitempty"`
	Texts  []string    `json:"texts,omitempty"`
	Set    []string    `json:"set,omitzero"`
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
	f.SetTexts("set", &p.Set)
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
		{Set: []string{}, Maybe: new(inside)},
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
		`{"text":null,"texts":null,"set":null,"bytes":null,"flag":null,"int":null,"ints":null,"at":null,"inside":null,"maybe":null,"list":null}`,
		`{"texts":[],"set":[],"bytes":"","ints":[],"list":[],"maybe":{},"inside":{}}`,
		`{"texts":[null],"ints":[null],"list":[null,{"n":1}]}`,
		`{"inside":{"n":2,"text":"b"},"int":1,"int":2,"other":{"int":3},"text":"a\/\u0062"}`,
		`{"inside":{"n":2},"inside":{"text":"b"},"maybe":{"n":2},"maybe":{"text":"b"}}`,
		`{"maybe":{"n":2},"maybe":null,"texts":["a"],"texts":null}`,
	} {
		storedtest.Load(t, text, (*part).fields)
	}
}

func TestLoadOutOfRange(t *testing.T) {
	for _, text := range []string{
		`{"small":256}`, `{"small":-1}`, `{"int":9223372036854775808}`, `{"int":-9223372036854775809}`,
		`{"rune":2147483648}`, `{"rune":-2147483649}`, `{"big":18446744073709551616}`, `{"big":-1}`, `{"ints":[1.0]}`,
	} {
		if err := stored.Load(text, new(part), (*part).fields); err == nil {
			t.Errorf("%s is loaded", text)
		}
		storedtest.Compare(t, text, (*part).fields)
	}
}
