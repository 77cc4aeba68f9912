package clients

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/server"
	"streamer/test/local"
	"streamer/test/testkit"
)

var cuts = flag.Int("cuts", 3, "how many connections of each client and session are cut off in the history; 0 cuts off after every frame")

// TestMain runs as many sessions at once as there are. Their clients wait for delays
// before they reconnect.
func TestMain(m *testing.M) {
	testkit.AtOnce(20)
	os.Exit(m.Run())
}

// kind is a way in which a client is used.
type kind struct {
	name, program string
	path          string // of the stream, or of the base URL; %s is the session
	turns         bool   // a stream is a turn, and its client can wait for the run of an input
	lastRun       bool   // a stream is a run
	once          bool   // the client does not connect again
	drops         bool   // the client drops a message that another attempt replaces
	times         int    // how often the client connects
	keeps         bool   // the client has the messages of the runs that it saw before
	sent          string // the question that the client has sent and shows, if any
	outcomes      map[events.Status]string
	states        map[events.Status]string // in which the client shows a call
	// deniesWithoutMore states that the protocol has no text and no metadata for a
	// denied call.
	deniesWithoutMore bool
}

// kinds returns the kinds of clients that show calls.
func kinds() []*kind {
	statuses := map[events.Status]string{events.Completed: "completed", events.Error: "error", events.Cancelled: "cancelled", events.Interrupted: "interrupted"}
	parts := map[events.Status]string{
		events.ArgsComplete: "input-available", events.AwaitingInput: "approval-requested",
		events.Completed: "output-available", events.Error: "output-error", events.Cancelled: "output-error", events.TimedOut: "output-error", events.Denied: "output-denied",
	}
	ag := &kind{
		name: "agent", program: "ag-ui.mjs", path: "/v1/ag-ui/%s", turns: true, times: 2, keeps: true, sent: "go",
		outcomes: map[events.Status]string{events.Completed: "success", events.Error: "error", events.Cancelled: "cancelled", events.Interrupted: "interrupt"},
		states:   ends("pending", "result", "result"),
	}
	return []*kind{
		{name: "chat", program: "ai-sdk.mjs", path: "/v1/ai-sdk/%s/stream", turns: true, drops: true, times: 2, keeps: true, outcomes: statuses, states: parts, deniesWithoutMore: true},
		{name: "reader", program: "ai-sdk.mjs", path: "/v1/ai-sdk/%s/stream", turns: true, drops: true, once: true, outcomes: statuses, states: parts, deniesWithoutMore: true},
		{name: "reload", program: "ai-sdk.mjs", path: "/v1", drops: true, once: true, outcomes: statuses, states: parts, deniesWithoutMore: true},
		ag,
		{name: "reload", program: "ag-ui.mjs", path: "/v1", once: true, outcomes: ag.outcomes, states: ag.states},
		{
			name: "join", program: "langgraph.mjs", path: "/v1/langgraph", lastRun: true,
			outcomes: map[events.Status]string{events.Completed: "ended", events.Error: "error", events.Cancelled: "ended", events.Interrupted: "interrupted"},
			states:   ends("pending", "success", "error"),
		},
		{name: "thread", program: "langgraph.mjs", path: "/v1/langgraph", outcomes: statuses, states: ends("running", "finished", "error")},
	}
}

// ends returns the states of a client that has three.
func ends(open, completed, failed string) map[events.Status]string {
	return map[events.Status]string{
		events.ArgsComplete: open, events.AwaitingInput: open,
		events.Completed: completed, events.Error: failed, events.Cancelled: failed, events.TimedOut: failed, events.Denied: failed,
	}
}

// fixture is a server with clients.
type fixture struct {
	server    string
	proxy     *proxy
	processes map[string]*process
}

// TestClients publishes each session of testdata while all clients watch, and lets
// them connect again afterwards. Some connections are cut off.
func TestClients(t *testing.T) {
	requireClients(t)
	f := &fixture{server: serve(t, config(t)), processes: map[string]*process{}}
	f.proxy = openProxy(t, f.server)
	for _, program := range []string{"ai-sdk.mjs", "ag-ui.mjs", "langgraph.mjs", "eventsource.mjs", "durable.mjs"} {
		f.processes[program] = startProcess(t, program)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no sessions", err)
	}
	t.Run("sessions", func(t *testing.T) { // ends when all have ended
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txt")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f.testSession(t, readScript(t, file, "clients/"+name+" ü"))
			})
		}
	})
}

// config returns the configuration of a server. A busy machine is no reason to refuse a
// client.
func config(t *testing.T) server.Config {
	c := local.Config(t.TempDir())
	c.Gateway.StoreTimeout = within
	return c
}

// serve runs a server until the test ends, and returns its URL.
func serve(t *testing.T, c server.Config) string {
	t.Helper()
	s, _ := local.Serve(t, c)
	return strings.TrimSuffix(s.Page(), "/")
}

// testSession tests all clients with a session.
func (f *fixture) testSession(t *testing.T, sc script) {
	s := openSession(t, f.server, sc.name, nil)
	had := map[string]json.RawMessage{} // messages of the clients, by kind
	var sources []*running
	var durable []watcher
	for i, lines := range sc.runs {
		rest, first := s.begin(lines)
		live := f.startLive(t, s.name, first, 2+i, had)
		if i == 0 {
			sources = f.startSources(t, s.name, len(sc.runs), 0, 2, 7)
			for _, way := range ways() {
				durable = append(durable, f.startDurable(t, s.name, way, len(sc.runs), 0, 1, 2, 4, 7)...)
			}
		}
		for _, w := range append(slices.Clone(live), watcher{nil, sources[0], ""}) {
			w.awaitOpen(t)
		}
		for _, line := range rest {
			s.play(line)
		}
		s.log.await("the end of the run", func(e *events.Event) bool { return e.Type == events.RunFinished })
		for _, w := range live {
			f.checkLive(t, s.log, w, had)
		}
	}
	for _, r := range append(sources, f.startSources(t, s.name, len(sc.runs), 3, 9)...) {
		checkSource(t, s.log, r)
	}
	for _, w := range durable {
		checkDurable(t, s.log, w)
	}
	f.testDurable(t, s, len(sc.runs))
	f.testHistory(t, s)
}

// watcher is a client that shows a session.
type watcher struct {
	kind *kind
	*running
	name string // of its connections at the proxy
}

// start starts a client whose first connection is cut off after n frames.
func (f *fixture) start(t *testing.T, k *kind, session string, n int, j job) watcher {
	t.Helper()
	base, name := f.proxy.url(n)
	j.Kind, j.Session, j.Times = k.name, session, max(k.times, 1)
	path, query, _ := strings.Cut(j.URL, "?")
	j.URL = base + path
	if query != "" {
		j.URL += "?" + query
	}
	return watcher{k, f.processes[k.program].start(t, j), name}
}

// pathOf returns the path of a session for a client.
func (k *kind) pathOf(session string) string {
	if strings.Contains(k.path, "%s") {
		return fmt.Sprintf(k.path, url.PathEscape(session))
	}
	return k.path
}

// endedPathOf returns the path of a session for a client that lacks its last run, which has
// ended.
func (k *kind) endedPathOf(session string) string {
	path := k.pathOf(session)
	if k.turns {
		path += "?last_event_id=0"
	}
	return path
}

// startLive starts two clients of each kind at the start of a run, whose first input is
// given. A connection of the second one is cut off after some frames.
func (f *fixture) startLive(t *testing.T, session string, first uint64, n int, had map[string]json.RawMessage) (list []watcher) {
	t.Helper()
	for i, k := range kinds() {
		path := k.pathOf(session)
		if k.turns {
			path += "?after=" + strconv.FormatUint(first, 10)
		}
		list = append(list, f.start(t, k, session, 0, job{URL: path, Messages: had[k.name]}))
		if !k.once {
			list = append(list, f.start(t, k, session, n+i, job{URL: path, Messages: had[k.name]}))
		}
	}
	return list
}

// checkLive checks the state of a client at the end of a run that it watched.
func (f *fixture) checkLive(t *testing.T, l *sessionLog, w watcher, had map[string]json.RawMessage) {
	t.Helper()
	var got shown
	if !unmarshal(t, w.state(t), &got) {
		return
	}
	v := w.kind.view(l)
	if w.kind.keeps {
		v = w.kind.viewOf(l, l.runs())
		had[w.kind.name] = got.Messages
	}
	v.check(t, "live "+w.kind.name+" "+w.name, w.kind, &got)
}

// view returns what a client of a kind must show if it connects now.
func (k *kind) view(l *sessionLog) *view {
	runs := l.runs()
	switch {
	case k.lastRun:
		return k.viewOf(l, runs[len(runs)-1:])
	case k.turns:
		return k.viewOf(l, l.turn())
	}
	return k.viewOf(l, runs)
}

// testHistory tests the clients with a session that has ended. The state of a client
// whose connection is cut off is that of a client with one connection.
func (f *fixture) testHistory(t *testing.T, s *session) {
	var list []watcher
	for _, k := range kinds() {
		list = append(list, f.start(t, k, s.name, 0, job{URL: k.endedPathOf(s.name)}))
	}
	states := map[string]json.RawMessage{}
	var plans []cutPlan
	for _, w := range list {
		state := w.state(t)
		var got shown
		if !unmarshal(t, state, &got) {
			continue
		}
		w.kind.view(s.log).check(t, "history "+w.kind.name, w.kind, &got)
		states[w.kind.name] = state
		if !w.kind.once {
			for _, n := range cutsOf(f.proxy.framesOf(w.name), len(s.log.records)) {
				plans = append(plans, cutPlan{w.kind, n})
			}
		}
	}
	for some := range slices.Chunk(plans, 20) {
		f.testCuts(t, s, some, states)
	}
}

// cutPlan is a client, and the number of frames after which its connection is cut off.
type cutPlan struct {
	kind *kind
	n    int
}

// testCuts tests clients whose connections are cut off, all at once. states are the
// states of clients with one connection, by kind.
func (f *fixture) testCuts(t *testing.T, s *session, plans []cutPlan, states map[string]json.RawMessage) {
	var list []watcher
	for _, p := range plans {
		list = append(list, f.start(t, p.kind, s.name, p.n, job{URL: p.kind.endedPathOf(s.name)}))
	}
	for _, w := range list {
		if got, want := w.state(t), states[w.kind.name]; got != nil && !sameJSON(got, want) {
			t.Errorf("%s shows after a cut %s\n%s\nwant\n%s", w.kind.name, w.URL, got, want)
		}
		if !f.proxy.wasCut(w.name) {
			t.Errorf("%s %s: no connection was cut off", w.kind.name, w.URL)
		}
	}
}

// cutsOf returns the numbers of frames after which connections with a history of so
// many frames are cut off. offset selects some if not all are.
func cutsOf(frames, offset int) (list []int) {
	step := 1
	if *cuts > 0 {
		step = max(1, frames / *cuts)
	}
	for n := 1 + offset%step; n <= frames; n += step {
		list = append(list, n)
	}
	return list
}

// startSources starts EventSources, of which connections are cut off after some frames.
func (f *fixture) startSources(t *testing.T, session string, runs int, after ...int) (list []*running) {
	t.Helper()
	var types []string
	for _, k := range events.Types() {
		types = append(types, string(k))
	}
	for _, n := range after {
		base, _ := f.proxy.url(n)
		list = append(list, f.processes["eventsource.mjs"].start(t, job{
			Kind: "events", URL: base + "/v1/sessions/" + url.PathEscape(session) + "/events", Session: session, Runs: runs, Types: types,
		}))
	}
	return list
}

// checkSource checks that an EventSource gets the log.
func checkSource(t *testing.T, l *sessionLog, r *running) {
	t.Helper()
	var got shown
	if !unmarshal(t, r.state(t), &got) {
		return
	}
	if text := strings.Join(got.Events, "\n") + "\n"; text != l.String() {
		t.Errorf("%s reads\n%swant\n%s", r.URL, text, l)
	}
}

// unmarshal reads the state of a client, unless it failed.
func unmarshal(t *testing.T, state json.RawMessage, to *shown) bool {
	t.Helper()
	if state == nil {
		return false
	}
	if err := json.Unmarshal(state, to); err != nil {
		t.Errorf("%v: %s", err, state)
		return false
	}
	return true
}
