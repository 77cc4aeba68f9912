package decode

import (
	"testing"

	"streamer/internal/decode/framing"
)

// BenchmarkLangChain reads a delta of a call as the server sends it, and as LangGraph
// emits it in JavaScript.
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
			f, problem := frameOf(framing.Event{Text: bench.event})
			if problem != nil {
				b.Fatal(problem)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.w.Reset()
				if problem := r.decode(&framing.Event{}, f); problem != nil {
					b.Fatal(problem)
				}
			}
		})
	}
}
