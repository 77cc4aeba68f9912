package examples_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"streamer/internal/events"
)

// booking is a delta with a call of the tool book_table.
const booking = `{"id":"m1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"book_table","arguments":"{\"people\":2}"}}]},"finish_reason":"tool_calls"}]}`

// TestAgentGo kills the Go agent at two points, and checks that the call has one booking
// and one result after the next start.
func TestAgentGo(t *testing.T) {
	t.Parallel()
	server, nats := deployed(t, "agent")
	for session, command := range map[string]string{
		"before-result":          "HPUB llm.",
		"before-acknowledgement": "PUB $JS.ACK.TOOLCALLS.",
	} {
		t.Run(session, func(t *testing.T) {
			dir, client := t.TempDir(), make(chan *os.Process, 1)
			agent := start(t, exec.Command(program(t, "agent-go"), "--nats-url", killBefore(t, nats, command, client), "--dir", dir, "--ack-wait", "1s"))
			client <- agent.cmd.Process
			post(t, server+"/v1/sessions/"+session+"/deltas", booking)
			<-agent.ended
			first := bookings(t, dir)

			agent = start(t, exec.Command(program(t, "agent-go"), "--nats-url", nats, "--dir", dir, "--ack-wait", "1s"))
			agent.await(t, "answered call ")
			post(t, server+"/v1/sessions/"+session+"/end", "")
			log := read(t, server, session, ended)
			results, late := of(log, events.ToolCallResult), of(log, events.ToolCallLateResult)
			if len(results) != 1 || results[0].Status != events.Completed || len(late) > 0 {
				t.Fatalf("the call has the results %+v, and late ones %+v", results, late)
			}
			want(t, "the result", string(results[0].ToolResult), first)
			want(t, "the bookings after the second start", bookings(t, dir), first)
			agent.stop(t)
		})
	}
}

// killBefore returns the URL of a proxy of a NATS server. The proxy kills the client
// before it passes on a command that begins with a text and has a reply subject. The
// message by which a slow tool keeps its event has none.
func killBefore(t *testing.T, server, command string, client <-chan *os.Process) string {
	t.Helper()
	from, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		in, err := listener.Accept()
		if err != nil {
			return // the test has ended
		}
		defer in.Close()
		out, err := net.Dial("tcp", from.Host)
		if err != nil {
			return // the client reports the lost connection
		}
		defer out.Close()
		go func() { _, _ = io.Copy(in, out) }() // ends with either connection
		for commands := bufio.NewReader(in); ; {
			line, err := commands.ReadBytes('\n')
			if err != nil {
				return
			}
			if bytes.HasPrefix(line, []byte(command)) && bytes.Contains(line, []byte(" _INBOX.")) {
				_ = (<-client).Kill() // an error means that it has ended
				return
			}
			if _, err := out.Write(line); err != nil {
				return
			}
		}
	}()
	to := *from
	to.Host = listener.Addr().String()
	return to.String()
}

// bookings returns the only booking in a directory.
func bookings(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the bookings are %v, %v: want one", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// process is a running example.
type process struct {
	cmd   *exec.Cmd
	lines chan string   // of its standard output; closed at its end
	ended chan struct{} // closed at the end of its output
}

// start starts a command. It is killed at the end of the test, or when it runs too long.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, lines: make(chan string, 1000), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		defer close(p.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.lines <- lines.Text()
		}
	}()
	limit := time.AfterFunc(within, func() { _ = cmd.Process.Kill() }) // an error means that it has ended
	t.Cleanup(func() {
		limit.Stop()
		_ = cmd.Process.Kill() // as above
		<-p.ended
		_ = cmd.Wait()
	})
	return p
}

// await returns the next line of output that begins with a text.
func (p *process) await(t *testing.T, begin string) string {
	t.Helper()
	for line := range p.lines {
		if strings.HasPrefix(line, begin) {
			return line
		}
	}
	t.Fatalf("%s has ended without a line %q", p.cmd, begin)
	return ""
}

// stop ends the process in order.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended; exit returns the reason
	p.exit(t)
}

// exit waits for the end of the process.
func (p *process) exit(t *testing.T) {
	t.Helper()
	<-p.ended
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%s: %v", p.cmd, err)
	}
}
