package decode

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/decode/langchain"
)

// FuzzLangChain reads two events that the format is told to be of: nothing
// panics, what is emitted says something, and the memory stays bounded.
func FuzzLangChain(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "langchain", "*.jsonl"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no streams: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		before := []byte("{}")
		for line := range bytes.Lines(data) {
			f.Add(before, bytes.TrimSpace(line))
			before = bytes.TrimSpace(line)
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var m State
		var r Reader
		for _, input := range [][]byte{first, second, first} {
			r.Reset(&m, input, "langchain", Limits{})
			for r.Next() {
				for _, c := range r.Chunks() {
					if c.Kind == chunks.Fragment && c.ID == "" && c.Name == "" && c.Args == "" {
						t.Errorf("%q: %+v says nothing", input, c)
					}
					if c.Kind == chunks.Result && c.ID == "" && c.Call == "" {
						t.Errorf("%q: %+v is a result of no call", input, c)
					}
				}
			}
		}
		if n := len(decoderOf[*langchain.Decoder](&m).Messages.Streamed); n > 64 {
			t.Errorf("%q, %q: %d messages are remembered", first, second, n)
		}
		if n := len(decoderOf[*langchain.Decoder](&m).Messages.Partial); n > 16 {
			t.Errorf("%q, %q: %d growing messages are remembered", first, second, n)
		}
	})
}

// BenchmarkLangChain reads one delta of a call: as the server sends it, and as
// LangGraph yields it in JavaScript.
func BenchmarkLangChain(b *testing.B) {
	const metadata = `{"tags":["seq:step:2"],"ls_integration":"langchain_chat_model","langgraph_step":1,"langgraph_node":"agent","langgraph_triggers":["branch:to:agent"],"langgraph_path":["__pregel_pull","agent"],"langgraph_checkpoint_ns":"agent:b4f38439-b49c-5830-b673-f484d9928e61","checkpoint_ns":"agent:b4f38439-b49c-5830-b673-f484d9928e61","ls_provider":"openai","ls_model_name":"gpt-4o","ls_model_type":"chat"}`
	const pieces = `"content":"","additional_kwargs":{},"response_metadata":{"model_provider":"openai"},"tool_calls":[],"invalid_tool_calls":[{"name":"","args":"on","error":"Malformed args.","type":"invalid_tool_call"}],"id":"chatcmpl-C1KMEUDb1vVwsROQUCZTgG6A6vtWo","tool_call_chunks":[{"args":"\"Paris\"","index":0,"type":"tool_call_chunk"}]`
	for _, bench := range []struct{ name, event string }{
		{"server", `{"event":"messages|agent:b4f38439-b49c-5830-b673-f484d9928e61","data":[{` + pieces + `,"type":"ai"},` + metadata + `]}`},
		{"tuple", `["messages",[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{` + pieces + `}},` + metadata + `]]`},
	} {
		data := []byte(bench.event)
		read := func(b *testing.B, r *Reader, m *State) {
			r.Reset(m, data, "", Limits{})
			for r.Next() {
				if len(r.Chunks()) != 1 {
					b.Fatalf("%s: got %d chunks, want 1", data, len(r.Chunks()))
				}
			}
		}
		b.Run(bench.name, func(b *testing.B) {
			var r Reader
			var m State
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				read(b, &r, &m)
			}
		})
		b.Run(bench.name+"/decode only", func(b *testing.B) {
			var r Reader
			var m State
			read(b, &r, &m)
			f, problem := piece{text: bench.event}.frame()
			if problem != nil {
				b.Fatal(problem)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.w.Reset()
				if problem := r.decode(f); problem != nil {
					b.Fatal(problem)
				}
			}
		})
	}
}
