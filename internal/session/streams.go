package session

import (
	"slices"
	"time"

	"streamer/internal/chunks"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/stored"
)

// stream is the stream of an agent below the root, which is decoded by itself: its events
// may come between those of other streams.
type stream struct {
	Namespace string
	Read      decode.State
}

func (s *stream) fields(f *stored.Fields) {
	f.Text("ns", &s.Namespace)
	stored.Object(f, "read", &s.Read, (*decode.State).Fields)
}

type agents struct{ Streams []stream }

func (a *agents) fields(f *stored.Fields) { stored.List(f, "streams", &a.Streams, (*stream).fields) }

// streams returns those of the agents below the root.
func (s *State) streams() []stream {
	if s.Agents == nil {
		return nil
	}
	return s.Agents.Streams
}

// maxStreams bounds the streams of a session. The one that was begun first is forgotten.
const maxStreams = 64

// stream returns what decoding keeps of the stream of a namespace.
func (s *State) stream(namespace string) *decode.State {
	if namespace == "" {
		return &s.Read
	}
	if s.Agents == nil {
		s.Agents = new(agents)
	}
	a := s.Agents
	i := slices.IndexFunc(a.Streams, func(l stream) bool { return l.Namespace == namespace })
	if i < 0 {
		if len(a.Streams) == maxStreams {
			a.Streams = slices.Delete(a.Streams, 0, 1)
		}
		i = len(a.Streams)
		a.Streams = append(a.Streams, stream{Namespace: namespace})
	}
	return &a.Streams[i].Read
}

func feedDelta(step *lifecycle.Step, s *State, in *Input) {
	r := in.reader()
	r.Input = in.Seq
	namespace := in.Namespace()
	r.Reset(s.stream(namespace), in.Data, in.Format(), decode.Limits{})
	apply(step, r, namespace, in.ParentCall())
}

func apply(step *lifecycle.Step, r *decode.Reader, namespace, parent string) {
	for r.Next() {
		step.Shape = r.Shape()
		list := r.Chunks()
		if namespace != "" {
			list = below(list, namespace, parent)
		}
		step.Chunks(list)
		reject(step, r.Problem())
		step.EndEvent()
	}
}

// below moves chunks into a namespace. What they state of a run is meant of its agent.
func below(list []chunks.Chunk, namespace, parent string) []chunks.Chunk {
	out := list[:0]
	for _, c := range list {
		switch c.Kind {
		case chunks.RunStart:
			continue
		case chunks.RunEnd:
			if c.Status == string(events.Completed) {
				continue
			}
			c = chunks.Chunk{Kind: chunks.Failure, Text: c.Text}
		case chunks.Done:
			c = chunks.Chunk{Kind: chunks.Ended}
		case chunks.Fragment:
			if c.ParentCall == "" {
				c.ParentCall = parent
			}
		}
		if c.Namespace != "" {
			c.Namespace = "|" + c.Namespace
		}
		c.Namespace = namespace + c.Namespace
		out = append(out, c)
	}
	return out
}

// cutAfter is the silence after which nothing continues an event that was cut between
// two deltas.
const cutAfter = events.Time(10 * time.Second / time.Millisecond)

// pending reports whether an event was cut in any stream.
func (s *State) pending() bool {
	return s.Read.Pending() || slices.ContainsFunc(s.streams(), func(l stream) bool { return l.Read.Pending() })
}

// endDeltas rejects the events that were cut and that nothing continues.
func endDeltas(step *lifecycle.Step, s *State) {
	endStream(step, &s.Read, "")
	list := s.streams()
	for i := range list {
		endStream(step, &list[i].Read, list[i].Namespace)
	}
}

func endStream(step *lifecycle.Step, read *decode.State, namespace string) {
	if read.Pending() {
		r := decode.Reader{Input: step.Seq}
		r.End(read, decode.Limits{})
		apply(step, &r, namespace, "")
	}
}
