package patch_test

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/patch"
)

// conversation returns a history of n messages of typical sizes, four per question.
// If damaged is true, every third call has no result, and every seventh has it
// after the user's next message.
func conversation(shape patch.Shape, n int, damaged bool) []byte {
	var s []event
	for i := range n / 4 {
		c := toolCall{id: fmt.Sprintf("call_%d", i), name: "search", args: fmt.Sprintf(`{"query":"number %d","limit":10}`, i)}
		question := event{kind: "user", text: fmt.Sprintf("Please do \"this\" number %d and tell me\nwhat you found, in a sentence or two.", i)}
		turn := event{kind: "turn", calls: []toolCall{c}}
		found := event{kind: "result", id: c.id, name: c.name, text: fmt.Sprintf("line one\nline two of the result %d, which is not that long", i)}
		answer := event{kind: "turn", text: "The tool found nothing."}
		switch {
		case damaged && i%3 == 0:
			s = append(s, turn, question, question, answer)
		case damaged && i%7 == 0:
			s = append(s, turn, question, found, answer)
		default:
			s = append(s, question, turn, found, answer)
		}
	}
	return render(shape, s)
}

func BenchmarkRepair(b *testing.B) {
	for _, shape := range tested {
		for _, n := range []int{1000, 10_000, 100_000} {
			for _, damaged := range []bool{false, true} {
				state := map[bool]string{false: "clean", true: "damaged"}[damaged]
				input := conversation(shape, n, damaged)
				b.Run(fmt.Sprintf("%s/%d/%s", shape, n, state), func(b *testing.B) {
					b.SetBytes(int64(len(input)))
					b.ReportAllocs()
					for b.Loop() {
						r, err := patch.Repair(shape, input, patch.Options{})
						if err != nil || r.Report.Patched != damaged {
							b.Fatal(r.Report.Patched, err)
						}
					}
				})
			}
		}
	}
}

// TestAllocations checks that an unchanged message costs no allocation, in a
// history of any length.
func TestAllocations(t *testing.T) {
	for _, shape := range tested {
		allocs := func(n int) float64 {
			input := conversation(shape, n, false)
			return testing.AllocsPerRun(5, func() {
				if _, err := patch.Repair(shape, input, patch.Options{}); err != nil {
					t.Fatal(err)
				}
			})
		}
		few, many := allocs(1000), allocs(2000)
		if each := (many - few) / 1000; each > 0.05 {
			t.Errorf("%s: %.0f allocations for 1,000 messages, %.0f for 2,000: %.3f each, not at most 0.05", shape, few, many, each)
		}
	}
}

// TestGrowth checks that the time grows linearly with the number of messages, in
// histories that are hard to repair. With linear growth, four times as many
// messages take four times as long; with quadratic growth, sixteen times.
func TestGrowth(t *testing.T) {
	for name, history := range worstCases() {
		for _, shape := range tested {
			few, many := render(shape, history(300)), render(shape, history(1200))
			short, long, ratio := time.Hour, time.Hour, 0.0
			for range 100 { // other processes slow down some measurements
				short, long = min(short, duration(t, shape, few)), min(long, duration(t, shape, many))
				if ratio = float64(long) / float64(short); ratio < 10 {
					break
				}
			}
			if ratio >= 10 {
				t.Errorf("%s, %s: four times the messages take %.1f times as long", name, shape, ratio)
			}
		}
	}
}

// duration returns the time of a repair.
func duration(t *testing.T, shape patch.Shape, input []byte) time.Duration {
	start := time.Now()
	if _, err := patch.Repair(shape, input, patch.Options{}); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// worstCases returns histories with n calls in which results are far from their
// calls, or ids repeat.
func worstCases() map[string]func(n int) []event {
	call := func(i int) toolCall { return toolCall{id: fmt.Sprint("c", i), name: "x", args: "{}"} }
	turn := func(calls ...toolCall) event { return event{kind: "turn", calls: calls} }
	found := func(i int) event { return event{kind: "result", id: fmt.Sprint("c", i), text: "r"} }
	return map[string]func(n int) []event{
		"one id for all": func(n int) (s []event) {
			for range n {
				s = append(s, turn(call(0)), found(0), found(0))
			}
			return s
		},
		"all results at the end": func(n int) (s []event) {
			for i := range n {
				s = append(s, turn(call(i)))
			}
			for i := range n {
				s = append(s, found(n-1-i))
			}
			return s
		},
		"all results at the beginning": func(n int) (s []event) {
			for i := range n {
				s = append(s, found(i))
			}
			for i := range n {
				s = append(s, turn(call(i)))
			}
			return s
		},
		"one turn, every id twice": func(n int) (s []event) {
			var calls []toolCall
			for i := range n {
				calls = append(calls, call(i%(n/2)))
			}
			s = append(s, turn(calls...))
			for i := range n {
				s = append(s, found((n-1-i)%(n/2)))
			}
			return s
		},
		"one id in one turn": func(n int) (s []event) {
			s = append(s, event{kind: "turn"})
			for i := range n {
				c := call(0)
				c.args = fmt.Sprintf(`{"n":%d}`, i)
				s[0].calls = append(s[0].calls, c)
			}
			return s
		},
		"no ids": func(n int) (s []event) {
			for i := range n {
				s = append(s, turn(toolCall{name: fmt.Sprint("x", i), args: "{}"}), event{kind: "result", name: fmt.Sprint("x", i), text: "r"})
			}
			return s
		},
		"one gap of orphans": func(n int) (s []event) {
			s = append(s, turn(call(0)))
			for i := range n {
				s = append(s, found(i+1))
			}
			return append(s, found(0))
		},
	}
}
