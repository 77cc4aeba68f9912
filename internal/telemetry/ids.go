package telemetry

import (
	"context"
	crand "crypto/rand"
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

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
