package patch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"streamer/internal/patch"
)

const document = "../../docs/repair.md"

func readDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadme checks that the repair shown in README.md is correct.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)streamer repair <<'EOF'\n(.*?)EOF\n```\n```json\n(.*?)```").FindSubmatch(text)
	if shown == nil {
		t.Fatal("README.md does not show a repair")
	}
	got := repair(t, "", shown[1], patch.Options{}).History
	if string(got) != string(shown[2]) {
		t.Errorf("README.md:\n got %s\nwant %s", got, shown[2])
	}
}

var example = regexp.MustCompile("(?ms)^```repair\n(.*?)^```$")

// TestDocumentedExamples checks the examples in docs/repair.md, which have the
// format of the scripts.
func TestDocumentedExamples(t *testing.T) {
	text, shown := readDocument(t), 0
	now := example.ReplaceAllStringFunc(text, func(block string) string {
		shown++
		want := example.FindStringSubmatch(block)[1]
		got := runScript(t, want)
		if !*update && got != want {
			t.Errorf("%s\n got %s\nwant %s", document, got, want)
		}
		return "```repair\n" + got + "```"
	})
	if shown < 21 {
		t.Errorf("%d examples in %s, want at least one for each of 21 rules", shown, document)
	}
	if *update {
		if err := os.WriteFile(document, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
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
	text := readDocument(t)
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
			t.Errorf("%s names the op %s, which no script has", document, op)
		}
	}
	for word := range used {
		if !named[word] && !strings.Contains(text, "`"+word+"`") {
			t.Errorf("%s does not name %s", document, word)
		}
	}
}

// TestDocumentedLinks checks that every link within a page about repair leads to a
// heading.
func TestDocumentedLinks(t *testing.T) {
	text := readDocument(t)
	var anchors []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	links := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(text, -1)
	if len(links) == 0 {
		t.Error("no links found")
	}
	for _, m := range links {
		if !slices.Contains(anchors, m[1]) {
			t.Errorf("%s links to #%s, and its headings are %v", document, m[1], anchors)
		}
	}
}
