package gemini

import (
	"strconv"
	"strings"
	"testing"
)

func TestReadPath(t *testing.T) {
	for path, want := range map[string]string{
		"$.a":               `"a"`,
		"$.a.b_c-d[12].e":   `"a" "b_c-d" 12 "e"`,
		"$.m[0][1]":         `"m" 0 1`,
		"$['a key']['x.y']": `"a key" "x.y"`,
		`$["it's"].z`:       `"it's" "z"`,
		"$.日本":              `"日本"`,
		"$[0]":              "0",
		"":                  "no", "$": "no", "a.b": "no", "$.": "no", "$..a": "no", "$.a[": "no", "$.a[]": "no", "$.a[-1]": "no",
		"$.a[x]": "no", "$['a": "no", "$['']": "no", "$.a]": `"a]"`, "$x": "no",
		"$" + strings.Repeat(".a", 100):     strings.TrimSpace(strings.Repeat(`"a" `, 100)),
		"$" + strings.Repeat(".a", 101):     "no",
		"$." + strings.Repeat("a", maxPath): "no",
	} {
		t.Run(path, func(t *testing.T) {
			steps, ok := readPath(nil, path)
			var got []string
			for _, s := range steps {
				if s.index == isKey {
					got = append(got, strconv.Quote(s.key))
				} else {
					got = append(got, strconv.Itoa(s.index))
				}
			}
			if !ok {
				got = []string{"no"}
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("path %q\n got %s\nwant %s", path, got, want)
			}
		})
	}
}
