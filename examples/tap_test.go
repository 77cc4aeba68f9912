package examples_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// TestTapCommand runs an agent that knows nothing of streamer, without and with the tap: it
// prints the same, and with the tap its calls are listed.
func TestTapCommand(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	model := httptest.NewServer(http.HandlerFunc(chat))
	t.Cleanup(model.Close)
	agent := []string{python, "-B", "agent-plain/agent.py", "How is the weather?"}
	environment := append(os.Environ(), "OPENAI_BASE_URL="+model.URL, "OPENAI_API_KEY=key", "PYTHONUTF8=1")
	plain := exec.Command(agent[0], agent[1:]...)
	plain.Env = environment
	alone, _ := run(t, plain, "")
	tapped := exec.Command(testkit.Program(t), append([]string{"tap", "--data-dir", t.TempDir(), "--http-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--"}, agent...)...)
	tapped.Env = environment
	out, errout := run(t, tapped, "")
	want(t, "the agent prints", out, alone)
	for _, text := range []string{"streamer: tool calls on http://127.0.0.1:", "streamer: 2 calls in ", "get_weather", "2 calls    0 failed    0 cancelled", "#session=openai-base-url-"} {
		if !strings.Contains(errout, text) {
			t.Errorf("no %q in\n%s", text, errout)
		}
	}
}
