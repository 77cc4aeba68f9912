package stored_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"streamer/internal/stored"
)

// part has a field of each type.
type part struct {
	Text   string
	Texts  []string
	Bytes  []byte
	Flag   bool
	Int    int
	Small  uint8
	Rune   rune
	Big    uint64
	Ints   []int
	Inside inside
	Maybe  *inside
	List   []inside
}

type inside struct {
	Text string
	N    int
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
	stored.Object(f, "inside", &p.Inside, (*inside).fields)
	stored.Pointer(f, "maybe", &p.Maybe, (*inside).fields)
	stored.List(f, "list", &p.List, (*inside).fields)
}

func (i *inside) fields(f *stored.Fields) {
	f.Text("text", &i.Text)
	stored.Number(f, "n", &i.N)
}

func form(p *part) []byte { return stored.Append(nil, p, (*part).fields) }

func load(data string) (p part, err error) { return p, stored.Load([]byte(data), &p, (*part).fields) }

// full has every field.
var full = part{
	Text: "é\x00\xff", Texts: []string{"", "a"}, Bytes: []byte{0, 255}, Flag: true,
	Int: -1, Small: 255, Rune: 'x', Big: 1<<64 - 1, Ints: []int{0, -300},
	Inside: inside{Text: "b"}, Maybe: &inside{N: 2}, List: []inside{{}, {"c", 3}},
}

// fullForm is the form of full, which all later versions must read.
const fullForm = "\x01" +
	"\x64text\x04é\x00\xff" + "\xa5texts\x02\x60\x00\x60\x01a" + "\x65bytes\x02\x00\xff" + "\xc4flag" +
	"\x43int\x01" + "\x25small\xff\x01" + "\x24rune\x78" + "\x23big\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + "\xa4ints\x02\x20\x00\x40\xac\x02" +
	"\x86inside\x64text\x01b\x00" + "\x85maybe\x21n\x02\x00" + "\xa4list\x02\x80\x00\x80\x64text\x01c\x21n\x03\x00" + "\x00"

func TestForm(t *testing.T) {
	if got := form(&full); string(got) != fullForm {
		t.Errorf("got  %q\nwant %q", got, fullForm)
	}
	if got, err := load(fullForm); err != nil || !reflect.DeepEqual(got, full) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, full)
	}
	if got := form(new(part)); string(got) != "\x01\x00" {
		t.Errorf("the zero value is %q", got)
	}
}

func TestValues(t *testing.T) {
	for _, want := range []part{
		{},
		{Maybe: new(inside)},
		{Texts: []string{strings.Repeat("long ", 1000), "\u2028\\\""}, Bytes: bytes.Repeat([]byte{7}, 1<<17)},
		{Int: -1 << 63, Rune: -1 << 31},
		{Int: 1<<63 - 1, Rune: 1<<31 - 1},
		{List: make([]inside, 1000), Ints: make([]int, 1000)},
	} {
		t.Run(want.Text, func(t *testing.T) {
			if got, err := load(string(form(&want))); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

// TestOtherFields checks that fields may be unknown, in any order and repeated.
func TestOtherFields(t *testing.T) {
	const unknown = "\x83new" + "\x21a\x05" + "\x41a\x05" + "\x61a\x02\x00\x00" + "\xc1a" + "\x81a\x81b\x00\x00" + "\xa1a\x03\x20\x05\x80\x21a\x05\x00\xa0\x00" + "\x00"
	for form, want := range map[string]part{
		"\x01" + unknown + "\xc4flag" + unknown + "\x64text\x01a" + unknown + "\x00": {Text: "a", Flag: true},
		"\x01\xa4list\x01\x80" + unknown + "\x21n\x01" + unknown + "\x00\x00":        {List: []inside{{N: 1}}},
		"\x01\xc4flag\x64text\x01a\x64text\x01b\x00":                                 {Text: "b", Flag: true},
		"\x01\x86inside\x21n\x01\x00\x86inside\x64text\x01a\x00\x00":                 {Inside: inside{"a", 1}},
		"\x01\x85maybe\x21n\x01\x00\x85maybe\x64text\x01a\x00\x00":                   {Maybe: &inside{"a", 1}},
	} {
		t.Run(fmt.Sprintf("%.60s", form), func(t *testing.T) {
			if got, err := load(form); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q\nis loaded as %+v, %v\n want %+v", form, got, err, want)
			}
		})
	}
}

func TestDamaged(t *testing.T) {
	for form, want := range map[string]string{
		"":                      "nothing where the stored form is expected at offset 0",
		"\x01":                  "the end where a field or an element is expected at offset 1",
		"\x01\x00more":          "4 bytes where nothing more is expected at offset 2",
		"\x01\x64te":            "a name of 4 bytes where 2 are left at offset 1",
		"\x01\x04text":          "byte 0x04 where a field or an element is expected at offset 1",
		"\x01\xe4text":          "byte 0xe4 where a field or an element is expected at offset 1",
		"\x01\x60":              "byte 0x60 where a field or an element is expected at offset 1",
		"\x01\x64text\x02a":     "text: a length of 2 where 1 bytes are left at offset 6",
		"\x01\x64text":          "text: no number of at most 64 bits at offset 6",
		"\x01\xc4text":          "text: a flag where a text is expected at offset 6",
		"\x01\x24flag\x01":      "flag: a number where a flag is expected at offset 6",
		"\x01\x25small\x80\x02": "small: a number that is too large at offset 7",
		"\x01\x45small\x01":     "small: a number that is too large at offset 7",
		"\x01\x23int\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01": "int: a number that is too large at offset 5",
		"\x01\x43int\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01": "int: a number that is too large at offset 5",
		"\x01\x24rune\x80\x80\x80\x80\x08":                    "rune: a number that is too large at offset 6",
		"\x01\x43big\x01":                                     "big: a number that is too large at offset 5",
		"\x01\x23big\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02": "big: no number of at most 64 bits at offset 5",
		"\x01\xa4ints\xff\xff\x03":                            "ints: a length of 65535 where 0 bytes are left at offset 6",
		"\x01\xa4ints\x02\x20\x01\x60\x00\x00":                "ints: a text where a number is expected at offset 10",
		"\x01\xa4ints\x02\x20\x01\x00":                        "ints: byte 0x00 where a field or an element is expected at offset 9",
		"\x01\xa4list\x01\x81a\x00\x00":                       "list: byte 0x81 where a field or an element is expected at offset 7",
		"\x01\xa4list\x01\x80\x21n\x20\x23":                   "list: a name of 3 bytes where 0 are left at offset 11",
		"\x01\xa4list\x01\x80\x61n\x00":                       "list.n: a text where a number is expected at offset 10",
		"\x01\x86inside\x61n\x00":                             "inside.n: a text where a number is expected at offset 10",
		"\x01\x83new\x61n\x05":                                "new: a length of 5 where 0 bytes are left at offset 7",
		"\x01" + strings.Repeat("\x81a", 100):                 "a: a value more than 64 deep at offset 133",
	} {
		t.Run(form, func(t *testing.T) {
			if _, err := load(form); err == nil || err.Error() != want {
				t.Errorf("%q: error %v, want %s", form, err, want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	for _, form := range []string{"\x00\x00", "\x02\x00", `{"text":""}`} {
		if _, err := load(form); !errors.Is(err, stored.ErrVersion) {
			t.Errorf("%q: got %v, want %v", form, err, stored.ErrVersion)
		}
	}
}

// TestCutOff checks that no beginning of a form is loaded.
func TestCutOff(t *testing.T) {
	for n := range len(fullForm) {
		if _, err := load(fullForm[:n]); err == nil {
			t.Errorf("%q is loaded", fullForm[:n])
		}
	}
}

// TestLoadCopies checks that strings and bytes do not share the memory of the form, nor
// each other's.
func TestLoadCopies(t *testing.T) {
	want := part{Bytes: []byte("bytes")}
	for n := range 200 {
		want.Texts = append(want.Texts, strings.Repeat(string(rune('a'+n%26)), n))
	}
	data, got := form(&want), new(part)
	if err := stored.Load(data, got, (*part).fields); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("loaded %+v\n  want %+v", *got, want)
	}
}

// FuzzLoad checks that whatever is loaded is stored as a form that gives the same value.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(fullForm))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := load(string(data))
		if err != nil {
			return
		}
		once := form(&p)
		again, err := load(string(once))
		if twice := form(&again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q\n stored as %q\n      then %q, %v", data, once, twice, err)
		}
	})
}
