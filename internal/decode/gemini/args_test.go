package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"

	"github.com/tidwall/gjson"
)

// pieces cuts args into pieces: one for each value, and one for each character
// of a string and for its end.
func pieces(path string, v any, emit func(path, member string, continues bool)) {
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
		d := new(decoder)
		var got strings.Builder
		read := func(call string) {
			event := `{"candidates":[{"content":{"parts":[{"functionCall":` + call + `}]}}],"responseId":"r"}`
			if underscores {
				event = strings.NewReplacer("functionCall", "function_call", "partialArgs", "partial_args", "jsonPath", "json_path",
					"Value", "_value", "willContinue", "will_continue", "responseId", "response_id").Replace(event)
			}
			list, problem := decode(d, event)
			for _, c := range list {
				got.WriteString(c.Args)
			}
			if problem != nil {
				t.Errorf("%s: %s", event, problem.Text)
			}
			data := stored.Append(nil, d, (*decoder).Fields)
			d = new(decoder)
			if err := stored.Load(data, d, (*decoder).Fields); err != nil {
				t.Fatal(err)
			}
		}
		read(`{"name":"f","willContinue":true}`)
		pieces("$", args, func(path, member string, continues bool) {
			read(fmt.Sprintf(`{"partialArgs":[{"jsonPath":%q,%s,"willContinue":%t}],"willContinue":true}`, path, member, continues))
		})
		read(`{}`)
		if got.String() != want {
			t.Errorf("underscores %t\n got %s\nwant %s", underscores, got.String(), want)
		}
		if d.Open || d.Args.Levels != nil {
			t.Errorf("after the end %+v is left", d)
		}
	}
}

// TestPiecesAreBounded checks that the state of a call has a limit, and that the args
// become invalid beyond it.
func TestPiecesAreBounded(t *testing.T) {
	d := new(decoder)
	problems := 0
	for i := range maxKeys + 10 {
		call := fmt.Sprintf(`{"partialArgs":[{"jsonPath":"$.k%d","numberValue":1}],"willContinue":true}`, i)
		if i == 0 {
			call = `{"name":"f","willContinue":true}`
		}
		if _, problem := decode(d, `{"candidates":[{"content":{"parts":[{"functionCall":`+call+`}]}}]}`); problem != nil {
			problems++
		}
	}
	if problems != 1 || !d.Args.Invalid || len(d.Args.Levels) != 0 {
		t.Errorf("%d problems, %d levels are stored; want 1, invalid args, and none", problems, len(d.Args.Levels))
	}
	end, _ := decode(d, `{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}`)
	if len(end) != 1 || end[0].Kind != chunks.Seal {
		t.Errorf("the end emits %+v, want a seal and no closing brace", end)
	}
}

// decode returns the chunks of an event.
func decode(d *decoder, event string) ([]chunks.Chunk, *wire.Problem) {
	var w wire.Writer
	problem := d.Decode(&w, wire.Frame{JSON: jsonscan.ValueOf(event)})
	return w.Chunks(), problem
}

// FuzzPieces reads values at any paths. The text is whole JSON with those values in
// their order, or the args are invalid and the text is incomplete.
func FuzzPieces(f *testing.F) {
	f.Add("$.a\n$.b[0].c\n$.b[0].d\n$.b[1]\n$['x y'].z", true)
	f.Add("$.a.x\n$.b\n$.a.y", false)
	f.Add("$[0]\n$\n$.a[1]", false)
	f.Fuzz(func(t *testing.T, paths string, asText bool) {
		w, d := new(wire.Writer), new(decoder)
		var text strings.Builder
		var a Args
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
			piece, problem := d.piece(w, &a, jsonscan.ValueOf(`{"jsonPath":`+string(quoted)+`,`+value+`}`))
			if problem == nil && !a.Invalid {
				n++
			}
			text.WriteString(piece)
		}
		whole := n > 0 && !a.Invalid
		if whole {
			text.Write(a.close(nil, 0))
		}
		if got := gjson.Valid(text.String()); got != whole {
			t.Errorf("paths %q: text %q, whole %t; want %t", paths, text.String(), got, whole)
		}
	})
}
