package patch

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/test/testkit"
)

// TestDocumentedWords checks that docs/repair.md has every option with its values
// and its default, every provider with its effects, and every reason.
func TestDocumentedWords(t *testing.T) {
	page, err := os.ReadFile("../../docs/repair.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(string(page), "\n")
	want := append(slices.Concat(optionRows(), providerRows()), reasonRows()...)
	for _, w := range want {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, w) }) {
			t.Errorf("docs/repair.md has no row that begins with\n%s", w)
		}
	}
}

// TestPlaceholdersPage checks that docs/placeholders.md has the texts of other systems. The
// flag -update writes it.
func TestPlaceholdersPage(t *testing.T) {
	page := "# Placeholders of other systems\n\nA [repair](repair.md#texts-and-placeholders) replaces these texts by real results.\n\n| text | written by |\n|---|---|\n"
	for _, w := range writers() {
		page += fmt.Sprintf("| `%s` | %s |\n", w[0], w[1])
	}
	testkit.Golden(t, "../../docs/placeholders.md", page)
}

// optionRows returns the beginnings of the rows about options.
func optionRows() (rows []string) {
	var o Options
	full := Options{}.orDefaults()
	words := map[string]string{}
	for _, c := range o.choices() {
		list := slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return w == "" })
		is := "none"
		if c.words[0] != "" {
			is = "`" + c.words[0] + "`"
		}
		words[c.name] = fmt.Sprintf("`%s` | %s |", strings.Join(list, "`, `"), is)
	}
	words["rescue_early"] = fmt.Sprintf("true or false | %v |", *full.RescueEarly)
	words["merge_roles"] = fmt.Sprintf("true or false | %v |", *full.MergeRoles)
	for f := range reflect.TypeFor[Options]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "-" {
			rows = append(rows, strings.TrimSuffix(fmt.Sprintf("| `%s` | %s", name, words[name]), " "))
		}
	}
	return rows
}

// providerRows returns the beginnings of the rows about providers.
func providerRows() (rows []string) {
	for _, name := range Providers() {
		o := Options{Provider: name}.orDefaults()
		rows = append(rows, fmt.Sprintf("| `%s` | `%s` | `%s` | `%s` | %v |", name, o.Order, o.Args, o.Invalid, *o.MergeRoles))
	}
	return rows
}

// reasonRows returns the rows about the texts of this package.
func reasonRows() (rows []string) {
	for _, r := range reasons() {
		rows = append(rows, fmt.Sprintf("| `%s` | `%s` | `%s` |", r, events.Sentence(r, "en"), events.Sentence(r, "zh")))
	}
	return rows
}
