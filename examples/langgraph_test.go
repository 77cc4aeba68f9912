package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestLangGraphAgent runs the LangGraph agent, interrupts a tool of it, and checks what
// the agent does and what a client of the AI SDK shows. It also answers a call.
func TestLangGraphAgent(t *testing.T) {
	requireNode(t, "langgraph-agent", "../test/clients")
	server, _ := serve(t)
	for _, c := range []struct{ answer, status, result string }{
		{`"decision":"edit","args":{"q":"a chart"}`, "completed", `"published a chart"`},
		{`"decision":"reply","value":"tomorrow"`, "completed", `"not published: tomorrow"`},
		{`"decision":"deny"`, "denied", ``},
	} {
		_, rest, _ := strings.Cut(c.answer, `:"`)
		name, _, _ := strings.Cut(rest, `"`)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := start(t, example("langgraph-agent", "STREAMER_URL="+server, "agent.js", name, "Publish a map."))
			agent.await(t, "waits for a person")
			log := read(t, server, name, func(e *events.Event) bool { return e.Type == events.ToolCallAwaiting })
			post(t, server+"/v1/sessions/"+name+"/answer", fmt.Sprintf(`{"call":%q,%s,"by":"ann"}`, log[len(log)-1].Call, c.answer))
			agent.await(t, "run completed")
			agent.exit(t)
			log = read(t, server, name, func(e *events.Event) bool { return e.Type == events.RunFinished && e.Status == events.Completed })
			results := of(log, events.ToolCallResult)
			if len(results) != 1 || string(results[0].Status) != c.status || c.result != "" && string(results[0].ToolResult) != c.result {
				t.Errorf("the results are %+v: want one, %s %s", results, c.status, c.result)
			}
			if late := append(of(log, events.ToolCallLateResult), of(log, events.Rejected)...); len(late) > 0 {
				t.Errorf("late results, rejections: %+v", late)
			}
		})
	}
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
			agent := start(t, example("langgraph-agent", "STREAMER_URL="+server, "agent.js", c.name, "What is a fjord?"))
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
			agent.await(t, "crawl stopped")
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
			if results := of(log, events.ToolCallResult); len(results) != 2 {
				t.Errorf("the results are %+v: want one of each call", results)
			}
			for _, late := range of(log, events.ToolCallLateResult) { // the report of the tool
				if late.Call != crawl || late.ToolState != "stopped" || late.ToolResult != nil {
					t.Errorf("a late result: %+v", late)
				}
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

// requireNode skips the test where node or the packages of directories are absent. It fails
// if a directory has an older copy of our package.
func requireNode(t *testing.T, dirs ...string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir + "/node_modules"); err != nil {
			t.Skipf("packages are not installed: `npm ci --ignore-scripts` in %s installs them", dir)
		}
		files, err := filepath.Glob(dir + "/node_modules/streamer-client/*.js")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			copied, err := os.ReadFile(file)
			ours, err2 := os.ReadFile("../clients/js/" + filepath.Base(file))
			if err != nil || err2 != nil || !bytes.Equal(copied, ours) {
				t.Fatalf("%s is not that of clients/js: run `npm ci --ignore-scripts` in %s", file, dir)
			}
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
