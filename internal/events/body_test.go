package events

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// standard returns the JSON of an event from encoding/json, which Body must
// equal.
func standard(e *Event) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func sameBody(t *testing.T, e *Event) {
	t.Helper()
	want, wantErr := standard(e)
	got, err := e.Body()
	if (err != nil) != (wantErr != nil) || err == nil && string(got) != want {
		t.Errorf("%+v\n got %s, %v\nwant %s, %v", *e, got, err, want, wantErr)
	}
}

// TestBodyOfEachField checks the body of an event with all fields, with each
// field alone, and with each pointer or slice set to an empty value.
func TestBodyOfEachField(t *testing.T) {
	all := new(Event)
	fill(t, reflect.ValueOf(all).Elem(), "")
	all.Type = ToolCallResult
	sameBody(t, all)
	full := reflect.ValueOf(all).Elem()
	for i := range full.NumField() {
		one := &Event{Type: ToolCallResult}
		reflect.ValueOf(one).Elem().Field(i).Set(full.Field(i))
		sameBody(t, one)

		empty := &Event{Type: ToolCallResult}
		switch f := reflect.ValueOf(empty).Elem().Field(i); f.Kind() {
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		}
		sameBody(t, empty)
	}
}

// TestBodyOfOddValues checks numbers at their limits and raw JSON that is
// invalid.
func TestBodyOfOddValues(t *testing.T) {
	for _, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		at := Time(n)
		sameBody(t, &Event{Part: int(n), Offset: Offset(n), DurationMS: &n, Timestamp: at >> 20, Input: uint64(n)})
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1e-9, 1e21, 12.5, math.MaxFloat64, math.NaN(), math.Inf(1)} {
		sameBody(t, &Event{Percent: &f})
	}
	for _, raw := range []string{"0", "9", "-", "-1", "01", "10", " 1 ", "a", `""`, `"`, "{", `{"a" : [ 1 , "<&>" ] }`, "null", "1 2", "\xff", "\"\xff\u2028\""} {
		sameBody(t, &Event{Index: json.RawMessage(raw)})
		sameBody(t, &Event{Usage: json.RawMessage(raw), Index: json.RawMessage("3")})
	}
}

// FuzzBody checks that the body of any text and any JSON has the bytes of
// encoding/json.
func FuzzBody(f *testing.F) {
	f.Add("plain", []byte(`{"a":1}`), int64(7))
	f.Add("\x00\x1f\x7f\"\\/\b\f\n\r\t<>&'\u2028\u2029\ufffd\xff\xed\xa0\x80é😀", []byte(" [ 1 ]\n"), int64(-1))
	f.Add("\xf0\x9f", []byte("nul"), int64(0))
	f.Add("seven b\"eight by\\and more\x1fthan one word é", []byte("{}"), int64(1))
	f.Add("eight by\" a word\\a word \x00wordword\x80", []byte("{}"), int64(1))
	f.Fuzz(func(t *testing.T, s string, raw []byte, n int64) {
		sameBody(t, &Event{Type: Type(s), EventID: ID{uint64(n), int(n)}, Session: s, Args: s, ArgsText: &s, ToolResult: raw, Index: raw, Input: uint64(n)})
		sameBody(t, &Event{Kind: s, Target: &Target{ToolCallIDs: []string{s, ""}, Calls: []string{s}, MessageID: s, Run: s, More: int(n)}})
		sameBody(t, &Event{Content: s, Reason: &Reason{Detail: s}, Pending: []string{s, ""}, ArgsRef: &Ref{Preview: s, Size: int(n)}})
		if got, err := json.Marshal(s); err != nil || !strings.ContainsAny(s, "<>&") && string(Quote(s)) != string(got) {
			t.Errorf("%q is quoted %s, want %s, %v", s, Quote(s), got, err)
		}
	})
}

func BenchmarkBody(b *testing.B) {
	e := Event{
		Type: ToolCallArgsDelta, EventID: ID{471100, 0}, Session: "thread-17", Run: "470001.0",
		Place: &Place{MessageID: "chatcmpl-9sYyo3", Namespace: "", Choice: 0}, Index: json.RawMessage("0"),
		Call: "470001.0", ID: "call_u3QxY2", UID: "call_u3QxY2", ToolName: "search", Timestamp: 1_772_445_600_123,
		Offset: OffsetAt(120), Args: `"query": "the weather in Zürich\nand Bern"`,
	}
	b.Run("Body", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Body(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := standard(&e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
