package session

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"streamer/internal/inputs"
)

// BenchmarkCalls measures decoding and folding of a session that makes one call and
// does not return, from raw bytes to the bodies of its events. The call has a number
// of inputs 25 ms apart, of which the last one is its result.
func BenchmarkCalls(b *testing.B) {
	for _, format := range wireFormats {
		for _, n := range []int{20, 50, 300} {
			b.Run(fmt.Sprintf("%s/inputs=%d", format, n), func(b *testing.B) { benchCalls(b, format, n) })
		}
	}
}

// BenchmarkFirstInput measures decoding and folding of the first input of a session,
// a delta of a text, whose format is not known.
func BenchmarkFirstInput(b *testing.B) {
	for _, format := range wireFormats {
		b.Run(format, func(b *testing.B) {
			f, data := newFolder(), instance(wires[format].text, 1, `"Pari"`)
			b.ReportAllocs()
			for b.Loop() {
				s := new(State)
				f.fold(s, time.UnixMilli(0), data)
			}
		})
	}
}

func benchCalls(b *testing.B, format string, n int) {
	list := callInputs(format, 1, 4*(n-3))
	f := newFolder()
	count := 0
	b.ReportAllocs()
	for b.Loop() {
		s := new(State)
		s.Read.Format = format
		count += f.call(b, s, 0, list)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(len(list)+1)), "ns/input")
	b.ReportMetric(float64(count)/float64(b.N), "events/op")
}

// call folds the inputs of a call and its result, and returns the number of events.
func (f *folder) call(b testing.TB, s *State, at time.Duration, list [][]byte) (count int) {
	for i, data := range list {
		f.fold(s, time.UnixMilli(0).Add(at+time.Duration(i)*every), data)
		count += f.bodies(b)
	}
	f.seq++
	f.out = Fold(f.out[:0], s, Input{Rules: &f.rules, Reader: &f.reader, Input: inputs.Input{
		Seq: f.seq, At: time.UnixMilli(0).Add(at + time.Second), Token: "s", Kind: inputs.Result,
		Data: []byte(`{"tool_call_id":"` + s.Life.Messages[0].Calls[0].ID + `","content":"ok"}`),
	}})
	return count + f.bodies(b)
}

// bodies makes the bodies of the events of the last input, and returns their number.
func (f *folder) bodies(b testing.TB) int {
	for i := range f.out {
		body, err := f.out[i].AppendBody(f.body[:0])
		if err != nil {
			b.Fatal(err)
		}
		f.body, f.kept = body, bytes.Clone(body)
	}
	return len(f.out)
}

// callStates returns the states of a session with an open call, and after the call.
func callStates(tb testing.TB, format string) (open, closed *State) {
	tb.Helper()
	list := callInputs(format, 1, 80)
	f := newFolder()
	open, closed = new(State), new(State)
	open.Read.Format, closed.Read.Format = format, format
	for i, data := range list[:10] {
		f.fold(open, time.UnixMilli(0).Add(time.Duration(i)*every), data)
	}
	f.call(tb, closed, 0, list)
	return open, closed
}

// BenchmarkState measures writing and loading the state of a session with an open
// call, and after the call.
func BenchmarkState(b *testing.B) {
	for _, format := range wireFormats {
		open, closed := callStates(b, format)
		for name, s := range map[string]*State{"open": open, "closed": closed} {
			data, err := s.Marshal()
			if err != nil {
				b.Fatal(err)
			}
			b.Run(format+"/"+name+"/write", func(b *testing.B) {
				var dst []byte // a worker reuses it, too
				measure(b, len(data), func() (err error) { dst, err = s.Append(dst[:0]); return err })
			})
			b.Run(format+"/"+name+"/load", func(b *testing.B) {
				measure(b, len(data), func() error { _, err := Load(data); return err })
			})
		}
	}
}

// measure measures an operation on a state of a size.
func measure(b *testing.B, size int, do func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size), "bytes")
}
