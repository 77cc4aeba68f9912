package session

import (
	"slices"
	"strings"
	"testing"

	"streamer/internal/inputs"
)

// TestResumeContent checks that results and usage are stored byte for byte.
func TestResumeContent(t *testing.T) {
	const (
		begin  = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`
		finish = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`
		usage  = `{"id":"m","object":"chat.completion.chunk","choices":[],"usage":{"of <a> & b": 1}}`
	)
	for name, content := range map[string]string{
		"signs that are escaped in HTML": `"a<b & c>d"`,
		"line separators":                "\"\u2028\u2029\"",
		"an object":                      `{"a": [1, 2,  3], "b": "<"}`,
		"as deep as a result may be":     strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990),
	} {
		t.Run(name, func(t *testing.T) {
			result := `{"tool_call_id":"c","content":` + content + `}`
			var l log
			l.add(inputs.Delta, 1, begin)
			l.add(inputs.Delta, 2, usage)
			l.add(inputs.Result, 3, result) // waits for the args
			l.add(inputs.Result, 4, strings.Replace(result, `"c"`, `"o"`, 1))
			l.add(inputs.Delta, 5, finish)
			l.add(inputs.Clock, 300, `{"kind":"flush"}`)
			l.add(inputs.Result, 301, result) // a redelivery
			l.add(inputs.Result, 302, strings.Replace(result, `"c"`, `"o"`, 1))
			want, got := fold(l), foldResumed(t, l)
			if !slices.Equal(got, want) {
				t.Errorf("%s: resumed:\n%.3000s\nfolded at once:\n%.3000s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if all := strings.Join(want, "\n"); strings.Contains(all, "tool_call_late_result") || strings.Count(all, "orphan_result ") != 1 {
				t.Errorf("%s: a redelivery has an event:\n%.3000s", name, all)
			}
		})
	}
}
