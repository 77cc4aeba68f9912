// Package durable serves sessions as streams of the Durable Streams Protocol 1.0,
// https://github.com/durable-streams/durable-streams/blob/main/PROTOCOL.md, which can only
// be read. A stream is never closed, and each session has one: without events it is empty.
package durable

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
	"streamer/internal/gateway/respond"
)

// Gateway is the gateway, as the handler uses it. The session is that in the path.
type Gateway interface {
	// Last returns the sequence of the last event, 0 if there is none.
	Last(r *http.Request) (uint64, error)
	// OpeningAt returns the opening of a stream of the events after a sequence. It refuses
	// one that is none of the session, or whose next events are not stored any more.
	OpeningAt(w http.ResponseWriter, r *http.Request, from uint64) (encode.Opening, error)
	// Stream streams the session in a protocol, from the event after open.From on.
	Stream(w http.ResponseWriter, r *http.Request, protocol string, open encode.Opening, header [][2]string) error
	// Batch returns stored events after a sequence, and whether they are all. If there are
	// none and wait is set, it waits for the next ones for a limited time.
	Batch(w http.ResponseWriter, r *http.Request, from uint64, wait bool) (list []events.Record, all bool, err error)
}

// Values of the query.
const (
	start    = "-1"  // offset of the beginning
	tail     = "now" // offset of the end
	sse      = "sse" // live
	longPoll = "long-poll"
)

const policy, sameOrigin = "Cross-Origin-Resource-Policy", "same-origin"

// Handler returns the handler of GET and HEAD.
func Handler(g Gateway) func(http.ResponseWriter, *http.Request) error {
	return server{g}.serve
}

type server struct{ Gateway }

func (s server) serve(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	offset, live := query.Get("offset"), query.Get("live")
	switch {
	case live != "" && live != sse && live != longPoll:
		return respond.Refuse(http.StatusBadRequest, "live is neither sse nor long-poll")
	case len(query["offset"]) > 1 || query.Has("offset") && offset == "":
		return respond.Refuse(http.StatusBadRequest, "offset is empty, or there are several")
	case live != "" && offset == "":
		return respond.Refuse(http.StatusBadRequest, "offset is missing: live needs it")
	}
	if r.Method == http.MethodHead {
		return s.head(w, r)
	}
	from, err := s.parse(r, offset)
	if err != nil {
		return err
	}
	open, err := s.OpeningAt(w, r, from)
	if err != nil {
		return err
	}
	open.Cursor = cursor(time.Now(), query.Get("cursor"))
	switch {
	case live == sse:
		return s.Stream(w, r, "durable-streams", open, [][2]string{{policy, sameOrigin}})
	case live == "" && offset == tail:
		w.Header().Set("Cache-Control", "no-store")
		return send(w, open, nil, true)
	}
	list, all, err := s.Batch(w, r, from, live == longPoll)
	if err != nil {
		return err
	}
	if len(list) == 0 && live == longPoll {
		w.Header().Set("Cache-Control", "no-store")
		describe(w, open, list, true)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	// The events of a range never change. A cache asks again nevertheless, because each
	// request needs its token.
	w.Header().Set("Cache-Control", "private, no-cache")
	if offset != tail {
		etag := `"` + encode.DurableOffset(from) + "-" + encode.DurableOffset(lastOf(open, list)) + `"`
		w.Header().Set("ETag", etag)
		if strings.Contains(r.Header.Get("If-None-Match"), etag) {
			describe(w, open, list, all)
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return send(w, open, list, all)
}

// head answers with the offset of the end.
func (s server) head(w http.ResponseWriter, r *http.Request) error {
	last, err := s.Last(r)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set(policy, sameOrigin)
	h.Set("Stream-Next-Offset", encode.DurableOffset(last))
	return nil
}

// parse returns the sequence of an offset.
func (s server) parse(r *http.Request, offset string) (uint64, error) {
	switch offset {
	case "", start:
		return 0, nil
	case tail:
		return s.Last(r)
	}
	seq, err := strconv.ParseUint(offset, 10, 64)
	if err != nil {
		return 0, respond.Refuse(http.StatusBadRequest, "offset is none of this stream: send the Stream-Next-Offset of an answer, -1 or now")
	}
	return seq, nil
}

// cursor returns the number of the present interval, or a greater one than the client
// has. Otherwise a cache could repeat its answer forever
// (https://github.com/durable-streams/durable-streams/blob/main/PROTOCOL.md#101-catch-up-and-long-poll-reads).
func cursor(now time.Time, client string) string {
	const (
		jitter = 180     // intervals in an hour
		most   = 1 << 53 // greater numbers are not exact in JavaScript
	)
	n := encode.DurableInterval(events.At(now))
	if had, err := strconv.ParseInt(client, 10, 64); err == nil && had >= n && had < most {
		n = had + 1 + rand.Int64N(jitter)
	}
	return strconv.FormatInt(n, 10)
}

func lastOf(open encode.Opening, list []events.Record) uint64 {
	if len(list) == 0 {
		return open.From
	}
	return list[len(list)-1].Seq
}

// describe sets the headers of a range of events. all states that the range reaches the
// end of the stream.
func describe(w http.ResponseWriter, open encode.Opening, list []events.Record, all bool) {
	h := w.Header()
	h.Set(policy, sameOrigin)
	h.Set("Stream-Next-Offset", encode.DurableOffset(lastOf(open, list)))
	h.Set("Stream-Cursor", open.Cursor)
	if all {
		h.Set("Stream-Up-To-Date", "true")
	}
}

// send answers with a range of events, one a line.
func send(w http.ResponseWriter, open encode.Opening, list []events.Record, all bool) error {
	describe(w, open, list, all)
	body := make([][]byte, len(list))
	for i, r := range list {
		body[i] = encode.DurableMessage(r)
	}
	w.Header().Set("Content-Type", "application/json")
	// An error means that the client has disconnected.
	_, _ = w.Write(append(append([]byte("["), bytes.Join(body, []byte(",\n"))...), ']'))
	return nil
}
