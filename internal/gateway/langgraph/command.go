package langgraph

import (
	"encoding/json"
	"fmt"
	"net/http"

	"streamer/internal/gateway/replies"
	"streamer/internal/gateway/respond"
)

// command stores the answers of a command of the agent protocol:
//
//	{"id","method":"input.respond","params":{"interrupt_id","response"}}
//
// Other commands would reach the agent, and are refused.
func (s server) command(w http.ResponseWriter, r *http.Request) error {
	body, err := respond.ReadBody(w, r, MaxFilter)
	if err != nil {
		return err
	}
	id, method, list := replies.LangGraph(body)
	if err := s.respond(w, r, method, list); err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, struct {
		Type   string          `json:"type"`
		ID     json.RawMessage `json:"id,omitempty"`
		Result struct{}        `json:"result"`
	}{Type: "success", ID: id})
	return nil
}

// respond stores the answers of input.respond, and refuses other commands.
func (s server) respond(w http.ResponseWriter, r *http.Request, method string, list []replies.Input) error {
	switch {
	case method == "":
		return respond.Refuse(http.StatusBadRequest, "the body is not a command: method is missing")
	case method != "input.respond":
		return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the command %.40q is for an agent; here only input.respond is served", method))
	case len(list) == 0:
		return respond.Refuse(http.StatusBadRequest, "the command has no answer: interrupt_id or response is missing")
	}
	return s.Answer(w, r, list)
}
