package broker

import (
	"encoding/json"
	"testing"
)

// FuzzPlainAck: what the short way reads, encoding/json reads the same.
func FuzzPlainAck(f *testing.F) {
	for _, s := range []string{
		`{"stream":"LLM","seq":42}`,
		`{"stream":"LLM","domain":"hub","seq":18446744073709551615}`,
		`{"stream":"LLM","seq":42,"duplicate": true}`,
		`{"stream":"LLM","seq":0}`,
		`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"LLM","seq":0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		seq, ok := plainAck(data)
		if !ok {
			return
		}
		var want struct {
			failure
			Seq       uint64 `json:"seq"`
			Duplicate bool   `json:"duplicate"`
		}
		if err := json.Unmarshal(data, &want); err != nil || seq != want.Seq || want.Err != nil || want.Duplicate || seq == 0 {
			t.Errorf("%q: got %d, want %+v, %v", data, seq, want, err)
		}
	})
}

func TestPlainAck(t *testing.T) {
	for data, want := range map[string]uint64{
		`{"stream":"LLM","seq":42}`:                                    42,
		`{"stream":"LLM","domain":"hub","seq":18446744073709551615}`:   18446744073709551615,
		`{"stream":"LLM","seq":18446744073709551616}`:                  0,
		`{"stream":"LLM","seq":42,"duplicate": true}`:                  0,
		`{"stream":"LLM","seq":0}`:                                     0,
		`{"stream":"LLM","seq":-1}`:                                    0,
		`{"stream":"L\"","seq":7}`:                                     0,
		"{\"stream\":\"L\x06\",\"seq\":7}":                             0,
		`{"stream":"LLM","seq":7`:                                      0,
		`{"stream":"LLM"}`:                                             0,
		`{"error":{"code":503,"err_code":10008,"description":"busy"}}`: 0,
		``: 0,
	} {
		if got, ok := plainAck([]byte(data)); got != want && ok || ok != (want > 0) {
			t.Errorf("%s: got %d, %v, want %d", data, got, ok, want)
		}
	}
}
