package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/test/testkit"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// pageLarge: 1,000 calls and 10,000 deltas, live and after a reload. No task takes 50 ms of
// the processor: of the trace, the time of the thread counts, because another process can stop
// it for longer. Other load still slows it, so that the best of three tries counts.
func pageLarge(t *testing.T, web context.Context, home string) {
	const most, tries = 50 * time.Millisecond, 3
	for n := 1; ; n++ {
		got := thousandLive(t, web, home, fmt.Sprint("large-", n))
		if got.processor <= most || testkit.Race {
			return
		}
		if n == tries {
			t.Fatalf("in each of %d tries a task of 1,000 live calls takes more than %s of the processor, the last %s", tries, most, got.processor)
		}
	}
}

// thousandLive returns the longest task of a page while 1,000 calls come.
func thousandLive(t *testing.T, web context.Context, home, session string) task {
	t.Helper()
	p := openTab(t, web, "light")
	p.open(home, session)
	began := time.Now()
	const all = `document.querySelectorAll('.card[data-state="args_complete"]').length === 1000`
	live := p.traced(func() {
		p.thousand()
		p.wait("1,000 calls with complete args", all)
	})
	t.Logf("1,000 calls and 10,000 deltas took %s live, %s", time.Since(began).Round(time.Millisecond), longest(live))
	began = time.Now()
	again := p.traced(func() {
		p.do("reload", chromedp.Reload())
		p.wait("1,000 calls after a reload", all)
	})
	t.Logf("and %s after a reload, %s", time.Since(began).Round(time.Millisecond), longest(again))
	p.screenshot("large")
	p.quiet()
	return live[0]
}

// thousand publishes 1,000 calls, whose args come in ten pieces each.
func (p *webPage) thousand() {
	const calls, pieces = 1_000, 10
	for m := range 10 {
		var lines []string
		line := func(body, finish string) {
			lines = append(lines, fmt.Sprintf(`{"id":"msg_%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, m, body, finish))
		}
		for i := range calls / 10 {
			line(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c_%d_%d","function":{"name":"tool_%d","arguments":"{\"k\":\""}}]}`, i, m, i, i%7), "null")
		}
		for n := range pieces - 1 {
			for i := range calls / 10 {
				end := ""
				if n == pieces-2 {
					end = `\"}`
				}
				line(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"piece %d %s"}}]}`, i, n, end), "null")
			}
		}
		line("{}", `"tool_calls"`)
		p.post("deltas", "["+strings.Join(lines, ",")+"]")
	}
}

// task is a task of the main thread of a page.
type task struct {
	took, processor time.Duration // by the clock, and of the processor
}

func longest(tasks []task) string {
	return fmt.Sprintf("%d tasks, the longest with %s of the processor (%s)", len(tasks), tasks[0].processor, tasks[0].took)
}

// traced does something while the browser records its tasks, and returns those of the page, the
// longest first.
func (p *webPage) traced(do func()) []task {
	p.t.Helper()
	type traceEvent struct {
		Name     string
		PID, TID int
		Dur      int64 // in µs
		Tdur     int64 // of the thread
	}
	ended := make(chan struct{})
	var list []traceEvent // until ended is closed
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *tracing.EventDataCollected:
			for _, value := range ev.Value {
				var e traceEvent
				_ = json.Unmarshal(value, &e) // an event of another form is none of a task
				list = append(list, e)
			}
		case *tracing.EventTracingComplete:
			close(ended)
		}
	})
	if err != nil {
		p.t.Fatal("trace: ", err)
	}
	p.do("begin a trace", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"toplevel", "blink.user_timing"}}})
		return err
	}))
	eval[bool](p, `(performance.mark("this thread"), true)`)
	do()
	p.do("end the trace", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, tracing.End, cdp.Empty{})
		return err
	}))
	select {
	case <-ended:
	case <-p.ctx.Done():
		p.t.Fatal("the trace does not end")
	}
	main := slices.IndexFunc(list, func(e traceEvent) bool { return e.Name == "this thread" })
	if main < 0 {
		p.t.Fatalf("the mark of the page is not in a trace of %d events", len(list))
	}
	var tasks []task
	for _, e := range list {
		if strings.HasSuffix(e.Name, "RunTask") && e.PID == list[main].PID && e.TID == list[main].TID {
			tasks = append(tasks, task{time.Duration(e.Dur) * time.Microsecond, time.Duration(e.Tdur) * time.Microsecond})
		}
	}
	if len(tasks) == 0 {
		p.t.Fatalf("no task in a trace of %d events", len(list))
	}
	slices.SortFunc(tasks, func(a, b task) int { return int(b.processor - a.processor) })
	return tasks
}
