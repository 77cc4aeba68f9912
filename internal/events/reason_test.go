package events

import (
	"fmt"
	"strings"
	"testing"
)

// TestSentences checks that every text exists in every language, names the
// call, and differs from the others.
func TestSentences(t *testing.T) {
	texts := []Text{TextNewMessage, TextInterrupted, TextArgs, TextCancelled, TextTimeout, TextDenied}
	for _, lang := range Langs {
		seen := map[string]Text{}
		for _, text := range texts {
			t.Run(string(text), func(t *testing.T) {
				s := Sentence(text, lang)
				if !strings.Contains(s, "{name}") || !strings.Contains(s, "{id}") {
					t.Errorf("%s in %s does not name the call: %s", text, lang, s)
				}
				if other, ok := seen[s]; ok {
					t.Errorf("%s in %s is the sentence of %s", text, lang, other)
				}
				seen[s] = text
			})
		}
	}
	if got, want := Sentence(TextTimeout, "de"), Sentence(TextTimeout, "en"); got != want {
		t.Errorf("in an unknown language: %q, want %q", got, want)
	}
}

// TestTextFor checks the text of each cause, with usable args and without.
func TestTextFor(t *testing.T) {
	for code, want := range map[Code][2]Text{
		ByInterrupt:     {TextCancelled, TextArgs},
		ByRunCancelled:  {TextCancelled, TextArgs},
		BySuperseded:    {TextCancelled, TextArgs},
		ByRunError:      {TextInterrupted, TextArgs},
		ByExpired:       {TextInterrupted, TextArgs},
		ByLost:          {TextInterrupted, TextArgs},
		ByResultTimeout: {TextTimeout, TextArgs},
		ByArgsTimeout:   {TextTimeout, TextArgs},
		ByNewMessage:    {TextNewMessage, TextNewMessage},
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			if got := [2]Text{TextFor(code, true), TextFor(code, false)}; got != want {
				t.Errorf("%s: %v, want %v", code, got, want)
			}
		})
	}
}

func TestFill(t *testing.T) {
	for _, c := range []struct{ template, name, id, want string }{
		{"{name} {id} {name}", "f", "c", "f c f"},
		{"{name} {id}", "", "c", "unknown c"},
		{"{name} {id}", "{id}", "{name}", "{id} {name}"},
		{"nothing {else}", "f", "c", "nothing {else}"},
	} {
		t.Run(c.template+" "+c.name, func(t *testing.T) {
			if got := Fill(c.template, c.name, c.id); got != c.want {
				t.Errorf("%q of %q, %q: %q, want %q", c.template, c.name, c.id, got, c.want)
			}
		})
	}
	want := "Tool call search with id call_1 was cancelled - another message came in before it could be completed."
	if got := Fill(Sentence(TextNewMessage, "en"), "search", "call_1"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
