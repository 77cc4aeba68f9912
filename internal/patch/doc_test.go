package patch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"streamer/internal/patch"
	"streamer/test/testkit"
)

// The pages about repair.
const (
	docs        = "../../docs/"
	reference   = "repair.md"
	profilePage = "repair-profiles.md"
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(docs + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFirstExample checks that the repair with which the reference begins is correct.
func TestFirstExample(t *testing.T) {
	text := []byte(readPage(t, reference))
	shown := regexp.MustCompile("(?s)streamer repair <<'EOF'\n(.*?)EOF\n```\n```json\n(.*?)```").FindSubmatch(text)
	if shown == nil {
		t.Fatalf("%s does not show a repair", reference)
	}
	got := repair(t, "", shown[1], patch.Options{}).History
	if string(got) != string(shown[2]) {
		t.Errorf("%s:\n got %s\nwant %s", reference, got, shown[2])
	}
}

var example = regexp.MustCompile("(?ms)^```repair\n(.*?)^```$")

// TestDocumentedExamples checks the examples in the pages about repair, which
// have the format of the scripts.
func TestDocumentedExamples(t *testing.T) {
	for page, least := range map[string]int{reference: 21, profilePage: 1} {
		t.Run(page, func(t *testing.T) {
			text, shown := readPage(t, page), 0
			now := example.ReplaceAllStringFunc(text, func(block string) string {
				shown++
				want := example.FindStringSubmatch(block)[1]
				got := runScript(t, want)
				if !*testkit.Update && got != want {
					t.Errorf("%s\n got %s\nwant %s", page, got, want)
				}
				return "```repair\n" + got + "```"
			})
			if shown < least {
				t.Errorf("%d examples in %s, want at least %d", shown, page, least)
			}
			if *testkit.Update {
				if err := os.WriteFile(docs+page, []byte(now), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestDocumentedReport checks that docs/repair.md names every word of the scripts'
// reports, and that the scripts have every op it names.
func TestDocumentedReport(t *testing.T) {
	used := map[string]bool{"result_replaced": true, "log": true} // need a session's log, which scripts do not have
	words := regexp.MustCompile(`(?m)^(\w+) turn=|why=(\w+)|reason=(\w+)|"rule":"(\w+)"`)
	files, err := filepath.Glob("testdata/repair/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range words.FindAllStringSubmatch(string(text), -1) {
			used[strings.Join(m[1:], "")] = true
		}
	}
	text := readPage(t, reference)
	_, ops, _ := strings.Cut(text, "| `op` |")
	ops, _, _ = strings.Cut(ops, "\n\n")
	named := map[string]bool{}
	for row := range strings.SplitSeq(ops, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(first, -1) {
			named[m[1]] = true
		}
	}
	if len(named) < 15 {
		t.Fatalf("%d ops in the table, want at least 15", len(named))
	}
	for op := range named {
		if !used[op] {
			t.Errorf("%s names the op %s, which no script has", reference, op)
		}
	}
	for word := range used {
		if !named[word] && !strings.Contains(text, "`"+word+"`") {
			t.Errorf("%s does not name %s", reference, word)
		}
	}
}

// TestDocumentedLinks checks that every link within and between the pages about
// repair leads to a heading.
func TestDocumentedLinks(t *testing.T) {
	headings := map[string][]string{}
	for _, page := range []string{reference, profilePage} {
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readPage(t, page), -1) {
			plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
			headings[page] = append(headings[page], strings.ReplaceAll(plain, " ", "-"))
		}
	}
	for page := range headings {
		links := regexp.MustCompile(`\]\((repair[a-z-]*\.md)?#([^)]*)\)`).FindAllStringSubmatch(readPage(t, page), -1)
		if len(links) == 0 {
			t.Errorf("no links in %s", page)
		}
		for _, m := range links {
			target := page
			if m[1] != "" {
				target = m[1]
			}
			if !slices.Contains(headings[target], m[2]) {
				t.Errorf("%s links to %s#%s, whose headings are %v", page, target, m[2], headings[target])
			}
		}
	}
}
