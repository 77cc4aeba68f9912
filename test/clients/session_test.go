package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// script is a session of testdata: the inputs of its runs. A line is one of
//
//	# …              a comment
//	KIND JSON        an input
//	await TYPE ID    wait for an event about the call with this id
//	watch            the clients connect here; without it, after the first delta
//	run              the next run begins, after the end of the last
type script struct {
	name string
	runs [][]string
}

func readScript(t *testing.T, file, name string) script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := script{name: name, runs: [][]string{nil}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		last := len(s.runs) - 1
		switch {
		case line == "", line[0] == '#':
		case line == "run":
			s.runs = append(s.runs, nil)
		default:
			s.runs[last] = append(s.runs[last], line)
		}
	}
	return s
}

// session publishes a script.
type session struct {
	t      *testing.T
	name   string
	server string
	header http.Header
	log    *sessionLog
}

// openSession returns a session whose requests have a header.
func openSession(t *testing.T, server, name string, header http.Header) *session {
	t.Helper()
	if header == nil {
		header = http.Header{}
	}
	return &session{t: t, name: name, server: server, header: header, log: follow(t, server, name, header)}
}

// begin publishes the inputs of a run up to the place where the clients connect. It
// returns the rest, and the sequence of the first input.
func (s *session) begin(lines []string) (rest []string, first uint64) {
	s.t.Helper()
	isDelta := func(line string) bool { return strings.HasPrefix(line, "delta ") }
	end := slices.Index(lines, "watch")
	if end < 0 {
		end = slices.IndexFunc(lines, isDelta) + 1
	}
	for i, line := range lines[:end] {
		if seq := s.play(line); i == 0 {
			first = seq
		}
	}
	s.log.await("the start of the run", func(e *events.Event) bool { return e.Type == events.RunStarted })
	return slices.DeleteFunc(slices.Clone(lines[end:]), func(line string) bool { return line == "watch" }), first
}

// play executes a line and returns the sequence of the input.
func (s *session) play(line string) uint64 {
	s.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	if verb != "await" {
		return s.post(verb, rest)
	}
	kind, id, _ := strings.Cut(rest, " ")
	s.log.await(rest, func(e *events.Event) bool { return e.Type == events.Type(kind) && e.ID == id })
	return 0
}

// post publishes an input and returns its sequence.
func (s *session) post(kind, body string) uint64 {
	s.t.Helper()
	path := map[string]string{"delta": "deltas", "result": "results"}[kind]
	if path == "" {
		path = kind
	}
	req, err := http.NewRequestWithContext(inTime(s.t), http.MethodPost, s.server+"/v1/sessions/"+url.PathEscape(s.name)+"/"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = s.header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	var stored struct{ Seq uint64 }
	if resp.StatusCode != http.StatusAccepted || json.Unmarshal(answer, &stored) != nil {
		s.t.Fatalf("%s %s: %s %s %v", kind, body, resp.Status, answer, err)
	}
	return stored.Seq
}
