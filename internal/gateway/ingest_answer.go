package gateway

import (
	"context"
	"errors"
	"net/http"

	"streamer/internal/events"
	"streamer/internal/gateway/respond"
)

// ingestAnswer is the answer to a body that was stored as it arrived.
type ingestAnswer struct {
	Session string `json:"session"`
	Seq     uint64 `json:"seq,omitempty"` // of the last input
	Inputs  int    `json:"inputs"`        // that were stored
	Refused int    `json:"refused"`       // inputs that were not stored, for a fault
	// Rejected are the stored inputs of which at least a part was rejected.
	Rejected   int                `json:"rejected"`
	Rejections []events.Rejection `json:"rejections,omitempty"` // why inputs were refused or rejected
	// Complete states that all stored inputs were processed. Otherwise more of them
	// may be rejected.
	Complete bool   `json:"complete"`
	Error    string `json:"error,omitempty"` // why the body was not stored to its end
}

// answer sends the counts of a body, and why it was not stored to its end if there
// is an error.
func (in *ingestion) answer(w http.ResponseWriter, r *http.Request, failed error) {
	a := ingestAnswer{Session: in.session, Seq: in.seq, Inputs: in.inputs, Refused: in.refused, Complete: true}
	why := events.Rejections{}
	switch {
	case errors.Is(failed, errIncomplete): // the client has disconnected
		a.Complete = false
	case in.inputs > 0:
		// net/http cancels the context of a request whose body cannot be read on.
		a.Rejected, why, a.Complete = in.tracking.Outcome(context.WithoutCancel(r.Context()), in.g.opts.StoreTimeout)
	}
	a.Rejections = append(in.faults.Reasons, why.Reasons...)
	status := http.StatusAccepted
	switch {
	case failed != nil:
		var ref *respond.Refusal
		if !errors.As(failed, &ref) {
			failed = in.g.publishError(w, in.session, in.kind, failed)
			errors.As(failed, &ref)
		}
		status, a.Error = ref.Status, ref.Text
	case in.inputs == 0 && in.refused == 0:
		status, a.Error = http.StatusBadRequest, "the body is empty"
	case in.inputs == 0:
		status, a.Error = http.StatusBadRequest, "no input of the body can be used: see rejections"
	}
	respond.JSON(w, status, a)
}
