// Package langgraph serves the paths that clients of the LangGraph platform use to read
// and to cancel: a thread is a session.
package langgraph

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"streamer/internal/encode"
	"streamer/internal/gateway/replies"
	"streamer/internal/gateway/respond"
	"streamer/internal/gateway/turns"
)

const (
	// MaxFilter is the maximum size of the filter of a thread stream.
	MaxFilter = 64 << 10
	// MaxPrefixes is the maximum number of channels, and of namespaces, in it.
	MaxPrefixes = 100
	maxRuns     = 1000 // maximum number of runs in a list
)

// Gateway is the gateway, as the handlers use it. The session is that in the path.
type Gateway interface {
	// Runs returns the session and its runs, in order.
	Runs(r *http.Request) (session string, runs []turns.Run, err error)
	// Cursor returns the sequence of the last event that the client has, 0 for none.
	Cursor(r *http.Request) (uint64, error)
	// Stream streams the session in a protocol, from the event after open.From on. It
	// refuses an open.Since beyond the log. header has further headers of the answer.
	Stream(w http.ResponseWriter, r *http.Request, protocol string, open encode.Opening, header [][2]string) error
	// Interrupt stores an interrupt.
	Interrupt(w http.ResponseWriter, r *http.Request, body []byte) error
	// Answer stores answers.
	Answer(w http.ResponseWriter, r *http.Request, list []replies.Input) error
	// Hold counts a connection as a stream, or refuses it. end is called when the server
	// stops. The caller calls leave at the end of the connection.
	Hold(w http.ResponseWriter, r *http.Request, end context.CancelCauseFunc) (leave func(), err error)
}

// Routes adds the paths of threads.
func Routes(g Gateway, add func(path, methods string, h func(http.ResponseWriter, *http.Request) error)) {
	const thread = "/v1/langgraph/threads/{session}"
	s := server{g}
	add(thread, "GET", s.thread)
	add(thread+"/state", "GET", s.state)
	add(thread+"/history", "POST", s.history)
	add(thread+"/runs", "GET", s.runs)
	add(thread+"/runs/{run}", "GET", s.run)
	add(thread+"/runs/{run}/stream", "GET", s.join)
	add(thread+"/runs/{run}/cancel", "POST", s.cancel)
	add(thread+"/stream/events", "GET, POST", s.events)
	add(thread+"/commands", "POST", s.command)
}

type server struct{ Gateway }

func (s server) runNamed(r *http.Request) (session string, run turns.Run, err error) {
	session, runs, err := s.Runs(r)
	if err != nil {
		return "", run, err
	}
	id := r.PathValue("run")
	for _, run := range slices.Backward(runs) {
		if run.ID == id {
			return session, run, nil
		}
	}
	return "", run, respond.Refuse(http.StatusNotFound, fmt.Sprintf("the session has no run %.80q in the log", id))
}

// join streams a run. The client reconnects to the path in Location, with the id of the
// last frame that it has.
func (s server) join(w http.ResponseWriter, r *http.Request) error {
	session, run, err := s.runNamed(r)
	if err != nil {
		return err
	}
	since, err := s.Cursor(r)
	if err != nil {
		return err
	}
	path := "/threads/" + url.PathEscape(session) + "/runs/" + url.PathEscape(run.ID)
	header := [][2]string{{"Location", path + "/stream"}, {"Content-Location", path}} // clients add them to the base URL
	return s.Stream(w, r, "langgraph", encode.Opening{Run: run.ID, From: run.Before, Since: since}, header)
}

// events streams a session in the agent protocol, as far as the filter in the body
// selects it, or as the commands of a WebSocket do.
func (s server) events(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return s.socket(w, r)
	}
	body, err := respond.ReadBody(w, r, MaxFilter)
	if err != nil {
		return err
	}
	filter, since, err := parseFilter(body)
	if err != nil {
		return err
	}
	return s.Stream(w, r, "agent-protocol", encode.Opening{Filter: filter, Since: since}, nil)
}

func parseFilter(body []byte) (f encode.Filter, since uint64, err error) {
	var in struct {
		Channels   []string   `json:"channels"`
		Namespaces [][]string `json:"namespaces"`
		Depth      *int       `json:"depth"`
		Since      uint64     `json:"since"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return f, 0, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("this is not a filter {\"channels\":[…],\"namespaces\":[[…]],\"depth\":1,\"since\":1}: %v", err))
	}
	if len(in.Channels) == 0 {
		return f, 0, respond.Refuse(http.StatusBadRequest, `channels is empty: name messages, tools, lifecycle or input`)
	}
	if len(in.Channels) > MaxPrefixes || len(in.Namespaces) > MaxPrefixes {
		return f, 0, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("more than %d channels or namespaces", MaxPrefixes))
	}
	return encode.Filter{Channels: in.Channels, Namespaces: in.Namespaces, Depth: in.Depth}, in.Since, nil
}

func (s server) cancel(w http.ResponseWriter, r *http.Request) error {
	switch action := r.URL.Query().Get("action"); action {
	case "", "interrupt":
	default:
		return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("action is %.40q: only interrupt is possible", action))
	}
	body, err := json.Marshal(map[string]string{"run": r.PathValue("run"), "reason": "user"})
	if err != nil {
		return fmt.Errorf("gateway: interrupt: %w", err)
	}
	if err := s.Interrupt(w, r, body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func limitOf(r *http.Request, limit int) (int, error) {
	s := r.URL.Query().Get("limit")
	if s == "" {
		return limit, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxRuns {
		return 0, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("limit is not a number from 1 to %d", maxRuns))
	}
	return n, nil
}
