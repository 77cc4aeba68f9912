package decode

import (
	"slices"
	"testing"

	"streamer/internal/decode/template"
)

// BenchmarkDelta reads the delta of the first stream in testdata/<format>/deltas.txt,
// as JSON and as SSE text. The allocations are those of the Reader and the decoder
// for a delta that repeats an earlier one except for its text. A format with slots
// is read from a template, as in a session; "general" is without templates.
func BenchmarkDelta(b *testing.B) {
	for _, format := range Names() {
		list := repeatingStreams(b, format)
		if len(list) == 0 {
			continue
		}
		event := list[0].with(`"{\"city\": \"Pa"`, 1)
		for _, framing := range []struct{ name, data string }{{"json", event}, {"sse", "data: " + event + "\n\n"}} {
			if framing.name == "sse" && format == "ai-sdk-v4" {
				continue // its lines are no JSON
			}
			b.Run(format+"/"+framing.name, func(b *testing.B) { benchmark(b, list[0].before, framing.data, true) })
		}
		b.Run(format+"/general", func(b *testing.B) { benchmark(b, list[0].before, event, false) })
	}
}

// benchmark reads data again and again. The first event of data may begin a
// message.
func benchmark(b *testing.B, before []string, data string, templates bool) {
	var m State
	var r Reader
	for _, input := range slices.Concat(before, []string{data}) {
		r.Reset(&m, []byte(input), "", Limits{})
		for r.Next() {
		}
	}
	input := []byte(data)
	b.ReportAllocs()
	b.SetBytes(int64(len(input)))
	for b.Loop() {
		if !templates {
			r.templates = template.Cache{}
		}
		r.Reset(&m, input, "", Limits{})
		n := 0
		for r.Next() {
			n += len(r.Chunks())
		}
		if n != 1 {
			b.Fatalf("%d chunks, want 1; problem %v", n, r.Problem())
		}
	}
}

// BenchmarkFirstInput reads the first input of a session, whose format is not known,
// with a Reader that has read other sessions.
func BenchmarkFirstInput(b *testing.B) {
	for _, format := range Names() {
		list := repeatingStreams(b, format)
		if len(list) == 0 {
			continue
		}
		first := []byte(slices.Concat(list[0].before, []string{list[0].with(`"Pa"`, 1)})[0])
		b.Run(format, func(b *testing.B) {
			var r Reader
			b.ReportAllocs()
			for b.Loop() {
				var s State
				r.Reset(&s, first, "", Limits{})
				for r.Next() {
				}
				if s.Format == "" {
					b.Fatalf("input %s: the format is not recognised", first)
				}
			}
		})
	}
}

// BenchmarkPieces reads a piece of a string in Gemini's args, with and without templates.
func BenchmarkPieces(b *testing.B) {
	before := []string{geminiCall, argsPiece("$.text", "one")}
	b.Run("json", func(b *testing.B) { benchmark(b, before, argsPiece("$.text", " two"), true) })
	b.Run("general", func(b *testing.B) { benchmark(b, before, argsPiece("$.text", " two"), false) })
}
