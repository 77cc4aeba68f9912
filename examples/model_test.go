package examples_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestAgents runs the agents that publish the stream of their model, with a model of
// this test.
func TestAgents(t *testing.T) {
	t.Parallel()
	server, nats := deployed(t, "agent")
	model := httptest.NewServer(http.HandlerFunc(chat))
	t.Cleanup(model.Close)
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		requireNode(t, "agent-node")
		testAgent(t, server, model.URL, exec.Command("node", "agent-node/agent.js"), "STREAMER_NATS_URL="+nats)
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("python3 is not installed")
		}
		testAgent(t, server, model.URL, exec.Command(python, "-B", "agent-python/agent.py"), "STREAMER_URL="+server, "PYTHONPATH=../clients/python")
	})
}

// testAgent runs an agent in a session, and checks what it prints and the events.
func testAgent(t *testing.T, server, model string, cmd *exec.Cmd, variables ...string) {
	session := strings.TrimPrefix(t.Name(), "TestAgents/")
	cmd.Args = append(cmd.Args, session, "How is the weather?")
	cmd.Env = append(append(os.Environ(), variables...), "OPENAI_BASE_URL="+model, "OPENAI_API_KEY=key", "PYTHONUTF8=1")
	out, _ := run(t, cmd, "")
	want(t, "the agent prints", out, "4 °C in Tromsø. Atlantis is not known.\n")
	finished := 0
	log := read(t, server, session, func(e *events.Event) bool {
		if e.Type == events.MessageFinished {
			finished++
		}
		return finished == 2
	})
	results := of(log, events.ToolCallResult)
	if len(results) != 2 {
		t.Fatalf("the results are %+v: want two", results)
	}
	want(t, "the first result", string(results[0].Status)+string(results[0].ToolResult), `completed"4 °C, rain"`)
	if second := results[1]; second.Status != events.Error || !strings.Contains(string(second.ToolResult), "Atlantis") {
		t.Errorf("the second result is %+v: want an error", second)
	}
	if bad := of(log, events.Rejected); len(bad) > 0 {
		t.Errorf("rejected: %+v", bad)
	}
}

// chat is a model with the API Chat Completions. It calls a tool twice, and answers when
// both calls have a result. It sends its answer in pieces that end anywhere.
func chat(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Stream   bool
		Messages []struct {
			Role       string
			Content    *string
			ToolCalls  []json.RawMessage `json:"tool_calls"`
			ToolCallID string            `json:"tool_call_id"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/chat/completions" || r.Header.Get("Authorization") != "Bearer key" || !request.Stream {
		http.Error(w, "not the request of an agent", http.StatusBadRequest)
		return
	}
	file, roles := "testdata/calls.sse", ""
	for _, m := range request.Messages {
		roles += m.Role + m.ToolCallID + " "
	}
	switch roles {
	case "user ":
	case "user assistant toolcall_1 toolcall_2 ":
		if m := request.Messages[1]; len(m.ToolCalls) != 2 || m.Content == nil || *m.Content != "Let me look – " {
			http.Error(w, "not the message of the model", http.StatusBadRequest)
			return
		}
		file = "testdata/answer.sse"
	default:
		http.Error(w, "unknown history: "+roles, http.StatusBadRequest)
		return
	}
	body, err := os.ReadFile(file)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for piece := range slices.Chunk(body, 97) {
		if _, err := w.Write(piece); err != nil {
			return // the agent has ended
		}
		w.(http.Flusher).Flush()
	}
}

// TestAgentNodeRights: an agent whose user lacks a permission ends with its name.
func TestAgentNodeRights(t *testing.T) {
	t.Parallel()
	requireNode(t, "agent-node")
	model := httptest.NewServer(http.HandlerFunc(chat))
	t.Cleanup(model.Close)
	for user, subject := range map[string]string{"subscriber": "llm.rights.", "frontend": "streamer.api."} {
		t.Run(user, func(t *testing.T) {
			_, nats := deployed(t, user)
			cmd := exec.CommandContext(t.Context(), "node", "agent-node/agent.js", "rights")
			cmd.Env = append(os.Environ(), "STREAMER_NATS_URL="+nats, "OPENAI_BASE_URL="+model.URL)
			out, err := cmd.CombinedOutput()
			if want := "the run ended: streamer: the NATS user has no permission to publish on " + subject; err == nil || !strings.Contains(string(out), want) {
				t.Errorf("error %v, output %q, want an error and %q", err, out, want)
			}
		})
	}
}
