package decode

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
)

// bodies returns the streams of testdata that are lines of codes.
func bodies(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range texts(t, "ai-sdk-v4") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(data)
	}
	if len(all) == 0 {
		t.Fatal("there are no streams")
	}
	return all
}

// TestCodesCuts checks that it does not matter how lines of codes are cut into inputs.
func TestCodesCuts(t *testing.T) {
	for file, body := range bodies(t) {
		want := readAll(t, body)
		if strings.Contains(want, "problem ") {
			t.Fatalf("%s: %s", file, want)
		}
		check := func(how string, inputs ...string) {
			t.Helper()
			if got := readAll(t, inputs...); got != want {
				t.Fatalf("%s %s\n got:\n%s\nwant:\n%s", file, how, got, want)
			}
		}
		for cut := range len(body) {
			check("cut at "+body[cut:min(len(body), cut+20)], body[:cut], body[cut:])
		}
		check("byte by byte", strings.Split(body, "")...)
		lines := strings.SplitAfter(body, "\n")
		check("line by line", lines...)
		check("without newlines", strings.Split(body, "\n")...)
		check("with CRLF", strings.ReplaceAll(body, "\n", "\r\n"))
		check("with CRLF, byte by byte", strings.Split(strings.ReplaceAll(body, "\n", "\r\n"), "")...)
		check("with blank lines and a byte order mark", wire.BOM+"\n"+strings.ReplaceAll(body, "\n", "\n\n"))
	}
}

// TestCodesIndependent checks which inputs continue a line that was cut, by the rules in
// the comment at the head of codes.go.
func TestCodesIndependent(t *testing.T) {
	const begin, text = `f:{"messageId":"m"}` + "\n", "start Message=\"m\" Role=\"assistant\" Fresh=true\n"
	lost := func(n string) string { return "problem a line was cut off after " + n + " bytes and never continued\n" }
	for name, c := range map[string]struct {
		inputs []string
		want   string
	}{
		"a line after a text that was cut": {[]string{begin, `0:"ab`, `0:"cd"`}, text + lost("5") + "text Message=\"m\" Text=\"cd\"\n"},
		"a line after a code":              {[]string{begin, `0`, `0:"cd"`}, text + lost("1") + "text Message=\"m\" Text=\"cd\"\n"},
		"JSON after a code":                {[]string{begin, `9:`, `{"toolCallId":"a","toolName":"f","args":{}}`}, text + `fragment Message="m" ID="a" Name="f" Args="{}" Final=true Object=true Whole=true` + "\n"},
		"JSON after a text that was cut":   {[]string{begin, `0:"ab`, stopEvent}, text + lost("5") + "ended\n"},
		"a field after a text":             {[]string{begin, `0:"ab`, "data: " + stopEvent + "\n\n"}, text + lost("5") + "ended\n"},
		"a text that looks like a line":    {[]string{begin, `0:"ab`, `0:\"cd\" "`}, text + "text Message=\"m\" Text=\"ab0:\\\"cd\\\" \"\n"},
		"a number":                         {[]string{begin, `7:1`, `2` + "\n", `0:"x"`}, text + "text Message=\"m\" Text=\"x\"\n"},
		"a code that was cut":              {[]string{begin, "aui-te", `xt:"x"`, `0:"x"`}, text + "text Message=\"m\" Text=\"x\"\n"},
		"a line that ends early":           {[]string{begin, `0:"ab`, "\n"}, text + "problem the JSON text ends before it is complete\n"},
		"a line that is no JSON":           {[]string{begin, "0:x\n" + `0:"y"`}, text + "problem 'x' where a JSON value is expected\ntext Message=\"m\" Text=\"y\"\n"},
		"lines after an event":             {[]string{stopEvent + "\n" + begin + `0:"y"`}, "ended\n" + text + "text Message=\"m\" Text=\"y\"\n"},
		"lines after plain text":           {[]string{"ready\n" + begin}, "problem 'r' where a JSON value is expected\n" + text},
		"an event between lines":           {[]string{begin + stopEvent + "\n" + `0:"y"`}, text + "ended\ntext Message=\"m\" Text=\"y\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := problemFree(readAll(t, c.inputs...)); got != c.want {
				t.Errorf("%s: inputs %q\n got %s\nwant %s", name, c.inputs, got, c.want)
			}
		})
	}
}

// TestCodesAreBounded checks that a line over the limit is reported once and skipped.
func TestCodesAreBounded(t *testing.T) {
	var s State
	var r Reader
	got := ""
	for _, input := range []string{`0:"`, strings.Repeat("x", 60), strings.Repeat("y", 60), `"` + "\n", `0:"z"`} {
		r.Reset(&s, []byte(input), "ai-sdk-v4", Limits{Event: 100})
		for r.Next() {
			if p := r.Problem(); p != nil {
				got += string(p.Code) + " "
			}
			for _, c := range r.Chunks() {
				got += c.Text + " "
			}
		}
		if n := kept(&s); n > 100 {
			t.Errorf("%d bytes are kept, want at most 100", n)
		}
	}
	if want := string(wire.OverLimit) + "  z "; got != want { // the message begins without a text
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzCodes cuts lines of codes at two places.
func FuzzCodes(f *testing.F) {
	for _, body := range bodies(f) {
		for i := range 8 {
			f.Add(body, uint16(i*len(body)/8), uint16(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint16) {
		content, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		whole := "f:{\"messageId\":\"m\"}\n0:" + string(content) + "\nc:{\"toolCallId\":\"t\",\"argsTextDelta\":" + string(content) + "}\nd:{\"finishReason\":\"stop\"}\n"
		i, j := min(int(a), len(whole)), min(int(b), len(whole))
		i, j = min(i, j), max(i, j)
		got, want := readAll(t, whole[:i], whole[i:j], whole[j:]), readAll(t, whole)
		if got != want || strings.Contains(got, "problem ") && !strings.Contains(text, "problem ") {
			t.Errorf("%q | %q | %q\n got %s\nwant %s", whole[:i], whole[i:j], whole[j:], got, want)
		}
	})
}

// TestCodesAllocateNothing checks that a delta is read without allocation, whether its
// line has a newline or not.
func TestCodesAllocateNothing(t *testing.T) {
	for _, delta := range []string{`0:"some text"`, `c:{"toolCallId":"t","argsTextDelta":"{\"a\""}`} {
		for _, end := range []string{"", "\n"} {
			var s State
			var r Reader
			transcript(&r, &s, []byte("f:{\"messageId\":\"m\"}\nb:{\"toolCallId\":\"t\",\"toolName\":\"f\"}\n"), "")
			data := []byte(delta + end)
			if n := testing.AllocsPerRun(100, func() {
				r.Reset(&s, data, "", Limits{})
				for r.Next() {
				}
			}); n != 0 {
				t.Errorf("%q: %v allocations, want none", data, n)
			}
		}
	}
}
