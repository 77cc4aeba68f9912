package client

import "testing"

func TestSemantic(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"v1.2.3", "1.2.3"},
		{"v0.0.0-20261121063000-f2bcff4abcde+dirty", "0.0.0-20261121063000-f2bcff4abcde+dirty"},
		{"(devel)", "0.0.0"},
		{"unknown", "0.0.0"},
		{"", "0.0.0"},
		{"v1.2", "0.0.0"},
	} {
		t.Run(c.in, func(t *testing.T) {
			if got := Semantic(c.in); got != c.want {
				t.Errorf("%q: got %q, want %q", c.in, got, c.want)
			}
		})
	}
}
