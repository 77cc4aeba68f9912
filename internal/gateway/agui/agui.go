// Package agui serves the requests of clients of AG-UI.
package agui

import (
	"encoding/json"
	"fmt"
	"net/http"

	"streamer/internal/encode"
	"streamer/internal/gateway/replies"
	"streamer/internal/gateway/respond"
)

// MaxHistory is the maximum size of the body that a client sends. It has the whole
// history of the client.
const MaxHistory = 8 << 20

// Gateway is the gateway, as the handler uses it.
type Gateway interface {
	// Turn streams the last turn of the session in the path in a protocol.
	Turn(w http.ResponseWriter, r *http.Request, protocol string, client *encode.Client) error
	// Answer stores answers.
	Answer(w http.ResponseWriter, r *http.Request, list []replies.Input) error
}

// Handler returns the handler that streams the last turn of a session. POST is the
// request of an HttpAgent: its history is sent back without what the stream repeats, and
// the answers in resume are stored. Nothing else of the body is, and nothing is sent to the
// agent.
func Handler(g Gateway) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var client *encode.Client
		if r.Method == http.MethodPost {
			read, resume, err := readRunInput(w, r)
			if err != nil {
				return err
			}
			if err := g.Answer(w, r, resume); err != nil {
				return err
			}
			client = read
		}
		return g.Turn(w, r, "ag-ui", client)
	}
}

func readRunInput(w http.ResponseWriter, r *http.Request) (client *encode.Client, resume []replies.Input, err error) {
	body, err := respond.ReadBody(w, r, MaxHistory)
	if err != nil {
		return nil, nil, err
	}
	var in struct {
		ThreadID string            `json:"threadId"`
		RunID    string            `json:"runId"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, nil, respond.Refuse(http.StatusBadRequest, "the body is not a RunAgentInput: "+err.Error())
	}
	for i, raw := range in.Messages {
		var m struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.ID == "" || m.Role == "" {
			return nil, nil, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("message %d is not an object with an id and a role", i))
		}
	}
	client = &encode.Client{Thread: in.ThreadID, Run: in.RunID, Messages: in.Messages}
	return client, replies.AGUI(body), nil
}
