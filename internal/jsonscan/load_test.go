package jsonscan

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// sample has a field of each kind that Load supports.
type sample struct {
	Name  string         `json:"name"`
	Yes   bool           `json:"yes"`
	N     int            `json:"n"`
	Small uint8          `json:"small"`
	Word  uint32         `json:"word"`
	Big   uint64         `json:"big"`
	Bytes []byte         `json:"bytes"`
	Texts []string       `json:"texts"`
	Nest  []sample       `json:"nest"`
	Refs  []*sample      `json:"refs"`
	Other map[string]int `json:"other"`
}

func (s *sample) Field(key string) any {
	switch key {
	case "name":
		return &s.Name
	case "yes":
		return &s.Yes
	case "n":
		return &s.N
	case "small":
		return &s.Small
	case "word":
		return &s.Word
	case "big":
		return &s.Big
	case "bytes":
		return &s.Bytes
	case "texts":
		return (*List[string])(&s.Texts)
	case "nest":
		return (*List[sample])(&s.Nest)
	case "refs":
		return (*Pointers[sample])(&s.Refs)
	case "other":
		return &s.Other
	}
	return nil
}

// TestLoad checks which texts Load reads, and that it reads them as encoding/json does.
func TestLoad(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true,
		`{"name":"a","yes":true,"n":-7,"small":255,"word":4294967295,"big":18446744073709551615,"bytes":"AQI="}`:   true,
		`{"texts":["a","","\u00e9\n"],"nest":[{"n":1},{"nest":[{"n":2}]}],"refs":[{"yes":false}],"other":{"b":1}}`: true,
		`{"name":""}`: true, `{"name":"\""}`: true,
		`{"unknown":1}`: false, `{"Name":"a"}`: false, `{"n": 1}`: false, `{"n":1} `: false, ` {}`: false, `{"n":1.0}`: false,
		`{"small":256}`: false, `{"n":"1"}`: false, `{"yes":1}`: false, `{"bytes":"?"}`: false, `{"bytes":""}`: false,
		`{"nest":null}`: false, `{"nest":{}}`: false, `{"nest":[1]}`: false, `{"\u006e":1}`: false,
		`[]`: false, `1`: false, ``: false, `{`: false, `{"n":1`: false, `{"n":1,}`: false, `{"n"1}`: false, `{"n":1 "yes":true}`: false, `{}{}`: false,
	} {
		var got sample
		if ok := Load(text, &got); ok != want {
			t.Errorf("%s is loaded: %t, want %t", text, ok, want)
		}
		likeStandard(t, text)
	}
}

// likeStandard checks that what Load reads is what encoding/json reads.
func likeStandard(t *testing.T, text string) {
	t.Helper()
	var got, want sample
	if !Load(text, &got) {
		return
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v, %v", text, got, want, err)
	}
}

// FuzzLoad checks that Load reads a value as encoding/json does, after it was written by
// encoding/json, and that no text panics.
func FuzzLoad(f *testing.F) {
	f.Add(`{"name":"a","nest":[{"n":1,"texts":["b"]}],"refs":[{"big":3}],"bytes":"AQI="}`)
	f.Add(`{"n":1,"n":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		Load(text, new(sample))
		var s sample
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		likeStandard(t, string(written))
	})
}
