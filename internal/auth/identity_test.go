package auth

import (
	"strings"
	"testing"
	"time"
)

// TestRights checks which sessions a claim permits.
func TestRights(t *testing.T) {
	for _, c := range []struct {
		entry   string
		matches string // separated by |
		others  string
	}{
		{`"chat-1"`, "chat-1", "chat-|chat-11|CHAT-1|chat-1/|../chat-1|chat%2D1"},
		{`"*"`, "*", "a|**|chat-1"},
		{`"support-*"`, "support-*", "support-1|support-"},
		{`"a/../b"`, "a/../b", "b|a/b"},
		{`{"pattern":"support-*"}`, "support-|support-1|support-a/b|support-*", "support|xsupport-1|Support-1"},
		{`{"pattern":"*"}`, "a|*|a/b|ü", ""},
		{`{"pattern":"*-*-x"}`, "a-b-x|--x|a-b-c-x", "a-x|a-b-xx"},
		{`{"pattern":"a*a"}`, "aa|aba", "a|ab"},
		{`{"pattern":"a?[b]"}`, "a?[b]", "axb"},
	} {
		t.Run(c.entry, func(t *testing.T) {
			rights, err := parseRights([]byte(`{"watch":[` + c.entry + `]}`))
			if err != nil {
				t.Errorf("%s: %v", c.entry, err)
				return
			}
			id := Identity{rights: rights}
			for s := range strings.SplitSeq(c.matches, "|") {
				if !id.May(Watch, s) {
					t.Errorf("%s: %q is not permitted", c.entry, s)
				}
			}
			for s := range strings.SplitSeq(c.others, "|") {
				if s != "" && id.May(Watch, s) {
					t.Errorf("%s: %q is permitted", c.entry, s)
				}
			}
			if got, want := id.MayAll(Watch), c.entry == `{"pattern":"*"}`; got != want {
				t.Errorf("%s: all: got %t, want %t", c.entry, got, want)
			}
			if id.May(Publish, "chat-1") || id.May(Interrupt, "chat-1") || id.MayAll(Publish) {
				t.Errorf("%s: other actions are permitted", c.entry)
			}
		})
	}
	for _, bad := range []string{
		`[]`, `{"watch":"s"}`, `{"watch":[null]}`, `{"watch":[""]}`, `{"watch":[{}]}`, `{"watch":[{"pattern":""}]}`,
		`{"watch":[{"pattern":"a","x":"b"}]}`, `{"Watch":["s"]}`, `{"watch":["s"],"admin":["s"]}`,
	} {
		t.Run(bad, func(t *testing.T) {
			if rights, err := parseRights([]byte(bad)); err == nil {
				t.Errorf("%s: got %v, want an error", bad, rights)
			}
		})
	}
	all := Unlimited()
	for a := range actions {
		if !all.May(a, "a/b") || !all.MayAll(a) {
			t.Errorf("unlimited: %s is not permitted", a)
		}
	}
	if none := (&Identity{}); none.May(Watch, "") || none.May(Watch, "s") || none.MayAll(Watch) {
		t.Error("an empty identity has rights")
	}
}

// TestMayPattern: a pattern is permitted only if every session that matches it is.
func TestMayPattern(t *testing.T) {
	var texts []string // of up to four characters
	for list := []string{""}; len(list[0]) < 4; {
		var longer []string
		for _, s := range list {
			longer = append(longer, s+"a", s+"b", s+"*")
		}
		list = longer
		texts = append(texts, list...)
	}
	permitted := 0
	for _, claim := range texts {
		id := Identity{rights: [actions][]rule{Watch: {{text: claim, pattern: true}}}}
		for _, pattern := range texts {
			if !id.MayPattern(Watch, pattern) {
				continue
			}
			permitted++
			for _, session := range texts {
				if (rule{text: pattern, pattern: true}).matches(session) && !id.May(Watch, session) {
					t.Errorf("the claim %s permits %s, and not %s", claim, pattern, session)
				}
			}
		}
		if !id.MayPattern(Watch, claim) {
			t.Errorf("the claim %s does not permit itself", claim)
		}
	}
	if permitted <= 2*len(texts) {
		t.Errorf("%d patterns are permitted, which is too few", permitted)
	}
	if named := (Identity{rights: [actions][]rule{Watch: {{text: "*"}}}}); named.MayPattern(Watch, "*") {
		t.Error("the session * permits the pattern *")
	}
}

// TestPatternTime: a pattern with many stars does not take long.
func TestPatternTime(t *testing.T) {
	r := rule{text: strings.Repeat("*a", 2000) + "b", pattern: true}
	start := time.Now()
	if r.matches(strings.Repeat("a", 10_000)) {
		t.Error("matches, want no match")
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %s", took)
	}
}
