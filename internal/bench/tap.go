package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// TapOptions configures a measurement of the tap.
type TapOptions struct {
	Streams int           `placeholder:"NUMBER" default:"20" help:"number of concurrent answers"`
	Chunks  int           `placeholder:"NUMBER" default:"1000" help:"number of chunks per answer"`
	Every   time.Duration `placeholder:"DURATION" default:"10ms" help:"time between two chunks of an answer"`
	Open    int           `placeholder:"NUMBER" default:"1000" help:"number of open answers whose memory is measured"`
	Rounds  int           `placeholder:"NUMBER" default:"5" help:"number of measurements of each way, in turns; the medians are printed"`
}

// Check returns an error that names the flag with an invalid value.
func (o *TapOptions) Check() error {
	return errors.Join(AtLeast("streams", o.Streams, 1), AtLeast("chunks", o.Chunks, 10), AtLeast("every", o.Every, time.Millisecond),
		AtLeast("open", o.Open, 1), AtLeast("rounds", o.Rounds, 1))
}

// TapResult compares the ways to an upstream.
type TapResult struct {
	Ways      []TapWay `json:"ways"`
	PerStream float64  `json:"rss_kib_per_stream"` // memory of the process with the tap
}

// TapWay is a way to an upstream: direct, through httputil.ReverseProxy without any
// settings, or through the tap.
type TapWay struct {
	Name     string  `json:"name"`
	P50      float64 `json:"p50_us"` // from the upstream's write of a chunk to the client's read
	P99      float64 `json:"p99_us"`
	Requests float64 `json:"requests_per_s"` // of one client with answers of two chunks
	Cut      int     `json:"cut"`            // answers that did not arrive whole: https://go.dev/issue/40747

	url                string
	p50, p99, requests []float64 // of each round
}

// Measure measures the tap. The tap and the bare proxy are processes of their own on
// loopback; the upstream and the clients are in this process.
func (o *TapOptions) Measure(ctx context.Context) (*TapResult, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	upstream, err := serveHTTP(http.HandlerFunc(o.answer))
	if err != nil {
		return nil, err
	}
	defer upstream.Close()
	bare, stop, err := startBare(ctx, program, "http://"+upstream.Addr)
	if err != nil {
		return nil, err
	}
	defer stop()
	r := &TapResult{}
	err = OnServer(ctx, program, 0, func(s *Server) error {
		r.Ways = []TapWay{{Name: "direct", url: "http://" + upstream.Addr}, {Name: "ReverseProxy", url: bare}, {Name: "tap", url: s.page + "tap/bench"}}
		for round := range o.Rounds {
			for i := range r.Ways {
				if err := o.measure(ctx, &r.Ways[(i+round)%len(r.Ways)]); err != nil {
					return err
				}
			}
		}
		r.PerStream, err = o.memory(ctx, s)
		return err
	}, "--tap", "bench=http://"+upstream.Addr, "--texts", "coalesced")
	for i := range r.Ways {
		w := &r.Ways[i]
		w.P50, w.P99, w.Requests = median(w.p50), median(w.p99), median(w.requests)
	}
	return r, err
}

// startBare starts a process of ServeBare, and returns its URL.
func startBare(ctx context.Context, program, upstream string) (address string, stop func(), err error) {
	ctx, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "bench", "bare", upstream)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		kill()
		return "", nil, fmt.Errorf("starting the bare server: %w", err)
	}
	_, err = fmt.Fscanln(out, &address)
	return address, func() { kill(); _ = cmd.Wait() }, err
}

// ServeBare serves what a measurement compares with, until ctx ends: the bare fan-out of the
// events of a NATS server, or httputil.ReverseProxy without any settings. It prints its URL.
func ServeBare(ctx context.Context, upstream string, out io.Writer) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	if target.Scheme == "nats" {
		return serveFan(ctx, upstream, out)
	}
	return serveUntil(ctx, &httputil.ReverseProxy{
		Rewrite:  func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ErrorLog: log.New(io.Discard, "", 0), // the cut answers are counted
	}, out)
}

func serveUntil(ctx context.Context, h http.Handler, out io.Writer) error {
	s, err := serveHTTP(h)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "http://"+s.Addr)
	<-ctx.Done()
	return s.Close()
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func serveHTTP(h http.Handler) (*http.Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &http.Server{Addr: ln.Addr().String(), Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(ln) }() // until it is closed
	return s, nil
}

// tapPath is the path of the requests. Its query says how many chunks an answer has; one
// of none stays open.
const tapPath = "/v1/chat/completions"

// answer writes chunks whose texts are the times at which they are written.
func (o *TapOptions) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	var chunks int
	_, _ = fmt.Sscan(r.URL.RawQuery, &chunks)
	rc := http.NewResponseController(w)
	for i := 0; i < max(chunks, 1); i++ {
		if i > 0 && chunks > 2 {
			time.Sleep(o.Every)
		}
		fmt.Fprintf(w, "data: {\"id\":\"m\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", now())
		_ = rc.Flush()
	}
	if chunks == 0 {
		<-r.Context().Done()
	}
}

// ask sends a request and calls fn with the texts of its answer.
func ask(ctx context.Context, c *http.Client, w *TapWay, chunks int, fn func(text string)) error {
	body := `{"stream":true,"messages":[{"role":"user","content":"` + rand.Text() + `"}],"tools":[{}]}` // another conversation each time
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s%s?%d", w.url, tapPath, chunks), strings.NewReader(body))
	if err != nil {
		return err
	}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if _, text, ok := bytes.Cut(lines.Bytes(), []byte(`"content":"`)); ok {
			text, _, _ = bytes.Cut(text, []byte{'"'})
			fn(string(text))
		}
	}
	return lines.Err()
}

func (o *TapOptions) measure(ctx context.Context, w *TapWay) error {
	var mu sync.Mutex
	var delays []time.Duration
	errs := make([]error, o.Streams)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.Streams}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range o.Streams {
		wg.Go(func() {
			var own []time.Duration
			time.Sleep(time.Duration(i) * (5*o.Every + o.Every/time.Duration(o.Streams))) // answers are independent
			errs[i] = ask(ctx, client, w, o.Chunks, func(text string) {
				if d, ok := since(text); ok {
					own = append(own, d)
				}
			})
			mu.Lock()
			defer mu.Unlock()
			delays = append(delays, own...)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			w.Cut++
		} else if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	if len(delays) == 0 {
		return fmt.Errorf("%s: no answer arrived", w.Name)
	}
	q := quantiles(delays)
	w.p50, w.p99 = append(w.p50, q.P50), append(w.p99, q.P99)
	start, n := time.Now(), 0
	for time.Since(start) < time.Second {
		switch err := ask(ctx, client, w, 2, func(string) {}); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			w.Cut++
		case err != nil:
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		n++
	}
	w.requests = append(w.requests, float64(n)/time.Since(start).Seconds())
	return nil
}

// memory returns the memory of an open answer in the process with the tap, in KiB.
func (o *TapOptions) memory(ctx context.Context, s *Server) (float64, error) {
	time.Sleep(quietTime)
	before, _, err := use(s.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Transport: &http.Transport{}}
	opened := make(chan struct{}, o.Open)
	var wg sync.WaitGroup
	for range o.Open {
		wg.Go(func() {
			_ = ask(ctx, client, &TapWay{url: s.page + "tap/bench"}, 0, func(string) { opened <- struct{}{} }) // ends with ctx
		})
	}
	for range o.Open {
		select {
		case <-opened:
		case <-time.After(receiveTime):
			err = errors.New("memory: an answer did not begin")
		}
	}
	time.Sleep(quietTime)
	after, _, _ := use(s.cmd.Process.Pid) // as it could be read before
	cancel()
	wg.Wait()
	return (after - before) / 1024 / float64(o.Open), err
}

// Print writes the result as a table.
func (r *TapResult) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "way\tp50 per chunk\tp99 per chunk\trequests/s\tcut\t\n")
	for _, way := range r.Ways {
		fmt.Fprintf(w, "%s\t%.0f µs\t%.0f µs\t%.0f\t%d\t\n", way.Name, way.P50, way.P99, way.Requests, way.Cut)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "memory of the tap: %.1f KiB per open answer\n", r.PerStream)
	return err
}
