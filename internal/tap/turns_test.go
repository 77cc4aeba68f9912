package tap

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// TestEqualTurns: results and messages that are the same in each turn are published each time.
func TestEqualTurns(t *testing.T) {
	const turns = 5
	for name, c := range map[string]struct{ path, field, answer, model, next, want string }{
		"results without ids": {
			"/gemini/v1beta/models/m:generateContent", "contents",
			`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"poll","args":{}}}]},"finishReason":"STOP","index":0}]}`,
			`{"role":"model","parts":[{"functionCall":{"name":"poll","args":{}}}]}`,
			`{"role":"user","parts":[{"functionResponse":{"name":"poll","response":{"output":"pending"}}}]}`,
			" completed ",
		},
		"messages": {
			"/openai/v1/chat/completions", "messages", strings.ReplaceAll(chatText, "4 degrees.", "OK."),
			`{"role":"assistant","content":"OK."}`, `{"role":"user","content":"next"}`, ": human next",
		},
	} {
		t.Run(name, func(t *testing.T) {
			answers := make([]string, turns+1)
			for i := range answers {
				answers[i] = c.answer
			}
			url, l, tp := open(t, sse(answers...), nil)
			history := `{"role":"user","content":"go","parts":[{"text":"go"}]}`
			post(t, url+c.path, `{"`+c.field+`":[`+history+`]}`)
			for range turns {
				history += "," + c.model + "," + c.next
				post(t, url+c.path, `{"`+c.field+`":[`+history+`]}`)
			}
			closeTap(t, tp)
			if got := strings.Count(l.story(), c.want); got != turns {
				t.Errorf("%d times %q, want %d; the log has\n%s", got, c.want, turns, l.story())
			}
		})
	}
}

// TestBeside: the calls of a request that runs beside the stream of another in its session
// get their results, and its message of a person is published.
func TestBeside(t *testing.T) {
	begun, release := make(chan bool), make(chan bool)
	url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		answer := strings.ReplaceAll(chatCall, "call_1", "call_2")
		switch {
		case strings.Contains(string(body), "first"):
			_, _ = io.WriteString(w, chatHead)
			_ = http.NewResponseController(w).Flush()
			close(begun)
			<-release
			answer = chatCall[len(chatHead):]
		case strings.Contains(string(body), `"tool"`):
			answer = chatText
		}
		_, _ = io.WriteString(w, answer)
	}), nil)
	ask := func(messages string) {
		post(t, url+"/openai/v1/chat/completions", `{"messages":[`+messages+`],"tools":[{"type":"function"}]}`, "Streamer-Session", "s")
	}
	var first sync.WaitGroup
	first.Go(func() { ask(`{"role":"user","content":"first"}`) })
	await(t, "the first answer", begun)
	published := func(what string) {
		testkit.UntilTrue(t, what, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.ContainsFunc(l.inputs, func(in string) bool { return strings.Contains(in, what) })
		})
	}
	published("call_1") // the first has its line
	second := `{"role":"user","content":"second"}`
	ask(second)
	published("tool_calls\":[{\"index\":0,\"id\":\"call_2")
	ask(second + `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_2","content":"4"}`)
	published("4 degrees.")
	close(release)
	first.Wait()
	closeTap(t, tp)
	for _, want := range []string{"human second", `result call_2 completed "4"`, "args call_1 "} {
		if strings.Count(l.story(), want) != 1 {
			t.Errorf("want %s once; the log has\n%s", want, l.story())
		}
	}
}

// TestLargeItems: of a result and a message that are larger than an input the beginning is
// published, so that the call ends.
func TestLargeItems(t *testing.T) {
	url, l, tp := open(t, sse(chatCall, chatText), func(o *Options) {
		publish := o.Publish
		o.Publish = func(ctx context.Context, token string, kind inputs.Kind, id string, header inputs.Header, data []byte) (uint64, bool, error) {
			if len(data) > 100_000 {
				return 0, false, inputs.ErrTooLarge
			}
			return publish(ctx, token, kind, id, header, data)
		}
	})
	long := strings.Repeat("ü", 100_000)
	post(t, url+"/openai/v1/chat/completions", ask)
	post(t, url+"/openai/v1/chat/completions", strings.Replace(ask, `"}]`, `"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"call_1","content":"`+long+`"},{"role":"user","content":"`+long+`"}]`, 1))
	closeTap(t, tp)
	story := l.story()
	for _, want := range []string{"result call_1 completed ", "human üüü", "(200000 bytes; the rest is not stored, as an input is smaller)"} {
		if strings.Count(story, want) != 1 {
			t.Errorf("want %.40s once; the log has\n%.2000s", want, story)
		}
	}
}
