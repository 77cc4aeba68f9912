package events

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestEventRoundTrip checks that the JSON of an Event with every field set is
// parsed into an equal Event. It sets fields by reflection, so that it covers
// new ones.
func TestEventRoundTrip(t *testing.T) {
	var want Event
	fill(t, reflect.ValueOf(&want).Elem(), "")
	// These fields are not part of the JSON.
	want.Message, want.Shape, want.Text, want.Blobs = nil, "", "", nil
	body, err := want.Body()
	if err != nil {
		t.Fatal(err)
	}
	var got Event
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", body, got, want)
	}
	again, err := got.Body()
	if err != nil || string(again) != string(body) {
		t.Errorf("another body: %v\n got %s\nwant %s", err, again, body)
	}
}

// fill sets v and all values in it to non-zero values.
func fill(t *testing.T, v reflect.Value, path string) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"a<b":[1]}`))
		return
	case Time:
		v.SetInt(1_700_000_000_123)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x<&>\u2028é " + path)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(1 << 60)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(12.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), path)
		fill(t, v.Index(1), path)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	default:
		t.Fatalf("field %s is a %s, want a kind that fill can set", path, v.Kind())
	}
}

// TestBody checks that a body has no escapes for HTML and no line end, and that
// bytes that are not UTF-8 are replaced.
func TestBody(t *testing.T) {
	e := Event{Type: AgentResponseChunk, Session: "s", Content: "a<b\xff\n"}
	body, err := e.Body()
	if want := `{"type":"agent_response_chunk","event_id":"0.0","session":"s","timestamp":"1970-01-01T00:00:00.000Z","content":"a<b\ufffd\n"}`; err != nil || string(body) != want {
		t.Errorf("error %v\n got %s\nwant %s", err, body, want)
	}
	m := Event{Type: Synthetic, Message: json.RawMessage(`{"role":"tool"}`)}
	if body, err := m.Body(); err != nil || string(body) != `{"role":"tool"}` {
		t.Errorf("a synthetic message: %s, %v", body, err)
	}
	for e, want := range map[*Event]string{&e: "toolcalls.t.event.agent_response_chunk", &m: "toolcalls.t.synthetic"} {
		if got := e.Subject("t"); got != want {
			t.Errorf("subject %s, want %s", got, want)
		}
	}
	bad := Event{Type: ToolCallResult, ToolResult: json.RawMessage(`{`)}
	if _, err := bad.Body(); err == nil || !strings.Contains(err.Error(), "events: tool_call_result 0.0:") {
		t.Errorf("bad JSON: error %v", err)
	}
}

func TestID(t *testing.T) {
	rising := []ID{{}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {1, 10}, {2, 0}, {10, 0}, {1<<64 - 1, 3}}
	for i, a := range rising {
		for k, b := range rising {
			if got, want := a.After(b), i > k; got != want {
				t.Errorf("%s after %s: %v, want %v", a, b, got, want)
			}
		}
		if got, err := ParseID(a.String()); err != nil || got != a {
			t.Errorf("%s read back: %s, %v", a, got, err)
		}
	}
	for _, s := range []string{"", "1", ".", "1.", ".1", "1.2.3", "-1.0", "1.-1", "+1.0", "1.+1", "01.0", "1.00", " 1.0", "1.0 ", "x.y", "18446744073709551616.0", "1.9999999999999999999"} {
		if got, err := ParseID(s); err == nil {
			t.Errorf("%q is read as %s", s, got)
		}
	}
}

func TestTime(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string // "" where refused
	}{
		{"2026-03-02T10:00:00.123Z", "2026-03-02T10:00:00.123Z"},
		{"2026-03-02T10:00:00Z", "2026-03-02T10:00:00.000Z"},
		{"2026-03-02T12:00:00.1239999+02:00", "2026-03-02T10:00:00.123Z"},
		{"1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"},
		{"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
		{"yesterday", ""},
		{"2026-03-02", ""},
	} {
		t.Run(c.in, func(t *testing.T) {
			var got Time
			err := got.UnmarshalText([]byte(c.in))
			if c.want == "" {
				if err == nil {
					t.Errorf("%s is read as %s", c.in, got)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Errorf("%s: %s, %v, want %s", c.in, got, err, c.want)
			}
			if text, err := got.MarshalText(); err != nil || string(text) != c.want {
				t.Errorf("%s is written %s, %v", c.want, text, err)
			}
		})
	}
	if got, want := At(time.UnixMilli(5)).Add(1500*time.Microsecond), Time(6); got != want {
		t.Errorf("5 ms and 1.5 ms later: %d, want %d", got, want)
	}
}

// TestTimeText compares the text of each day from 1970 to the year 2500, and of some
// later and earlier ones, with that of package time.
func TestTimeText(t *testing.T) {
	const dayMillis, endOfYears = 24 * 60 * 60 * 1000, 253402300800000 // the first Time whose year has five digits
	check := func(at Time) {
		if got, want := at.String(), at.Std().Format(timeLayout); got != want {
			t.Errorf("%d: got %s, want %s", int64(at), got, want)
		}
	}
	for day := range Time(194_000) {
		check(day*dayMillis + day*7919%dayMillis)
	}
	for _, at := range []Time{-1, -dayMillis, 0, 1, endOfYears - 1, endOfYears, math.MaxInt64 >> 20, math.MinInt64 >> 20} {
		check(at)
		check(at / 3)
	}
}

func TestTerminal(t *testing.T) {
	for s, want := range map[Status]bool{
		BuildingArgs: false, ArgsComplete: false, AwaitingInput: false, Interrupted: false, "": false,
		Completed: true, Error: true, Denied: true, Cancelled: true, TimedOut: true,
	} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			if got := s.Terminal(); got != want {
				t.Errorf("%q: %v, want %v", s, got, want)
			}
		})
	}
}

func TestBlob(t *testing.T) {
	for _, n := range []int{1, BlobChunk, BlobChunk + 1, 3*BlobChunk + 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			data := []byte(strings.Repeat("é", n)[:n])
			b := NewBlob(data)
			var joined []byte
			for i, name := range b.Ref.Chunks {
				piece := b.Chunk(i)
				if digest(piece) != name || len(piece) > BlobChunk {
					t.Errorf("%d bytes: chunk %d of %d bytes does not match its name", n, i, len(piece))
				}
				joined = append(joined, piece...)
			}
			if string(joined) != string(data) || b.Ref.Size != n || b.Ref.SHA256 != digest(data) {
				t.Errorf("%d bytes: %d bytes in %d chunks", n, len(joined), len(b.Ref.Chunks))
			}
			if !strings.HasPrefix(string(data), b.Ref.Preview) || strings.ContainsRune(b.Ref.Preview, '\uFFFD') || len(b.Ref.Preview) > previewBytes {
				t.Errorf("%d bytes: preview %q", n, b.Ref.Preview)
			}
		})
	}
}
