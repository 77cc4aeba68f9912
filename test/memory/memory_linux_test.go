//go:build memory

package memory

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// number returns the value of an environment variable, or unset if it has none.
func number(t *testing.T, name string, unset int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return unset
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: need an integer of at least 1", name, s)
	}
	return n
}

const delta = `{"id":"chatcmpl-%s","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}],"usage":null}`

// call returns the bodies of the deltas of a message with one call.
func call(message string) []string {
	return []string{
		fmt.Sprintf(delta, message, `"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_`+message+`","type":"function","function":{"name":"search","arguments":"{\"q\":\""}}]`, "null"),
		fmt.Sprintf(delta, message, `"tool_calls":[{"index":0,"function":{"arguments":"what there is to be found about tool calls\"}"}}]`, "null"),
		fmt.Sprintf(delta, message, "", `"tool_calls"`),
	}
}

// TestOpenSessions measures many sessions with an open call each: the peak while
// they are opened, and the memory after a restart. STREAMER_MEMORY_SESSIONS sets
// the number of sessions.
func TestOpenSessions(t *testing.T) {
	n := number(t, "STREAMER_MEMORY_SESSIONS", 60_000)
	program := build(t)
	p := program.start()
	t.Logf("idle: %v", p.memory())
	began := time.Now()
	err := publish(p.client(), func(yield func(input) bool) {
		for s := range n {
			name := fmt.Sprintf("thread-%d", s)
			for i, body := range call(name) {
				if !yield(input{"llm." + name + ".delta", fmt.Sprintf("%s:delta:%d", name, i), body}) {
					return
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("published after %.1f s: %v", time.Since(began).Seconds(), p.memory())
	p.untilOpen(n)
	t.Logf("%d calls open after %.1f s: %v", n, time.Since(began).Seconds(), p.memory())
	p.untilEvicted()
	t.Logf("none resident after %.1f s: %v", time.Since(began).Seconds(), p.memory())
	p.stop()
	began = time.Now()
	p = program.start()
	p.untilOpen(n)
	t.Logf("restarted after %.1f s: %v", time.Since(began).Seconds(), p.memory())
	settle := time.NewTimer(10 * time.Second) // the runtime returns memory gradually
	defer settle.Stop()
	<-settle.C
	t.Logf("10 s later: %v", p.memory())
}

// untilOpen waits until n calls are open.
func (p *process) untilOpen(n int) {
	p.t.Helper()
	p.until(fmt.Sprint(n, " calls open"), 5*time.Minute, func() bool { return p.metric("calls_open") >= float64(n) })
}

// untilEvicted waits until no session is resident.
func (p *process) untilEvicted() {
	p.t.Helper()
	p.until("without resident sessions", 5*time.Minute, func() bool { return p.metric("sessions_resident") == 0 })
}

// TestShortSessions measures sessions that begin, make a call and end, for
// STREAMER_MEMORY_MINUTES. Memory should not grow with the number of sessions.
// STREAMER_MEMORY_RATE sets the number of sessions per second.
func TestShortSessions(t *testing.T) {
	minutes := number(t, "STREAMER_MEMORY_MINUTES", 5)
	rate := number(t, "STREAMER_MEMORY_RATE", 100) // sessions per second
	p := build(t).start()
	js := p.client()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for i := range minutes * 60 {
		err := publish(js, func(yield func(input) bool) {
			for s := range rate {
				name := fmt.Sprintf("short-%d-%d", i, s)
				for k, body := range call(name) {
					if !yield(input{"llm." + name + ".delta", fmt.Sprintf("%s:delta:%d", name, k), body}) {
						return
					}
				}
				result := `{"tool_call_id":"call_` + name + `","content":"found"}`
				if !yield(input{"llm." + name + ".result", name + ":result", result}) || !yield(input{"llm." + name + ".end", name + ":end", "{}"}) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if i%30 == 0 {
			t.Logf("%3d s, %d sessions, %.0f of them resident: %v", i, (i+1)*rate, p.metric("sessions_resident"), p.memory())
		}
		<-second.C
	}
	t.Logf("end: %v", p.memory())
}

// TestSilentReaders measures clients that connect to a long history and do not
// read. STREAMER_MEMORY_MB sets the length of the history, and
// STREAMER_MEMORY_READERS the number of clients.
func TestSilentReaders(t *testing.T) {
	mb, readers := number(t, "STREAMER_MEMORY_MB", 100), number(t, "STREAMER_MEMORY_READERS", 20)
	program := build(t)
	p := program.start("--texts", "every")
	text := strings.Repeat("x", 500_000)
	err := publish(p.client(), func(yield func(input) bool) {
		for i := range 2 * mb {
			body := fmt.Sprintf(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"}}]}`, text)
			if !yield(input{"llm.long.delta", fmt.Sprint("long:", i), body}) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.until("stored", 5*time.Minute, func() bool { return p.metric("inputs_folded_total") >= float64(2*mb) && p.metric("queued_bytes") == 0 })
	p.stop() // the restarted process holds only the memory of the clients
	p = program.start("--texts", "every")
	t.Logf("%d MB of events stored, no clients: %v", mb, p.memory())
	for range readers {
		c, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(p.page, "http://"), "/"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprint(c, "GET /v1/sessions/long/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	p.until("disconnected", time.Minute, func() bool { return p.metric("sse_slow_disconnects_total") >= float64(readers) })
	t.Logf("%d clients that do not read: %v", readers, p.memory())
}
