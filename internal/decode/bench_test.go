package decode

import "testing"

// BenchmarkDelta reads one args delta as each format writes it.
func BenchmarkDelta(b *testing.B) {
	for format, event := range map[string]string{
		"openai-chat": `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz","object":"chat.completion.chunk","created":1770764938,"model":"gpt-5","service_tier":"default","system_fingerprint":"fp_49c5j0a323","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"ci"}}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"abcdef"}`,
		"anthropic":   `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Pa"}}`,
	} {
		for framing, data := range map[string]string{"json": event, "sse": "event: x\ndata: " + event + "\n\n"} {
			b.Run(format+"/"+framing, func(b *testing.B) { benchmark(b, []byte(data)) })
		}
	}
}

func benchmark(b *testing.B, data []byte) {
	var m Memory
	var r Reader
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r.Reset(&m, data, "", Limits{})
		n := 0
		for r.Next() {
			n += len(r.Chunks())
		}
		if n != 1 {
			b.Fatalf("%d chunks, want 1; problem %v", n, r.Problem())
		}
	}
}
