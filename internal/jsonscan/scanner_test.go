package jsonscan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

// seen is all that a Scanner shows.
type seen struct {
	Status   Status
	Offset   int
	DoneAt   int
	Depth    int
	First    byte
	Complete bool
	Err      string
}

func observe(s *Scanner) seen {
	return seen{s.Status(), s.Offset(), s.DoneAt(), int(s.depth), s.First(), s.Complete(), errText(s)}
}

func errText(s *Scanner) string {
	if err := s.Err(); err != nil {
		return err.Error()
	}
	return ""
}

func scan(pieces ...string) seen {
	var s Scanner
	for _, piece := range pieces {
		s.Write(piece)
	}
	return observe(&s)
}

func TestScanner(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth)
	for _, tc := range []struct {
		text   string
		status Status
		offset int
		doneAt int
		err    string
	}{
		{"", More, 0, -1, ""},
		{" \t\r\n", More, 4, -1, ""},
		{"{}", Done, 2, 2, ""},
		{" [ ] ", Done, 5, 4, ""},
		{`{"a":[1,{"b":null},"c"]}` + "\n", Done, 25, 24, ""},
		{`"x"`, Done, 3, 3, ""},
		{"true", Done, 4, 4, ""},
		{"-1.5e+3", May, 7, -1, ""},
		{"12 ", Done, 3, 2, ""},
		{"-", More, 1, -1, ""},
		{`{"a":"b`, More, 7, -1, ""},
		{`"ü€😀 and more ascii, then ü€😀"`, Done, 42, 42, ""},
		{`"0123456789` + "\xe2\x82", More, 13, -1, ""},

		{"{}x", Bad, 2, 2, "'x' where nothing more is expected at offset 2"},
		{`{"a":1}{"b":2}`, Bad, 7, 7, "'{' where nothing more is expected at offset 7"},
		{"12 3", Bad, 3, 2, "'3' where nothing more is expected at offset 3"},
		{"12x", Bad, 2, -1, "'x' behind a top-level number at offset 2"},
		{"01", Bad, 1, -1, "'1' behind a top-level number at offset 1"},
		{"1,", Bad, 1, -1, "',' behind a top-level number at offset 1"},
		{"1]", Bad, 1, -1, "']' behind a top-level number at offset 1"},
		{"NaN", Bad, 0, -1, "'N' where a JSON value is expected at offset 0"},
		{"]", Bad, 0, -1, "']' where a JSON value is expected at offset 0"},
		{"\ufeff{}", Bad, 0, -1, "byte 0xEF where a JSON value is expected at offset 0"},
		{"\x00", Bad, 0, -1, "byte 0x00 where a JSON value is expected at offset 0"},
		{"[1}", Bad, 2, -1, "'}' where a comma or ] is expected at offset 2"},
		{`{"a":1]`, Bad, 6, -1, "']' where a comma or } is expected at offset 6"},
		{`[{"a":[]]`, Bad, 8, -1, "']' where a comma or } is expected at offset 8"},
		{"[,", Bad, 1, -1, "',' where a JSON value or ] is expected at offset 1"},
		{"[1,]", Bad, 3, -1, "']' where a JSON value is expected at offset 3"},
		{"{1", Bad, 1, -1, "'1' where a key in double quotes or } is expected at offset 1"},
		{`{"a":1,}`, Bad, 7, -1, "'}' where a key in double quotes is expected at offset 7"},
		{`{"a"1`, Bad, 4, -1, "'1' where a colon is expected at offset 4"},
		{"[tru}", Bad, 4, -1, "'}' where the rest of true is expected at offset 4"},
		{"fals ", Bad, 4, -1, "' ' where the rest of false is expected at offset 4"},
		{"nil", Bad, 1, -1, "'i' where the rest of null is expected at offset 1"},
		{"[-x", Bad, 2, -1, "'x' where a digit is expected at offset 2"},
		{"1.e", Bad, 2, -1, "'e' where a digit is expected at offset 2"},
		{"1e.", Bad, 2, -1, "'.' where a digit or a sign is expected at offset 2"},
		{`"\x`, Bad, 2, -1, "'x' where the rest of an escape is expected at offset 2"},
		{`"\'`, Bad, 2, -1, "'\\'' where the rest of an escape is expected at offset 2"},
		{`"\u12G`, Bad, 5, -1, "'G' where a hex digit is expected at offset 5"},
		{"\"a\nb", Bad, 2, -1, "a control character that is not escaped in a string (byte 0x0A) at offset 2"},
		{"\"\xff", Bad, 1, -1, "a byte that is no valid UTF-8 (byte 0xFF) at offset 1"},
		{"\"\xed\xa0\x80", Bad, 2, -1, "a byte that is no valid UTF-8 (byte 0xA0) at offset 2"},
		{"\"\xc3\"", Bad, 2, -1, "a byte that is no valid UTF-8 ('\"') at offset 2"},
		{"\"\\u00\xc3", Bad, 5, -1, "a byte that is no valid UTF-8 (byte 0xC3) at offset 5"},

		{deep + strings.Repeat("]", MaxDepth), Done, 2 * MaxDepth, 2 * MaxDepth, ""},
		{deep + "[", Bad, MaxDepth, -1, "arrays and objects are nested deeper than 10000 at offset 10000"},
		{deep + "x", Bad, MaxDepth, -1, "'x' where a JSON value or ] is expected at offset 10000"},
	} {
		t.Run(fmt.Sprintf("%.60s", tc.text), func(t *testing.T) {
			got := scan(tc.text)
			if got.Status != tc.status || got.Offset != tc.offset || got.DoneAt != tc.doneAt || got.Err != tc.err {
				t.Errorf("%.60q: got %v, offset %d, done at %d, %q\nwant %v, offset %d, done at %d, %q", tc.text,
					got.Status, got.Offset, got.DoneAt, got.Err, tc.status, tc.offset, tc.doneAt, tc.err)
			}
			everySplit(t, tc.text)
		})
	}
}

// Every pair of bytes in a string, with so many more that a character can be
// whole, alone and deep in ordinary text: accepted is what the standard library
// takes for JSON and for UTF-8.
func TestScannerPairsInStrings(t *testing.T) {
	for pair := range 1 << 16 {
		for _, rest := range []string{"", "\x80", "\xbf\xbf"} {
			inner := string([]byte{byte(pair >> 8), byte(pair)}) + rest
			for _, text := range []string{`["` + inner + `"]`, `["0123456789` + inner + `and so on"]`} {
				want := utf8.ValidString(text) && json.Valid([]byte(text))
				if got := scan(text); got.Complete != want {
					t.Fatalf("%q: got %+v, want accepted %v", text, got, want)
				}
			}
		}
	}
}

// everySplit checks that where a text is cut in two does not matter, nor that
// it comes byte by byte. A text above 4 KiB is cut at some 200 places only.
func everySplit(t *testing.T, text string) {
	t.Helper()
	want := scan(text)
	step := 1
	if len(text) > 4096 {
		step = len(text) / 200
	}
	var bytewise Scanner
	for i := range len(text) + 1 {
		if i > 0 {
			bytewise.Write(text[i-1 : i])
		}
		if i%step != 0 && i < len(text) {
			continue
		}
		if got, prefix := observe(&bytewise), scan(text[:i]); got != prefix {
			t.Fatalf("%.60q: the first %d bytes, byte by byte: got %+v\nin one piece: %+v", text, i, got, prefix)
		}
		if got := scan(text[:i], text[i:]); got != want {
			t.Fatalf("%.60q cut at %d: got %+v\nwant %+v", text, i, got, want)
		}
	}
}

func TestScannerFirstAndDepth(t *testing.T) {
	for _, tc := range []struct {
		text  string
		first byte
		depth int
	}{
		{"", 0, 0},
		{" \n", 0, 0},
		{` {"a":[`, '{', 2},
		{` {"a":[]`, '{', 1},
		{"\t\"", '"', 0},
		{"x", 'x', 0},
		{"\f1", '\f', 0},
		{strings.Repeat(`[{"":`, 100), '[', 200},
	} {
		t.Run(fmt.Sprintf("%.60s", tc.text), func(t *testing.T) {
			got := scan(tc.text)
			if got.First != tc.first || got.Depth != tc.depth {
				t.Errorf("%.40q: got first %q, depth %d, want %q, %d", tc.text, got.First, got.Depth, tc.first, tc.depth)
			}
		})
	}
}

func TestScannerBadStaysBad(t *testing.T) {
	var s Scanner
	s.Write("  \x00")
	before := observe(&s)
	if got := s.Write(`{"a":1}`); got != Bad {
		t.Errorf("got %v, want %v", got, Bad)
	}
	if got := observe(&s); got != before {
		t.Errorf("got %+v, want %+v", got, before)
	}
}

// A copy goes on for itself, also where both share levels that were moved out.
func TestScannerCopies(t *testing.T) {
	deeper := strings.Repeat("[", 150) + "0" + strings.Repeat("]", 150)
	for _, depth := range []int{1, 63, 64, 65, 97, 200, 1000} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			opening := strings.Repeat(`[{"":`, depth/2) + strings.Repeat("[", depth%2)
			closing := strings.Repeat("]", depth%2) + strings.Repeat("}]", depth/2)
			var one Scanner
			one.Write(opening)
			other := one
			long, short := deeper+closing, "0"+closing
			for i := range long {
				one.Write(long[i : i+1])
				if i < len(short) {
					other.Write(short[i : i+1])
				}
			}
			if got, want := observe(&one), scan(opening+long); got != want || got.Status != Done {
				t.Errorf("depth %d: the original: got %+v\nwant %+v", depth, got, want)
			}
			if got, want := observe(&other), scan(opening+short); got != want || got.Status != Done {
				t.Errorf("depth %d: the copy: got %+v\nwant %+v", depth, got, want)
			}
		})
	}
}

func TestScannerSize(t *testing.T) {
	if got := unsafe.Sizeof(Scanner{}); got > 48 {
		t.Errorf("a Scanner has %d bytes, want at most 48", got)
	}
}

func TestScannerAllocatesNothing(t *testing.T) {
	text := strings.Repeat("[", 61) + sampleArgs + strings.Repeat("]", 61) // which is 3 deep itself
	if got := scan(text); got.Status != Done {
		t.Fatalf("got %+v", got)
	}
	got := testing.AllocsPerRun(100, func() {
		var s Scanner
		for rest := text; rest != ""; rest = rest[min(4, len(rest)):] {
			s.Write(rest[:min(4, len(rest))])
		}
	})
	if got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// Going up and down around the boundary must not allocate each time.
func TestScannerSpillsSeldom(t *testing.T) {
	text := strings.Repeat("[", 64) + strings.Repeat("[[],[]],", 1000)
	got := testing.AllocsPerRun(10, func() {
		var s Scanner
		if s.Write(text) != More {
			t.Fatal(s.Err())
		}
	})
	if got > 1 {
		t.Errorf("got %v allocations, want at most 1", got)
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		`{"city":"Par\u00efs","n":[-1.5e+3,0,true,false,null]} `, "12 ", `"ü€😀 0123456789 ü€😀"`, `{}{`, "[1}", "\"\xed\xa0",
		strings.Repeat("[", 70) + strings.Repeat("]", 70),
	} {
		f.Add(text, []byte{1, 0, 7, 3})
	}
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		whole := scan(text)
		var s Scanner
		rest := text
		for _, n := range cuts {
			n := min(int(n), len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		s.Write(rest)
		if got := observe(&s); got != whole {
			t.Errorf("%q cut by %v: got %+v\nwhole: %+v", text, cuts, got, whole)
		}
		if want := utf8.ValidString(text) && json.Valid([]byte(text)); whole.Complete != want {
			t.Errorf("%q: got complete %v, want %v", text, whole.Complete, want)
		}
		if n := whole.DoneAt; n >= 0 && !json.Valid([]byte(text[:n])) {
			t.Errorf("%q: done at %d, but that is no value", text, n)
		}
		// Bad comes at the first byte that no text can have there: before it
		// all was well.
		if whole.Status == Bad && scan(text[:whole.Offset]).Status == Bad {
			t.Errorf("%q: bad at %d, but Bad before", text, whole.Offset)
		}
	})
}

// sampleArgs is what args look like: short keys, prose, code, numbers.
const sampleArgs = `{"path":"internal/report/summary.go","line":128,"options":{"dry_run":false,"limits":[1,25,-3.5e2],"tag":null},` +
	`"content":"package report\n\n// Summary tells in one line what a run did.\nfunc Summary(r Run) string {\n\treturn fmt.Sprintf(\"%d calls in %s\", len(r.Calls), r.Took)\n}\n",` +
	`"query":"Which museums in Zürich are open on Mondays, and what does a ticket cost for two adults and three children?","note":"蘇黎世的博物館 😀"}`

func BenchmarkScanner(b *testing.B) {
	benchmarkScanner(b, "["+strings.Repeat(sampleArgs+",", 30)+"0]")
}

func BenchmarkScannerNumbers(b *testing.B) {
	benchmarkScanner(b, "["+strings.Repeat(`{"x":12.75,"y":-3,"on":true}, `, 600)+"0]")
}

func BenchmarkScannerProse(b *testing.B) {
	benchmarkScanner(b, `{"text":"`+strings.Repeat("The quick brown fox jumps over the lazy dog. ", 400)+`"}`)
}

func BenchmarkScannerChinese(b *testing.B) {
	benchmarkScanner(b, `{"text":"`+strings.Repeat("蘇黎世的博物館星期一開放嗎？", 400)+`"}`)
}

func benchmarkScanner(b *testing.B, text string) {
	for _, frag := range []int{4, 64, 4096} {
		b.Run(fmt.Sprintf("frag=%d", frag), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var s Scanner
				for rest := text; rest != ""; {
					n := min(frag, len(rest))
					s.Write(rest[:n])
					rest = rest[n:]
				}
				if !s.Complete() {
					b.Fatal(s.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
		})
	}
}

// String returns the status as a word in lower case.
func (s Status) String() string {
	return [...]string{More: "more", May: "may", Done: "done", Bad: "bad"}[s]
}
