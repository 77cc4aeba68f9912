package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"streamer/internal/auth"
	"streamer/internal/encode"
	"streamer/internal/gateway/agui"
	"streamer/internal/gateway/replies"
	"streamer/internal/gateway/respond"
	"streamer/internal/gateway/turns"
	"streamer/internal/inputs"
)

// foreignAPI is the gateway, as the packages of foreign protocols use it.
type foreignAPI struct{ g *Gateway }

func (f foreignAPI) Turn(w http.ResponseWriter, r *http.Request, protocol string, client *encode.Client) error {
	p, err := encode.Find(protocol)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return f.g.serveTurn(w, r, p, client)
}

func (f foreignAPI) Runs(r *http.Request) (session string, runs []turns.Run, err error) {
	session, token, err := sessionOf(r)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), f.g.opts.StoreTimeout)
	defer cancel()
	if runs, err = turns.Runs(ctx, f.g.store, token); err != nil {
		return "", nil, fmt.Errorf("gateway: runs of a session: %w", err)
	}
	return session, runs, nil
}

func (foreignAPI) Cursor(r *http.Request) (uint64, error) { return parseCursor(r) }

// Stream streams the session in the path in a protocol, from the event after open.From
// on. It refuses an open.Since beyond the log.
func (f foreignAPI) Stream(w http.ResponseWriter, r *http.Request, protocol string, open encode.Opening, header [][2]string) error {
	p, err := encode.Find(protocol)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	if err := f.checkCursor(r.Context(), open.Since); err != nil {
		return err
	}
	at := f.g.openingAt(session, open.From)
	open.Session, open.Now, open.HeartbeatMS, open.RetryMS = session, at.Now, at.HeartbeatMS, at.RetryMS
	return f.g.serveStream(w, r, request{proto: p, token: token, open: open, header: header})
}

// Hold counts a connection as a stream.
func (f foreignAPI) Hold(w http.ResponseWriter, r *http.Request, end context.CancelCauseFunc) (leave func(), err error) {
	return f.g.hold(w, r, &end, end)
}

func (f foreignAPI) checkCursor(ctx context.Context, since uint64) error {
	if since == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, f.g.opts.StoreTimeout)
	defer cancel()
	_, last, err := f.g.store.EventBounds(ctx)
	if err != nil {
		return fmt.Errorf("gateway: bounds of the event log: %w", err)
	}
	if since > last {
		return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the log ends at %d, before the cursor %d: it is the cursor of another log", last, since))
	}
	return nil
}

func (f foreignAPI) Interrupt(w http.ResponseWriter, r *http.Request, body []byte) error {
	_, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	msgID, err := messageID(r, token, inputs.Interrupt)
	if err != nil {
		return err
	}
	return f.store(w, r, inputs.Interrupt, msgID, body)
}

// Answer stores the answers and results that a request has and the log lacks: clients send
// them again. Where a person decided otherwise before, it refuses, and stores the others.
func (f foreignAPI) Answer(w http.ResponseWriter, r *http.Request, list []replies.Input) error {
	_, err := f.answer(w, r, list)
	return err
}

// answer does what Answer does, and returns the number of inputs that the log lacked.
func (f foreignAPI) answer(w http.ResponseWriter, r *http.Request, list []replies.Input) (int, error) {
	session, token, err := sessionOf(r)
	if err != nil {
		return 0, err
	}
	for _, in := range list {
		action := auth.Answer
		if in.Kind == inputs.Result {
			action = auth.Publish
		}
		if err := permitOne(r, action, session); err != nil {
			return 0, err
		}
	}
	list, refusal, err := f.g.unknown(r.Context(), token, list)
	if err != nil {
		return 0, err
	}
	for _, in := range list {
		digest := sha256.Sum256(in.Body)
		if err := f.store(w, r, in.Kind, token+":"+string(in.Kind)+":"+hex.EncodeToString(digest[:]), in.Body); err != nil {
			return 0, err
		}
	}
	return len(list), refusal
}

// store stores an input of the session in the path.
func (f foreignAPI) store(w http.ResponseWriter, r *http.Request, kind inputs.Kind, msgID string, body []byte) error {
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	if body, err = f.g.checkBody(r, kind, body); err != nil {
		return err
	}
	if err := f.g.meter(w, r, kind, len(body)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), f.g.opts.StoreTimeout)
	defer cancel()
	if _, _, err := f.g.store.Publish(ctx, token, kind, msgID, inputs.Header{}, body); err != nil {
		return f.g.publishError(w, session, kind, err)
	}
	return nil
}

// answerTurn stores the answers and results in the body of useChat.
func (f foreignAPI) answerTurn(w http.ResponseWriter, r *http.Request) error {
	body, err := respond.ReadBody(w, r, agui.MaxHistory)
	if err != nil {
		return err
	}
	list, ok := replies.AISDK(body)
	if !ok {
		return respond.Refuse(http.StatusBadRequest, "the body is not a request of useChat: messages is missing")
	}
	n, err := f.answer(w, r, list)
	if err != nil {
		return err
	}
	respond.JSON(w, http.StatusAccepted, struct {
		Inputs int `json:"inputs"`
	}{n})
	return nil
}
