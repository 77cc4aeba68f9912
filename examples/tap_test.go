package examples_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
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

// stubborn is an agent that asks its model once, starts a process that outlives it, and stays.
const stubborn = `
import os, subprocess, time, urllib.request
child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}'
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Content-Type": "application/json", "Authorization": "Bearer key", "Streamer-Session": "s"})
urllib.request.urlopen(request).read()
print(child.pid, flush=True)
time.sleep(600)
`

// TestTapStopped: a command that goes on although its session was stopped is ended, with what
// it started.
func TestTapStopped(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	model := httptest.NewServer(http.HandlerFunc(chat))
	t.Cleanup(model.Close)
	listen := testkit.FreePort(t)
	tapped := exec.CommandContext(t.Context(), testkit.Program(t), "tap", "--stop-grace", "100ms", "--data-dir", t.TempDir(), "--http-listen", listen, "--nats-listen", "127.0.0.1:0", "--", python, "-c", stubborn)
	tapped.Env = append(os.Environ(), "OPENAI_BASE_URL="+model.URL, "OPENAI_API_KEY=key")
	var errout strings.Builder
	tapped.Stderr = &errout
	out, err := tapped.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tapped.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	child, _ := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || child == 0 {
		t.Fatalf("the agent printed %q: %v", line, err)
	}
	res, err := http.Post("http://"+listen+"/v1/sessions/s/interrupt", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := tapped.Wait(); err == nil || !strings.Contains(errout.String(), "it is ended") {
		t.Errorf("status %v\n%s", err, errout.String())
	}
	testkit.UntilTrue(t, "the end of the child", func() bool { return syscall.Kill(child, 0) != nil || zombie(child) })
}

// zombie reports whether a process has ended, and its parent has not taken note of it.
func zombie(id int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	return err == nil && strings.Contains(string(text), ") Z ")
}
