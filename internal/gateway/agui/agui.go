// Package agui serves the requests of clients of AG-UI.
package agui

import (
	"encoding/json"
	"fmt"
	"net/http"

	"streamer/internal/encode"
	"streamer/internal/gateway/respond"
)

// MaxHistory is the maximum size of the body that a client sends. It has the whole
// history of the client.
const MaxHistory = 8 << 20

// Gateway is the gateway, as the handler uses it.
type Gateway interface {
	// Turn streams the last turn of the session in the path in a protocol.
	Turn(w http.ResponseWriter, r *http.Request, protocol string, client *encode.Client) error
}

// Handler returns the handler that streams the last turn of a session. POST is the
// request of an HttpAgent: its history is sent back without what the stream repeats.
// Nothing of the body is stored, and nothing is sent to the agent.
func Handler(g Gateway) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var client *encode.Client
		if r.Method == http.MethodPost {
			var err error
			if client, err = readRunInput(w, r); err != nil {
				return err
			}
		}
		return g.Turn(w, r, "ag-ui", client)
	}
}

func readRunInput(w http.ResponseWriter, r *http.Request) (*encode.Client, error) {
	body, err := respond.ReadBody(w, r, MaxHistory)
	if err != nil {
		return nil, err
	}
	var in struct {
		ThreadID string            `json:"threadId"`
		RunID    string            `json:"runId"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, respond.Refuse(http.StatusBadRequest, "the body is not a RunAgentInput: "+err.Error())
	}
	for i, raw := range in.Messages {
		var m struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.ID == "" || m.Role == "" {
			return nil, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("message %d is not an object with an id and a role", i))
		}
	}
	return &encode.Client{Thread: in.ThreadID, Run: in.RunID, Messages: in.Messages}, nil
}
