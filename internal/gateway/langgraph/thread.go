package langgraph

import (
	"net/http"
	"slices"

	"streamer/internal/events"
	"streamer/internal/gateway/respond"
	"streamer/internal/gateway/turns"
)

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

func rowOf(session string, r *turns.Run) runRow {
	return runRow{r.ID, session, "streamer", r.Started, r.Ended, runStatus(r), map[string]any{}, "reject"}
}

func (s server) runs(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, 10)
	if err != nil {
		return err
	}
	session, runs, err := s.Runs(r)
	if err != nil {
		return err
	}
	status := r.URL.Query().Get("status")
	list := []runRow{} // not nil: JSON must be [], not null
	for _, run := range slices.Backward(runs) {
		if len(list) < limit && (status == "" || status == runStatus(&run)) {
			list = append(list, rowOf(session, &run))
		}
	}
	respond.JSON(w, http.StatusOK, list)
	return nil
}

// run returns one run. Clients read its status to learn whether a stream that
// ended early is to be continued.
func (s server) run(w http.ResponseWriter, r *http.Request) error {
	session, run, err := s.runNamed(r)
	if err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, rowOf(session, &run))
	return nil
}

// thread returns a session. One without runs is an idle thread, because clients may
// read it before its first run.
func (s server) thread(w http.ResponseWriter, r *http.Request) error {
	session, runs, err := s.Runs(r)
	if err != nil {
		return err
	}
	status, started, ended := "idle", events.Time(0), events.Time(0)
	if n := len(runs); n > 0 {
		started, ended = runs[0].Started, runs[n-1].Ended
		switch last := &runs[n-1]; runStatus(last) {
		case "running":
			status = "busy"
		case "error":
			status = "error"
		case "interrupted":
			if last.Waits {
				status = "interrupted"
			}
		}
	}
	respond.JSON(w, http.StatusOK, struct {
		ThreadID  string         `json:"thread_id"`
		CreatedAt events.Time    `json:"created_at"`
		UpdatedAt events.Time    `json:"updated_at"`
		Metadata  map[string]any `json:"metadata"`
		Status    string         `json:"status"`
		Values    map[string]any `json:"values"`
	}{session, started, ended, map[string]any{}, status, map[string]any{}})
	return nil
}

// state returns a state without values: the messages are in the streams.
func (s server) state(w http.ResponseWriter, r *http.Request) error {
	session, runs, err := s.Runs(r)
	if err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, stateOf(session, runs))
	return nil
}

// history returns the only state: the log has no checkpoints.
func (s server) history(w http.ResponseWriter, r *http.Request) error {
	session, runs, err := s.Runs(r)
	if err != nil {
		return err
	}
	list := []stateRow{} // not nil: JSON must be [], not null
	if len(runs) > 0 {
		list = append(list, stateOf(session, runs))
	}
	respond.JSON(w, http.StatusOK, list)
	return nil
}

type stateRow struct {
	Values           map[string]any    `json:"values"`
	Next             []string          `json:"next"`
	Tasks            []any             `json:"tasks"`
	Checkpoint       map[string]string `json:"checkpoint"`
	Metadata         map[string]any    `json:"metadata"`
	CreatedAt        events.Time       `json:"created_at"`
	ParentCheckpoint any               `json:"parent_checkpoint"`
}

func stateOf(session string, runs []turns.Run) stateRow {
	s := stateRow{
		Values: map[string]any{}, Next: []string{}, Tasks: []any{}, Metadata: map[string]any{},
		Checkpoint: map[string]string{"thread_id": session, "checkpoint_ns": "", "checkpoint_id": "0"},
	}
	if n := len(runs); n > 0 {
		s.CreatedAt, s.Checkpoint["checkpoint_id"] = runs[n-1].Ended, runs[n-1].ID
	}
	return s
}

func runStatus(r *turns.Run) string {
	switch {
	case r.End == 0:
		return "running"
	case r.Status == events.Error:
		return "error"
	case r.Status == events.Completed:
		return "success"
	}
	return "interrupted"
}
