package patch_test

import (
	"bytes"
	"encoding/json"
	"testing"
)

// str returns a JSON string, "" for another value.
func str(v any) string {
	s, _ := v.(string)
	return s
}

// list returns the elements of a JSON array, nil for another value.
func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// objects returns the objects among the elements of a JSON array.
func objects(v any) []object {
	var out []object
	for _, e := range list(v) {
		if o, ok := e.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// readJSON reads JSON and keeps numbers as text.
func readJSON(t testing.TB, text []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// messagesOf reads a JSON list of messages.
func messagesOf(t testing.TB, text []byte) []object {
	t.Helper()
	var messages []object
	readJSON(t, text, &messages)
	return messages
}

// compact returns JSON on one line, and text that is not JSON unchanged.
func compact(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}
