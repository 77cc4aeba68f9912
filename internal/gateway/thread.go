package gateway

import (
	"net/http"
	"slices"

	"streamer/internal/events"
)

// runRow is a run as clients of LangGraph read it.
type runRow struct {
	RunID       string         `json:"run_id"`
	ThreadID    string         `json:"thread_id"`
	AssistantID string         `json:"assistant_id"`
	CreatedAt   events.Time    `json:"created_at"`
	UpdatedAt   events.Time    `json:"updated_at"`
	Status      string         `json:"status"`
	Metadata    map[string]any `json:"metadata"`
	Multitask   string         `json:"multitask_strategy"`
}

func rowOf(session string, r *sessionRun) runRow {
	return runRow{r.id, session, "streamer", r.begun, r.ended, r.lgStatus(), map[string]any{}, "reject"}
}

// threadRuns returns the runs of a session, newest first.
func (g *Gateway) threadRuns(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, 10)
	if err != nil {
		return err
	}
	session, _, runs, err := g.readRuns(r)
	if err != nil {
		return err
	}
	status := r.URL.Query().Get("status")
	list := []runRow{} // not nil: JSON must be [], not null
	for _, run := range slices.Backward(runs) {
		if len(list) < limit && (status == "" || status == run.lgStatus()) {
			list = append(list, rowOf(session, &run))
		}
	}
	reply(w, http.StatusOK, list)
	return nil
}

// threadRun returns one run. Clients read its status to learn whether a stream that
// ended early is to be continued.
func (g *Gateway) threadRun(w http.ResponseWriter, r *http.Request) error {
	session, _, run, err := g.namedRun(r)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, rowOf(session, &run))
	return nil
}

// thread returns a session. One without runs is an idle thread, because clients may
// read it before its first run.
func (g *Gateway) thread(w http.ResponseWriter, r *http.Request) error {
	session, _, runs, err := g.readRuns(r)
	if err != nil {
		return err
	}
	status, begun, ended := "idle", events.Time(0), events.Time(0)
	if n := len(runs); n > 0 {
		begun, ended = runs[0].begun, runs[n-1].ended
		switch last := &runs[n-1]; last.lgStatus() {
		case "running":
			status = "busy"
		case "error":
			status = "error"
		case "interrupted":
			if last.status == events.Interrupted {
				status = "interrupted"
			}
		}
	}
	reply(w, http.StatusOK, struct {
		ThreadID  string         `json:"thread_id"`
		CreatedAt events.Time    `json:"created_at"`
		UpdatedAt events.Time    `json:"updated_at"`
		Metadata  map[string]any `json:"metadata"`
		Status    string         `json:"status"`
		Values    map[string]any `json:"values"`
	}{session, begun, ended, map[string]any{}, status, map[string]any{}})
	return nil
}

// threadState returns a state without values: the messages are in the streams.
func (g *Gateway) threadState(w http.ResponseWriter, r *http.Request) error {
	session, _, runs, err := g.readRuns(r)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, stateOf(session, runs))
	return nil
}

// threadHistory returns the only state: the log has no checkpoints.
func (g *Gateway) threadHistory(w http.ResponseWriter, r *http.Request) error {
	session, _, runs, err := g.readRuns(r)
	if err != nil {
		return err
	}
	list := []threadStateRow{} // not nil: JSON must be [], not null
	if len(runs) > 0 {
		list = append(list, stateOf(session, runs))
	}
	reply(w, http.StatusOK, list)
	return nil
}

// threadStateRow is a state as clients of LangGraph read it.
type threadStateRow struct {
	Values           map[string]any    `json:"values"`
	Next             []string          `json:"next"`
	Tasks            []any             `json:"tasks"`
	Checkpoint       map[string]string `json:"checkpoint"`
	Metadata         map[string]any    `json:"metadata"`
	CreatedAt        events.Time       `json:"created_at"`
	ParentCheckpoint any               `json:"parent_checkpoint"`
}

func stateOf(session string, runs []sessionRun) threadStateRow {
	s := threadStateRow{
		Values: map[string]any{}, Next: []string{}, Tasks: []any{}, Metadata: map[string]any{},
		Checkpoint: map[string]string{"thread_id": session, "checkpoint_ns": "", "checkpoint_id": "0"},
	}
	if n := len(runs); n > 0 {
		s.CreatedAt, s.Checkpoint["checkpoint_id"] = runs[n-1].ended, runs[n-1].id
	}
	return s
}
