package decode

import "testing"

// BenchmarkDelta reads one args delta as each format writes it.
func BenchmarkDelta(b *testing.B) {
	before := map[string]string{ // begins the message or the call of the delta
		"ag-ui":              `{"type":"TOOL_CALL_START","toolCallId":"call_u3QxWc5bVZr8","toolCallName":"f"}`,
		"langgraph-protocol": `{"type":"event","seq":1,"method":"messages","params":{"namespace":["model_request:db60c136-bbdc-5c76-a665-4bd487797692"],"data":{"event":"message-start","id":"m","run_id":"019de07f-de8b-737f-a872-e81aabb47645"}}}`,
	}
	for format, event := range map[string]string{
		"openai-chat":         `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz","object":"chat.completion.chunk","created":1770764938,"model":"gpt-5","service_tier":"default","system_fingerprint":"fp_49c5j0a323","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"ci"}}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"abcdef"}`,
		"anthropic":           `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Pa"}}`,
		"gemini":              `{"candidates":[{"content":{"role":"model","parts":[{"text":"The weather in"}]},"index":0}],"usageMetadata":{"trafficType":"ON_DEMAND"},"modelVersion":"gemini-3-flash-preview","createTime":"2026-05-04T20:01:02.264968Z","responseId":"_vr4aYiWEJnYodAPkujX0QM"}`,
		"gemini-interactions": `{"index":1,"delta":{"arguments":"{\"location\":","type":"arguments_delta"},"event_type":"step.delta"}`,
		"ollama":              `{"model":"qwen3:latest","created_at":"2026-08-07T06:08:11.017589Z","message":{"role":"assistant","content":" weather"},"done":false}`,
		"openai-responses":    `{"type":"response.function_call_arguments.delta","item_id":"fc_08207efc227d586b016a85bfb3818881a2bee18ba0400fee86","output_index":1,"delta":"{\"city\": \"Pa","sequence_number":42,"obfuscation":"abcdef"}`,
		"langgraph-protocol":  `{"type":"event","event_id":"12","seq":12,"method":"messages","params":{"namespace":["model_request:db60c136-bbdc-5c76-a665-4bd487797692"],"timestamp":1777587970722,"data":{"event":"content-block-delta","index":0,"delta":{"type":"block-delta","fields":{"type":"tool_call_chunk","id":"toolu_01RYpmgSmXeKZcyJWFNzNEt4","name":"calculator","args":"{\"expre"}},"run_id":"019de07f-de8b-737f-a872-e81aabb47645"}}}`,
		"bedrock":             `{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"city\": \"Pa"}},"p":"abcdefghijklmnopqrstuvwxyzABCDEFGH"}}`,
		"vercel-ui":           `{"type":"tool-input-delta","toolCallId":"toolu_01U8pzAHj2vNdPCA2Kf8JjeN","inputTextDelta":"{\"city\": \"Pa"}`,
		"ag-ui":               `{"type":"TOOL_CALL_ARGS","toolCallId":"call_u3QxWc5bVZr8","delta":"{\"city\": \"Pa"}`,
		"cohere":              `{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"ci"}}}}}`,
	} {
		for framing, data := range map[string]string{"json": event, "sse": "event: x\ndata: " + event + "\n\n"} {
			b.Run(format+"/"+framing, func(b *testing.B) { benchmark(b, []byte(before[format]), []byte(data)) })
		}
	}
}

// benchmark reads data again and again. The first event of data may begin a
// message.
func benchmark(b *testing.B, before, data []byte) {
	var m State
	var r Reader
	for _, input := range [][]byte{before, data} {
		r.Reset(&m, input, "", Limits{})
		for r.Next() {
		}
	}
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
