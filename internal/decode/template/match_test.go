package template

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestInsideEnd compares jsonscan.InsideEnd with a check of the whole string, for each
// special text at each offset in strings of different lengths.
func TestInsideEnd(t *testing.T) {
	specials := []string{
		"", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d`, `\u12`, `\x`, `\`, "\x00", "\x1f", " ", "é", "你", "\xff", "\xed\xa0\x80", "\x7f", "\xc3",
	}
	for _, special := range specials {
		t.Run(fmt.Sprintf("%q", special), func(t *testing.T) {
			for n := range 20 {
				for at := range n + 1 {
					inside := strings.Repeat("a", at) + special + strings.Repeat("b", n-at)
					for _, tail := range []string{``, `,"next":"more text"}`} {
						s := `"` + inside + `"` + tail
						want := -1
						if token := s[:len(inside)+2]; wire.Valid(token) && utf8.ValidString(token) {
							want = len(inside) + 1
						}
						if got := jsonscan.InsideEnd(s, 1); got != want && (want >= 0 || got == len(inside)+1) {
							t.Errorf("jsonscan.InsideEnd(%q, 1) = %d, want %d", s, got, want)
						}
					}
				}
			}
		})
	}
}

// TestInsideEndOpen checks strings without an end.
func TestInsideEndOpen(t *testing.T) {
	for _, s := range []string{`"`, `"abc`, `"abcdefghijklmnop`, `"abcdefgh\`, `"abcdefgh\"`} {
		t.Run(s, func(t *testing.T) {
			if got := jsonscan.InsideEnd(s, 1); got != -1 {
				t.Errorf("jsonscan.InsideEnd(%q, 1) = %d, want -1", s, got)
			}
		})
	}
}

// TestFits checks which events fit a template, and their values.
func TestFits(t *testing.T) {
	tmpl := template{
		parts: []part{
			{literal: `{"id":"`, slot: wire.Unread},
			{literal: `","index":`, slot: wire.IndexSlot, number: true},
			{literal: `,"args":"`, slot: wire.ArgsSlot},
		},
	}
	tmpl.setTail(`"}`)
	for event, want := range map[string]string{
		`{"id":"a","index":0,"args":"x"}`:          "0 x",
		`{"id":"","index":12,"args":"\"x\\\""}`:    `12 \"x\\\"`,
		`{"id":"a","index":0,"args":""}`:           "", // an empty text has no chunk
		`{"id":"a","index":01,"args":"x"}`:         "",
		`{"id":"a","index":-1,"args":"x"}`:         "",
		`{"id":"a","index":1.5,"args":"x"}`:        "",
		`{"id":"a","index":,"args":"x"}`:           "",
		`{"id":"a","index":0,"args":"x"  }`:        "0 x",
		`{"id":"a","index":0,"args":"x"} `:         "",
		`{"id":"a","index":0,"args":"x"  } `:       "",
		`{"id":"a","index":0,"args":"x"  ]`:        "",
		`{"id":"a","index":0,"args":"x","b":1  }`:  "",
		`{"id":"a","index":0,"args":"x" ,}`:        "",
		`{"id":"a","index":0,"args":"x","b":1}`:    "",
		`{"id":"a","index":0,"args":"x`:            "",
		`{"id":"a\q","index":0,"args":"x"}`:        "",
		`{"id":null,"index":0,"args":"x"}`:         "",
		`{"id":"a", "index":0,"args":"x"}`:         "",
		`{"id":"a","index":0,"args":"` + "\xff\"}": "",
	} {
		t.Run(event, func(t *testing.T) {
			var v values
			got := ""
			if tmpl.fits(event, &v) {
				got = v[wire.IndexSlot] + " " + v[wire.ArgsSlot]
			}
			if got != want {
				t.Errorf("event %q\n got %q\nwant %q", event, got, want)
			}
		})
	}
}

// TestCacheOrder checks that a template which events fit moves to the front,
// and that a new one replaces the last.
func TestCacheOrder(t *testing.T) {
	var c Cache
	for name := range strings.SplitSeq("abcdefghijkl", "") {
		c.add(&template{format: &wire.Format{Name: name}, tail: "{}"})
	}
	for range 3 {
		if !c.Find("l", "", "{}") {
			t.Fatal("the event does not fit its template")
		}
	}
	c.add(&template{format: &wire.Format{Name: "m"}, tail: "{}"})
	order := ""
	for _, tmpl := range c.list {
		order += tmpl.format.Name
	}
	if want := "abcdefghlijm"; order != want {
		t.Errorf("the order is %s, want %s", order, want)
	}
	for _, name := range []string{"k", "x"} {
		if c.Find(name, "", "{}") || c.Find("a", "named", "{}") {
			t.Errorf("an event of the format %s, or with another name, fits", name)
		}
	}
}
