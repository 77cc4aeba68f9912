package tap

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/server"
	"streamer/test/local"
	"streamer/test/testkit"
)

// TestMain runs as many jobs at once as clients have delays to wait for.
func TestMain(m *testing.M) {
	testkit.AtOnce(12)
	os.Exit(m.Run())
}

// args are the args of the call in all fixtures.
const args = `{"city":"Örebro \"x\"","days":[1,2],"note":"a\nb"}`

var clients = []string{"openai_chat", "openai_responses", "anthropic", "genai", "ai_openai", "ai_openai_chat", "ai_anthropic", "ai_google", "langchain_openai", "responses_ws"}

// cases are those of the upstream.
var cases = []string{"stream", "whole", "cut", "e429", "e400", "e500", "leave", "gzip"}

// setup has the parts of a test.
type setup struct {
	upstream *upstream
	server   *server.Server
	tap      string // URL
	sdks     *process
}

// open returns a server with a tap of a fake upstream.
func open(t *testing.T) *setup {
	t.Helper()
	s := &setup{upstream: openUpstream(t)}
	c := local.Config(t.TempDir())
	c.Tap = server.TapFlags{Tap: []string{"fake=" + s.upstream.url}}
	s.server, _ = local.Serve(t, c)
	s.tap = strings.TrimSuffix(s.server.Page(), "/") + "/tap/fake"
	return s
}

// TestSDKs runs each client in each case, with the tap and without it.
func TestSDKs(t *testing.T) {
	requireSDKs(t)
	s := open(t)
	s.sdks = startProcess(t, exec.Command("node", "sdks.mjs"))
	s.testAll(t, clients)
}

// TestGoSDKs does the same with the SDKs for Go, which take minutes to compile.
func TestGoSDKs(t *testing.T) {
	testkit.Campaign(t)
	program := filepath.Join(t.TempDir(), "golang")
	if out, err := exec.Command("go", "build", "-C", "golang", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := open(t)
	s.sdks = startProcess(t, exec.Command(program))
	s.testAll(t, []string{"go_openai_chat", "go_openai_responses", "go_anthropic"})
}

func (s *setup) testAll(t *testing.T, clients []string) {
	t.Run("clients", func(t *testing.T) { // ends when all have ended
		for _, client := range clients {
			for _, name := range cases {
				if client == "responses_ws" && name != "stream" && name != "leave" {
					continue
				}
				t.Run(client+" "+name, func(t *testing.T) {
					t.Parallel()
					s.test(t, client, name)
				})
			}
		}
	})
}

// test compares a job with the tap and without it.
func (s *setup) test(t *testing.T, client, name string) {
	key := client + "." + name
	j := job{Client: client, Mode: "stream", Prompt: "weather? " + key}
	if name == "whole" || name == "leave" {
		j.Mode = name
	}
	direct, tapped := j, j
	direct.Base = s.upstream.url + "/" + key + ".direct"
	tapped.Base, tapped.Session = s.tap+"/"+key+".tapped", key
	want, got := s.sdks.run(t, direct), s.sdks.run(t, tapped)
	if want, got := scrubbed(want), scrubbed(got); want != got {
		t.Errorf("the application got\n%s\nwithout the tap\n%s", got, want)
	}
	var left, retried bool
	testkit.Until(t, "equal requests", func() error {
		a, b := s.upstream.of(key+".direct"), s.upstream.of(key+".tapped")
		left, retried = len(b) > 0 && b[0].Sent == "left", len(b) > 1
		pending := func(r request) bool { return r.Sent == "" && r.Line != "message" && !strings.Contains(r.Line, "GET") }
		if len(a) == 0 || slices.ContainsFunc(b, pending) || !reflect.DeepEqual(a, b) {
			return fmt.Errorf("the upstream got %s\nwithout the tap %s", dump(b), dump(a))
		}
		return nil
	})
	testkit.Until(t, "the calls", func() error {
		calls, err := s.calls(t, key)
		if want := wanted(client, name, left, retried); err == nil && !slices.Equal(calls, want) {
			err = fmt.Errorf("the log has %q, want %q", calls, want)
		}
		return err
	})
}

// wanted returns the calls that the log must have.
func wanted(client, name string, left, retried bool) []string {
	id := callOf(client + "." + name)
	switch {
	case client == "responses_ws" && name == "leave":
		return []string{id + "_1 weather cancelled"}
	case client == "responses_ws":
		return []string{id + "_1 weather " + compact(args), id + "_2 weather " + compact(args)}
	case name == "e400" || name == "e500" || name == "e429" && !retried:
		return nil
	case name == "cut" || left:
		return []string{id + " weather cancelled"}
	}
	return []string{id + " weather " + compact(args)}
}

// calls returns the calls of a session: the id, the tool, and the args or the status of its
// end.
func (s *setup) calls(t *testing.T, name string) (list []string, err error) {
	token, err := events.Token(name)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	err = s.server.Broker.Events(t.Context(), token, 0, func(r events.Record) error {
		if r.Type == events.Synthetic {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(r.Data, &e); err != nil {
			return err
		}
		switch e.Type {
		case events.ToolCallStart:
			at[e.Call] = len(list)
			list = append(list, e.ID+" "+e.ToolName)
		case events.ToolCallArgsComplete:
			list[at[e.Call]] = e.ID + " " + e.ToolName + " " + compact(*e.ArgsText)
		case events.ToolCallResult:
			list[at[e.Call]] = e.ID + " " + e.ToolName + " " + string(e.Status)
		}
		return nil
	})
	return list, err
}

func dump(list []request) string {
	out, _ := json.Marshal(list)
	return string(out)
}

// madeUp matches ids that clients make up.
var madeUp = regexp.MustCompile(`aitxt-[A-Za-z0-9]+|run-[0-9a-f-]{36}|chatcmpl-[A-Za-z0-9]{8,}`)

func scrubbed(state json.RawMessage) string { return madeUp.ReplaceAllString(string(state), "ID") }

// job is a job of sdks.mjs.
type job struct {
	Job     string `json:"job"`
	Client  string `json:"client"`
	Base    string `json:"base"`
	Session string `json:"session,omitempty"`
	Mode    string `json:"mode"`
	Prompt  string `json:"prompt"`
}

// process runs SDKs.
type process struct {
	mu    sync.Mutex
	stdin io.Writer
	jobs  map[string]chan json.RawMessage
	ended chan struct{}
}

func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{stdin: stdin, jobs: map[string]chan json.RawMessage{}, ended: make(chan struct{})}
	go p.read(stdout)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // a client may have open connections
		<-p.ended
		_ = cmd.Wait()
	})
	return p
}

func (p *process) read(out io.Reader) {
	defer close(p.ended)
	for d := json.NewDecoder(bufio.NewReader(out)); ; {
		var a struct {
			Job   string
			State json.RawMessage
		}
		if err := d.Decode(&a); err != nil {
			return
		}
		p.mu.Lock()
		c := p.jobs[a.Job]
		p.mu.Unlock()
		c <- a.State
	}
}

// run runs a job and returns its state.
func (p *process) run(t *testing.T, j job) json.RawMessage {
	t.Helper()
	c := make(chan json.RawMessage, 1)
	p.mu.Lock()
	j.Job = fmt.Sprint(len(p.jobs))
	p.jobs[j.Job] = c
	err := json.NewEncoder(p.stdin).Encode(j)
	p.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case state := <-c:
		return state
	case <-p.ended:
		t.Fatal("the process of the SDKs has ended")
	case <-time.After(testkit.Within):
		t.Fatalf("%s does not end", j.Base)
	}
	return nil
}

// requireSDKs skips the test where node or the SDKs are absent, or fails it if
// STREAMER_REQUIRE_BROWSER is 1.
func requireSDKs(t *testing.T) {
	t.Helper()
	what := ""
	if _, err := exec.LookPath("node"); err != nil {
		what = "no node found: install nodejs"
	} else if _, err := os.Stat("node_modules"); err != nil {
		what = "no SDKs found: run npm ci --ignore-scripts in test/tap"
	}
	switch {
	case what == "":
	case os.Getenv("STREAMER_REQUIRE_BROWSER") == "1":
		t.Fatal(what)
	default:
		t.Skip(what)
	}
}
