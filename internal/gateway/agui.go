package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"streamer/internal/encode"
)

// maxHistory is the maximum size of the body that a client of AG-UI sends. It has the
// whole history of the client.
const maxHistory = 8 << 20

// agUI streams the last turn of a session in the protocol ag-ui. POST is the request
// of an HttpAgent: its history is sent back without what the stream repeats. Nothing
// of the body is stored, and nothing is sent to the agent.
func (g *Gateway) agUI(w http.ResponseWriter, r *http.Request) error {
	p, err := encode.Find("ag-ui")
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	if r.Method != http.MethodPost {
		return g.serveTurn(w, r, p, nil)
	}
	client, err := readRunInput(w, r)
	if err != nil {
		return err
	}
	return g.serveTurn(w, r, p, client)
}

// readRunInput reads the RunAgentInput of a client.
func readRunInput(w http.ResponseWriter, r *http.Request) (*encode.Client, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHistory))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", maxHistory))
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body is incomplete")
	}
	var in struct {
		ThreadID string            `json:"threadId"`
		RunID    string            `json:"runId"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, refuse(http.StatusBadRequest, "the body is not a RunAgentInput: "+err.Error())
	}
	for i, raw := range in.Messages {
		var m struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.ID == "" || m.Role == "" {
			return nil, refuse(http.StatusBadRequest, fmt.Sprintf("message %d is not an object with an id and a role", i))
		}
	}
	return &encode.Client{Thread: in.ThreadID, Run: in.RunID, Messages: in.Messages}, nil
}
