package decode

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
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
	}
}

// pieces cuts args into pieces: one for each value, and one for each character
// of a string and for its end.
func pieces(path string, v any, emit func(path, member string, goesOn bool)) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			pieces(fmt.Sprintf("%s[%d]", path, i), e, emit)
		}
	case object:
		for _, m := range v {
			pieces(path+"['"+m.key+"']", m.value, emit)
		}
	case string:
		for _, c := range v {
			text, _ := json.Marshal(string(c))
			emit(path, `"stringValue":`+string(text), true)
		}
		emit(path, `"stringValue":""`, false)
	case nil:
		emit(path, `"nullValue":null`, false)
	case bool:
		emit(path, fmt.Sprintf(`"boolValue":%t`, v), false)
	default:
		emit(path, fmt.Sprintf(`"numberValue":%v`, v), false)
	}
}

// object is an object with its members in order.
type object []struct {
	key   string
	value any
}

func TestPiecesMakeTheText(t *testing.T) {
	args := object{
		{"a", "x \"y\" \\ \n 日本"},
		{"b", object{{"c", 1.5}, {"d d", []any{true, nil, "z", []any{1, []any{2}}}}, {"e", object{{"f", ""}}}}},
		{"g", []any{object{{"h", "i"}}, object{{"h", "j"}, {"k", -1}}}},
		{"l", false},
	}
	const want = `{"a":"x \"y\" \\ \n 日本","b":{"c":1.5,"d d":[true,null,"z",[1,[2]]],"e":{"f":""}},"g":[{"h":"i"},{"h":"j","k":-1}],"l":false}`
	for _, underscores := range []bool{false, true} {
		var m Memory
		var r Reader
		var got strings.Builder
		read := func(call string) {
			event := `{"candidates":[{"content":{"parts":[{"functionCall":` + call + `}]}}],"responseId":"r"}`
			if underscores {
				event = strings.NewReplacer("functionCall", "function_call", "partialArgs", "partial_args", "jsonPath", "json_path",
					"Value", "_value", "willContinue", "will_continue", "responseId", "response_id").Replace(event)
			}
			r.Reset(&m, []byte(event), "", Limits{})
			for r.Next() {
				for _, c := range r.Chunks() {
					got.WriteString(c.Args)
				}
				if p := r.Problem(); p != nil {
					t.Errorf("%s: %s", event, p.Text)
				}
			}
			saved, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			m = Memory{}
			if err := json.Unmarshal(saved, &m); err != nil {
				t.Fatal(err)
			}
		}
		read(`{"name":"f","willContinue":true}`)
		pieces("$", args, func(path, member string, goesOn bool) {
			read(fmt.Sprintf(`{"partialArgs":[{"jsonPath":%q,%s,"willContinue":%t}],"willContinue":true}`, path, member, goesOn))
		})
		read(`{}`)
		if got.String() != want {
			t.Errorf("underscores %t\n got %s\nwant %s", underscores, got.String(), want)
		}
		if partOf(&m.Gemini).Open || partOf(&m.Gemini).Args.Levels != nil {
			t.Errorf("after the end %+v is left", partOf(&m.Gemini))
		}
	}
}

// TestPiecesAreBounded: what is remembered of a call has a limit, and the call
// is spoilt, not cut, where it is passed.
func TestPiecesAreBounded(t *testing.T) {
	var m Memory
	var r Reader
	problems := 0
	for i := range maxKeys + 10 {
		call := fmt.Sprintf(`{"partialArgs":[{"jsonPath":"$.k%d","numberValue":1}],"willContinue":true}`, i)
		if i == 0 {
			call = `{"name":"f","willContinue":true}`
		}
		got := transcript(&r, &m, []byte(`{"candidates":[{"content":{"parts":[{"functionCall":`+call+`}]}}]}`), "")
		if strings.Contains(got, "problem") {
			problems++
		}
	}
	if problems != 1 || !partOf(&m.Gemini).Args.Spoilt || len(partOf(&m.Gemini).Args.Levels) != 0 {
		t.Errorf("%d problems, %d levels are kept; want 1, spoilt, and none", problems, len(partOf(&m.Gemini).Args.Levels))
	}
	end := transcript(&r, &m, []byte(`{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}`), "")
	if end != "seal\n" {
		t.Errorf("the end gives %q, want a seal and no closing brace", end)
	}
}

// TestGeminiMemoryIsCloned: reading on leaves a clone as it was.
func TestGeminiMemoryIsCloned(t *testing.T) {
	var m Memory
	var r Reader
	piece := func(path string) string {
		return `{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"` + path + `","numberValue":1}],"willContinue":true}}]}}]}`
	}
	transcript(&r, &m, []byte(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}`), "")
	transcript(&r, &m, []byte(piece("$.a.b")), "")
	clone := m.Clone()
	for _, path := range []string{"$.a.c", "$.d.e", "$.d.f"} {
		transcript(&r, &m, []byte(piece(path)), "")
	}
	want := `fragment Args=",\"g\":1"` + "\n"
	if got := transcript(&r, &clone, []byte(piece("$.a.g")), ""); got != want {
		t.Errorf("the clone goes on with %s, want %s", got, want)
	}
}

// FuzzPieces puts values at any paths. What comes out is whole JSON with those
// values, in their order, or the call is spoilt and its text is not whole.
func FuzzPieces(f *testing.F) {
	f.Add("$.a\n$.b[0].c\n$.b[0].d\n$.b[1]\n$['x y'].z", true)
	f.Add("$.a.x\n$.b\n$.a.y", false)
	f.Add("$[0]\n$\n$.a[1]", false)
	f.Fuzz(func(t *testing.T, paths string, asText bool) {
		var m Memory
		var r Reader
		var text strings.Builder
		r.Reset(&m, nil, "", Limits{})
		var a GeminiArgs
		n := 0
		for i, path := range strings.Split(paths, "\n") {
			quoted, err := json.Marshal(path)
			if err != nil {
				t.Fatal(err)
			}
			value := fmt.Sprintf(`"numberValue":%d`, i)
			if asText {
				value = fmt.Sprintf(`"stringValue":"%d\"","willContinue":%t`, i, i%2 == 0)
			}
			piece, problem := r.geminiPiece(&a, valueOf(`{"jsonPath":`+string(quoted)+`,`+value+`}`))
			if problem == nil && !a.Spoilt {
				n++
			}
			text.WriteString(piece)
		}
		whole := n > 0 && !a.Spoilt
		if whole {
			text.WriteString(r.closeArgs(&a))
		}
		if got := gjson.Valid(text.String()); got != whole {
			t.Errorf("paths %q give %q, whole %t; want %t", paths, text.String(), got, whole)
		}
	})
}
