package patch_test

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/patch"
)

// BenchmarkProfiles repairs histories in which every result is far behind its call.
// A system that searches forward for each call needs quadratic time.
func BenchmarkProfiles(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		for _, c := range []struct {
			profile string
			shape   patch.Shape
		}{{"deepagents", patch.LangChain}, {"deepagents-js", patch.LangChain}, {"sagents", patch.LangChain}, {"eino", patch.OpenAI}, {"eino-0.8", patch.OpenAI}} {
			b.Run(fmt.Sprintf("%s/%s/messages=%d", c.profile, c.shape, n), func(b *testing.B) {
				input := farApart(c.shape, n)
				b.SetBytes(int64(len(input)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := patch.Repair(c.shape, input, patch.Options{Profile: c.profile}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// farApart returns a history of n messages: turns with one call, each after a
// user's message, then all results.
func farApart(shape patch.Shape, n int) []byte {
	var all []string
	for i := range n / 3 {
		id := fmt.Sprint("call_", i)
		if shape == patch.OpenAI {
			all = append(all, `{"role":"user","content":"hm"}`, einoTurn(einoCall(id, "x")))
		} else {
			all = append(all, lcHuman, lcAI(lcCall(id, "x")))
		}
	}
	for i := range n / 3 {
		id := fmt.Sprint("call_", i)
		if shape == patch.OpenAI {
			all = append(all, einoTool(id))
		} else {
			all = append(all, lcTool(id))
		}
	}
	return []byte("[" + strings.Join(all, ",") + "]")
}
