package telemetry

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/worker"

	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Spans makes a span of each call: from its start to its result, with events where its
// args were complete and where it began to wait for a person, in the trace of the input
// that started the call. Names and attributes are those of the span execute_tool of the
// OpenTelemetry semantic conventions for generative AI. It implements worker.Observer.
//
// A call whose start was stored by another process has the trace of the input that
// ended it. Calls without any trace context are root spans in a trace of their run,
// whose id depends on the session and the run only, so that all processes agree on it.
type Spans struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	content  bool // spans have args and results
	open     openCalls[openCall]
}

// openCall is what Spans keeps of a call that has no result yet.
type openCall struct {
	trace   map[string]string // trace context of its start
	waiting time.Time         // since when it waits for a person; zero if it does not
	args    string            // at most maxContent bytes of them
}

// maxContent bounds the args and the result in a span, in bytes.
const maxContent = 4 << 10

// NewSpans returns a Spans that sends its spans by OTLP over HTTP to a URL, or if it
// is "", to the endpoint that the environment names. The other OTEL_ variables of the
// exporter and of the resource apply. If content is set, spans have the first bytes of
// args and results as attributes. failed is called with the errors of the exporter, which
// has one function for all of a process. The caller closes it.
func NewSpans(ctx context.Context, url string, content bool, failed func(error)) (*Spans, error) {
	p, err := newProvider(ctx, url)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(failed))
	return &Spans{provider: p, tracer: p.Tracer("streamer"), content: content}, nil
}

// Close sends the spans that are not sent yet.
func (s *Spans) Close(ctx context.Context) error {
	if err := s.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: sending the last spans: %w", err)
	}
	return nil
}

// SnapshotStored implements worker.Observer.
func (s *Spans) SnapshotStored(time.Duration) {}

// EventStored implements worker.Observer.
func (s *Spans) EventStored(e worker.Stored) {
	switch e.Type {
	case events.ToolCallStart:
		s.begin(&e)
	case events.ToolCallArgsComplete:
		s.complete(&e)
	case events.ToolCallAwaiting:
		s.wait(&e)
	case events.ToolCallResult:
		s.end(&e)
	case events.SessionErased:
		s.open.forgetSession(&e)
	}
}

// PartitionLeft implements worker.Observer.
func (s *Spans) PartitionLeft(partition int) { s.open.forget(partition) }

func (s *Spans) begin(e *worker.Stored) {
	s.open.update(e, func(openCall, bool) (openCall, bool) { return openCall{trace: e.Trace}, len(e.Trace) > 0 })
}

func (s *Spans) complete(e *worker.Stored) {
	if s.content {
		s.open.update(e, func(c openCall, _ bool) (openCall, bool) {
			c.args = contentOf(e.Body, "args_text", "args_ref.preview")
			return c, true
		})
	}
}

// contentOf returns the beginning of the text or JSON in a field of an event, or in
// the preview of a large value.
func contentOf(body []byte, field, preview string) string {
	v := gjson.GetBytes(body, field)
	if !v.Exists() {
		v = gjson.GetBytes(body, preview)
	}
	text := v.String() // of a value that is no string, its JSON
	return strings.ToValidUTF8(strings.Clone(text[:min(len(text), maxContent)]), "")
}

func (s *Spans) wait(e *worker.Stored) {
	s.open.update(e, func(c openCall, known bool) (openCall, bool) {
		first := known && c.waiting.IsZero()
		if first {
			c.waiting = gjson.GetBytes(e.Body, "timestamp").Time()
		}
		return c, first
	})
}

func (s *Spans) end(e *worker.Stored) {
	call := s.open.take(e)
	parent := call.trace
	if parent == nil {
		parent = e.Trace
	}
	f := gjson.GetManyBytes(e.Body, "timestamp", "duration_ms", "args_ms", "tool_name", "id", "session", "run", "reason.code", "reason.text", "synthetic")
	ctx := withRun(context.Background(), f[5].String(), f[6].String())
	if span := remoteSpan(parent[inputs.HeaderTraceParent], parent[inputs.HeaderTraceState]); span.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, span)
	}
	end := f[0].Time()
	start := end.Add(-time.Duration(f[1].Int()) * time.Millisecond)
	_, made := s.tracer.Start(ctx, "execute_tool "+f[3].String(), trace.WithTimestamp(start), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", f[3].String()),
		attribute.String("gen_ai.tool.call.id", f[4].String()),
		attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.conversation.id", f[5].String()),
		attribute.String("streamer.call", e.Call),
		attribute.String("streamer.status", string(e.Status)),
		attribute.Bool("streamer.synthetic", f[9].Bool()),
	))
	if f[2].Exists() {
		made.AddEvent("args_complete", trace.WithTimestamp(start.Add(time.Duration(f[2].Int())*time.Millisecond)))
	}
	if !call.waiting.IsZero() {
		made.AddEvent("awaiting_input", trace.WithTimestamp(call.waiting))
	}
	if s.content {
		made.SetAttributes(
			attribute.String("gen_ai.tool.call.arguments", call.args),
			attribute.String("gen_ai.tool.call.result", contentOf(e.Body, "tool_result", "tool_result_ref.preview")),
		)
	}
	if e.Status != events.Completed {
		setError(made, e.Status, f[7].String(), f[8].String())
	}
	made.End(trace.WithTimestamp(end))
}

func setError(span trace.Span, status events.Status, code, text string) {
	span.SetAttributes(attribute.String("error.type", cmp.Or(code, string(status))))
	span.SetStatus(codes.Error, text)
}

// remoteSpan returns the span that the headers of W3C Trace Context name, which is
// not valid if they name none.
func remoteSpan(parent, state string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}
	c := propagation.MapCarrier{"traceparent": parent, "tracestate": state}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), c))
}

// Configured reports whether the environment names an OTLP endpoint for traces, with
// the variables of the OpenTelemetry specification.
func Configured() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// newProvider returns a provider that sends spans to an endpoint, or if it is "", to the
// one that the environment names.
func newProvider(ctx context.Context, endpoint string) (*sdktrace.TracerProvider, error) {
	options, err := optionsOf(endpoint, otlptracehttp.WithEndpointURL)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTLP exporter: %w", err)
	}
	res, err := newResource(ctx)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res), sdktrace.WithIDGenerator(runIDs{})), nil
}

// optionsOf returns the options of an exporter to an endpoint: none if that is "".
func optionsOf[T any](endpoint string, to func(string) T) ([]T, error) {
	if endpoint == "" {
		return nil, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("telemetry: the OTLP endpoint %.100q is not a URL of http or https", endpoint)
	}
	return []T{to(endpoint)}, nil
}

func newResource(ctx context.Context) (*resource.Resource, error) {
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "streamer")), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return res, nil
}

// runIDs makes the ids of spans. The root spans of a run share a trace.
type runIDs struct{}

type runKey struct{}

// withRun returns a context in which root spans belong to the trace of a run. Its id
// is the beginning of the SHA-256 of the session, a zero byte and the run.
func withRun(ctx context.Context, session, run string) context.Context {
	sum := sha256.Sum256([]byte(session + "\x00" + run))
	return context.WithValue(ctx, runKey{}, trace.TraceID(sum[:len(trace.TraceID{})]))
}

func (g runIDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	id, _ = ctx.Value(runKey{}).(trace.TraceID)
	return id, g.NewSpanID(ctx, id)
}

func (runIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = crand.Read(id[:]) // never fails
	return id
}
