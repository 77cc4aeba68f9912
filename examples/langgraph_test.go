package examples_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestLangGraphAgent runs the LangGraph agent, interrupts a tool of it, and checks what
// the agent does and what a client of the AI SDK shows.
func TestLangGraphAgent(t *testing.T) {
	requireNode(t, "langgraph-agent", "../test/clients")
	server, nats := deployed(t, "agent")
	for _, c := range []struct {
		name      string
		interrupt func(call string) string // body
		end       string                   // last line of the agent
		outcome   string                   // at the client
		texts     int
	}{
		{"one call", func(call string) string { return fmt.Sprintf(`{"call":%q}`, call) }, "run completed", "completed", 2},
		{"everything", func(string) string { return `{"reason":"user pressed stop"}` }, "run stopped: The run was interrupted.", "cancelled", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := strings.ReplaceAll(c.name, " ", "%20")
			agent := start(t, example("langgraph-agent", "STREAMER_NATS_URL="+nats, "agent.js", c.name, "What is a fjord?"))
			agent.await(t, "crawl runs")
			read(t, server, path, func(e *events.Event) bool { return e.Type == events.RunStarted })
			client := startAISDK(t, server+"/v1/ai-sdk/"+path+"/stream", c.name)
			crawl := ""
			read(t, server, path, func(e *events.Event) bool { // to the result of the other tool
				if e.ToolName == "crawl" {
					crawl = e.Call
				}
				return e.Type == events.ToolCallResult
			})
			post(t, server+"/v1/sessions/"+path+"/interrupt", c.interrupt(crawl))
			agent.await(t, "crawl stopped: Tool call crawl with id call_")
			agent.await(t, c.end)
			agent.exit(t)

			got := client.state(t)
			if len(got.Calls) != 2 {
				t.Fatalf("the client shows %+v", got)
			}
			for i := range got.Calls {
				got.Calls[i].Result, _, _ = strings.Cut(got.Calls[i].Result, " with id ")
			}
			want(t, "the first call", fmt.Sprint(got.Calls[0]), "{search output-available completed What is a fjord?: a long, narrow inlet}")
			want(t, "the second call", fmt.Sprint(got.Calls[1]), "{crawl output-error cancelled Tool call crawl}")
			if got.Outcome != c.outcome || len(got.Texts) != c.texts {
				t.Errorf("the client shows the outcome %s and %d texts, want %s and %d", got.Outcome, len(got.Texts), c.outcome, c.texts)
			}
			log := read(t, server, path, ended)
			if late := of(log, events.ToolCallLateResult); len(late) > 0 {
				t.Errorf("late results: %+v", late)
			}
		})
	}
}

// aiSDK is a client of the AI SDK.
type aiSDK struct{ *process }

// shown is what a client shows in the end.
type shown struct {
	Outcome string
	Texts   []string
	Calls   []struct{ Name, State, Status, Result string }
}

// startAISDK starts a client of the AI SDK, and waits until its stream is open.
func startAISDK(t *testing.T, url, session string) aiSDK {
	t.Helper()
	job, err := json.Marshal(map[string]any{"job": "1", "kind": "chat", "url": url, "session": session, "times": 1})
	if err != nil {
		t.Fatal(err)
	}
	cmd := example("../test/clients", "", "ai-sdk.mjs")
	cmd.Stdin = strings.NewReader(string(job) + "\n")
	c := aiSDK{start(t, cmd)}
	c.await(t, `{"job":"1","open":true}`)
	return c
}

// state returns what the client shows at the end of the stream.
func (c aiSDK) state(t *testing.T) (s shown) {
	t.Helper()
	line := struct{ State *shown }{&s}
	if err := json.Unmarshal([]byte(c.await(t, `{"job":"1","state":`)), &line); err != nil {
		t.Fatal(err)
	}
	return s
}

// requireNode skips the test where node or the packages of directories are absent.
func requireNode(t *testing.T, dirs ...string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir + "/node_modules"); err != nil {
			t.Skipf("packages are not installed: `npm ci --ignore-scripts` in %s installs them", dir)
		}
	}
}

// example returns the command that runs a node program in a directory, with a further
// variable unless it is empty.
func example(dir, variable string, args ...string) *exec.Cmd {
	cmd := exec.Command("node", args...)
	cmd.Dir = dir
	if variable != "" {
		cmd.Env = append(os.Environ(), variable)
	}
	return cmd
}
