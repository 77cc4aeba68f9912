package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"streamer/internal/jsonscan"

	"github.com/tidwall/gjson"
)

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`""`:                   "",
		`"plain 日本"`:           "plain 日本",
		`"\"\\\/\b\f\n\r\t"`:   "\"\\/\b\f\n\r\t",
		`"\u0041\u00e9\u20AC"`: "Aé€",
		`"\ud83d\ude00"`:       "😀",
		`"a\ud83d"`:            "a\xed\xa0\xbd",
		`"\ude00b"`:            "\xed\xb8\x80b",
		`"\ud83d\ud83d\ude00"`: "\xed\xa0\xbd😀",
		`"\ude00\ud83d"`:       "\xed\xb8\x80\xed\xa0\xbd",
		`"\ud83dx\ude00"`:      "\xed\xa0\xbdx\xed\xb8\x80",
		`"\ud83d\n"`:           "\xed\xa0\xbd\n",
		`"\udfff\u0000"`:       "\xed\xbf\xbf\x00",
		`null`:                 "",
		``:                     "",
		`12.50`:                "12.50",
		`true`:                 "true",
		`{"a":1}`:              "",
		`["a"]`:                "",
	} {
		t.Run(raw, func(t *testing.T) {
			var w Writer
			if got := w.Text(jsonscan.ValueOf(raw)); got != want {
				t.Errorf("text of %s = %q, want %q", raw, got, want)
			}
		})
	}
}

// TestTextsStayValid returns more strings than fit the scratch space at first. None may
// change.
func TestTextsStayValid(t *testing.T) {
	var w Writer
	var got []string
	for i := range 1000 {
		got = append(got, w.Text(jsonscan.ValueOf(`"\t`+strconv.Itoa(i)+`"`)))
	}
	for i, s := range got {
		if want := "\t" + strconv.Itoa(i); s != want {
			t.Fatalf("string %d is %q, want %q", i, s, want)
		}
	}
}

// slowText returns the text of a JSON string, one escape at a time, in UTF-16.
func slowText(raw string) string {
	var units []uint16
	var out strings.Builder
	flush := func() {
		for i := 0; i < len(units); i++ {
			c := rune(units[i])
			if i+1 < len(units) && utf16.DecodeRune(c, rune(units[i+1])) != '\ufffd' {
				c = utf16.DecodeRune(c, rune(units[i+1]))
				i++
			}
			if utf16.IsSurrogate(c) {
				out.Write([]byte{0xED, byte(0x80 | c>>6&0x3F), byte(0x80 | c&0x3F)})
			} else {
				out.WriteRune(c)
			}
		}
		units = nil
	}
	for i := 1; i < len(raw)-1; {
		switch {
		case raw[i] != '\\':
			flush()
			out.WriteByte(raw[i])
			i++
		case raw[i+1] == 'u':
			n, _ := strconv.ParseUint(raw[i+2:i+6], 16, 16)
			units = append(units, uint16(n))
			i += 6
		default:
			flush()
			out.WriteByte(map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '/': '/'}[raw[i+1]])
			i += 2
		}
	}
	flush()
	return out.String()
}

func FuzzText(f *testing.F) {
	f.Add(`"\ud83d\ude00\ud83d x \\u0041 \n"`)
	f.Add(`"plain"`)
	f.Fuzz(func(t *testing.T, raw string) {
		if raw == "" || raw[0] != '"' || !gjson.Valid(raw) || strings.TrimSpace(raw) != raw {
			t.Skip()
		}
		var w Writer
		got, want := w.Text(jsonscan.ValueOf(raw)), slowText(raw)
		if got != want {
			t.Errorf("text of %s = %q, want %q", raw, got, want)
		}
		var std string
		if json.Unmarshal([]byte(raw), &std) == nil && !strings.Contains(std, "\ufffd") && got != std {
			t.Errorf("text of %s = %q, encoding/json has %q", raw, got, std)
		}
	})
}

func TestCompact(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                                   `{}`,
		"{ }":                                  `{}`,
		" {\n \"a b\" : [ 1 , \" \\\" \" ] } ": `{"a b":[1," \" "]}`,
	} {
		t.Run(fmt.Sprintf("%.60s", raw), func(t *testing.T) {
			var w Writer
			if got := w.Compact(raw); got != want {
				t.Errorf("compact %q = %q, want %q", raw, got, want)
			}
		})
	}
}
