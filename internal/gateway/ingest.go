package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"unicode/utf8"

	"streamer/internal/events"
	"streamer/internal/gateway/respond"
	"streamer/internal/inputs"
	"streamer/internal/jsonscan"
)

const maxHeaderValue = 512 // maximum length of a forwarded header

// ingest returns a handler that stores a body unchanged as an input of the kind, or
// a body of unknown length as several inputs.
func (g *Gateway) ingest(kind inputs.Kind) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		session, token, err := sessionOf(r)
		if err != nil {
			return err
		}
		msgID, err := messageID(r, token, kind)
		if err != nil {
			return err
		}
		header, err := forwardedHeaders(r)
		if err != nil {
			return err
		}
		in := &ingestion{
			session: session, token: token, kind: kind, msgID: msgID, header: header,
			retryable: r.Header.Get("Idempotency-Key") != "", strict: r.URL.Query().Has("strict"),
		}
		if canStream(kind) && (r.ContentLength < 0 || r.ContentLength > int64(g.opts.MaxBody)) {
			return g.ingestStream(w, r, in)
		}
		return g.ingestOne(w, r, in)
	}
}

// canStream reports whether a body of a kind can be stored as it arrives.
func canStream(kind inputs.Kind) bool {
	return kind == inputs.Delta || kind == inputs.Result || kind == inputs.Progress
}

func (g *Gateway) ingestOne(w http.ResponseWriter, r *http.Request, in *ingestion) error {
	body, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	if body, err = g.checkBody(r, in.kind, body); err != nil {
		return err
	}
	if in.strict && in.kind == inputs.Delta && g.opts.Trial != nil {
		whole := body
		if body[0] != 0 { // text: the end of the body ends an event
			whole = append(slices.Clip(body), "\n\n"...)
		}
		if fault := g.opts.Trial()(in.header.Get(inputs.HeaderFormat), whole); fault != nil {
			return respond.Refuse(http.StatusBadRequest, fault.Reason.Text)
		}
	}
	if in.kind == inputs.Interrupt && g.opts.Shared != nil && g.opts.Shared(in.session) && stops(body) {
		return respond.Refuse(http.StatusConflict, "nothing is stopped: several conversations that began alike are in this session, and the tap cannot tell them apart; give each a session of its own with the header Streamer-Session")
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	if err := g.meter(w, r, in.kind, len(body)); err != nil {
		return err
	}
	if err := g.begin(ctx, w, r, in); err != nil {
		return err
	}
	repeated := false
	a := stored{Session: in.session, Incomplete: in.kind == inputs.Delta && endsWithin(body)}
	if a.Seq, repeated, err = g.store.Publish(ctx, in.token, in.kind, in.msgID, in.header, body); err != nil {
		return g.publishError(w, in.session, in.kind, err)
	}
	g.rates.count(g.storer(r), repeated)
	if in.kind == inputs.Answer {
		if err := g.answeredBefore(ctx, in.token, a.Seq, body); err != nil {
			return err
		}
	}
	a.Duplicate = repeated && in.kind != inputs.Interrupt // whose answer is the same each time
	if in.kind == inputs.Interrupt {                      // which is stored before anything is read
		first, err := g.store.FirstEvent(ctx, in.token)
		a.Accepted, a.Unknown = true, err == nil && (first.Seq == 0 || first.ID.Seq >= a.Seq)
	}
	respond.JSON(w, http.StatusAccepted, a)
	return nil
}

// stops reports whether an interrupt stops more than single calls and messages.
func stops(body []byte) bool {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // it was checked
	for _, name := range [...]string{"tool_call_ids", "tool_call_id", "calls", "call", "message_id", "of"} {
		if fields[name] != nil {
			return false
		}
	}
	return true
}

// stored is the answer to a body that is one input.
type stored struct {
	Session    string `json:"session"`
	Seq        uint64 `json:"seq"`
	Duplicate  bool   `json:"duplicate,omitempty"` // it was stored before, with this key
	Accepted   bool   `json:"accepted,omitempty"`
	Unknown    bool   `json:"unknown_session,omitempty"` // an interrupt of a session without earlier events
	Incomplete bool   `json:"incomplete,omitempty"`      // deltas that end within a JSON value
}

// endsWithin reports whether deltas that begin as JSON end within a value. The rest may
// be in the next body.
func endsWithin(body []byte) bool {
	for rest := string(body); ; {
		var s jsonscan.Scanner
		status := s.Write(rest)
		if first := s.First(); first != '{' && first != '[' {
			return false
		}
		if s.DoneAt() < 0 {
			return status == jsonscan.More
		}
		rest = rest[s.DoneAt():]
	}
}

func (g *Gateway) publishError(w http.ResponseWriter, session string, kind inputs.Kind, err error) error {
	if errors.Is(err, inputs.ErrTooLarge) {
		return tooLarge(g.opts.MaxBody)
	}
	if certain, ok := errors.AsType[*NotStoredError](err); ok {
		status := http.StatusServiceUnavailable
		if certain.Busy {
			status = http.StatusTooManyRequests
			g.counts.throttled.Add(1)
		}
		w.Header().Set("Retry-After", "10")
		return respond.Refuse(status, "the input is not stored: "+certain.Why.Error())
	}
	g.log.Error().Err(err).Str("session", session).Str("kind", string(kind)).Msg("input not stored")
	if errors.Is(err, inputs.ErrFull) {
		w.Header().Set("Retry-After", "30")
		return respond.Refuse(http.StatusServiceUnavailable, "the input is not stored: the input log is full; it accepts inputs again when old ones expire, or with a larger --max-bytes")
	}
	w.Header().Set("Retry-After", "2")
	if errors.Is(err, ErrNotOpen) {
		return respond.Refuse(http.StatusServiceUnavailable, "the input is not stored: partitions are still being taken over; /readyz reports when inputs are accepted")
	}
	return respond.Refuse(http.StatusServiceUnavailable, "it is unknown whether the input is stored; send it again with the same Idempotency-Key")
}

func sessionOf(r *http.Request) (session, token string, err error) {
	session = r.PathValue("session")
	token, err = tokenOf(session)
	return session, token, err
}

func tokenOf(session string) (string, error) {
	if !utf8.ValidString(session) {
		return "", respond.Refuse(http.StatusBadRequest, fmt.Sprintf("session %q is not UTF-8", session))
	}
	token, err := events.Token(session)
	if err != nil {
		return "", respond.Refuse(http.StatusBadRequest, err.Error())
	}
	return token, nil
}

// messageID returns the message id by which the log detects a repeated input: the
// client's key, or a random id so that the gateway's own retries are stored once.
func messageID(r *http.Request, token string, kind inputs.Kind) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		key = rand.Text()
	}
	if len(key) > maxHeaderValue || !printable(key) {
		return "", respond.Refuse(http.StatusBadRequest, fmt.Sprintf("Idempotency-Key is not 1 to %d printable ASCII characters", maxHeaderValue))
	}
	return token + ":" + string(kind) + ":" + key, nil
}

// forwardedHeaders returns the headers that are stored with an input, under the
// names of package inputs: NATS distinguishes upper and lower case.
func forwardedHeaders(r *http.Request) (inputs.Header, error) {
	header := inputs.Header{}
	for _, name := range inputs.Headers() {
		v := r.Header.Get(name)
		if v == "" {
			continue
		}
		if len(v) > maxHeaderValue || !printable(v) {
			return nil, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("%s is not 1 to %d printable ASCII characters", name, maxHeaderValue))
		}
		header[name] = []string{v}
	}
	return header, nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > int64(g.opts.MaxBody) {
		return nil, tooLarge(g.opts.MaxBody)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(g.opts.MaxBody)))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge(g.opts.MaxBody)
	}
	if err != nil {
		return nil, respond.Refuse(http.StatusBadRequest, "the body is incomplete")
	}
	return body, nil
}

func tooLarge(limit int) error {
	return respond.Refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes; split it into several requests, or shorten it if it is one value", limit))
}

// checkBody refuses a body that Options.Check does not accept. It returns the body
// to be stored: an empty interrupt, resume or end means {}, and an answer names its person.
func (g *Gateway) checkBody(r *http.Request, kind inputs.Kind, body []byte) ([]byte, error) {
	// A delta may be a piece of a text, so white space is part of it.
	if len(body) == 0 || kind != inputs.Delta && len(bytes.TrimSpace(body)) == 0 {
		if kind == inputs.Interrupt || kind == inputs.Resume || kind == inputs.End {
			return []byte("{}"), nil
		}
		return nil, respond.Refuse(http.StatusBadRequest, "the body is empty")
	}
	if kind == inputs.Answer {
		var err error
		if body, err = signed(body, identity(r).Subject); err != nil {
			return nil, err
		}
	}
	if g.opts.Check == nil {
		return body, nil
	}
	if err := g.opts.Check(kind, body); err != nil {
		return nil, respond.Refuse(http.StatusBadRequest, err.Error())
	}
	return body, nil
}

// signed returns an answer by the subject of a token, unless that is "". It refuses one by
// another person, because other clients rely on the name. It leaves the text as it is,
// in which faults are found later.
func signed(body []byte, subject string) ([]byte, error) {
	var fields map[string]json.RawMessage
	if subject == "" || json.Unmarshal(body, &fields) != nil || len(fields) == 0 {
		return body, nil
	}
	if by, ok := fields["by"]; ok {
		var person string
		if json.Unmarshal(by, &person) == nil && person != subject {
			return nil, respond.Refuse(http.StatusForbidden, fmt.Sprintf("by is %.100q: the token permits to answer as its subject, %.100q", person, subject))
		}
		return body, nil
	}
	by, err := json.Marshal(subject)
	if err != nil {
		return nil, fmt.Errorf("gateway: subject of a token: %w", err)
	}
	return slices.Concat([]byte(`{"by":`), by, []byte(","), bytes.TrimSpace(body)[1:]), nil
}
