package inputs

// The headers that clients set. The trace context is that of W3C Trace Context
// (https://www.w3.org/TR/trace-context/).
const (
	HeaderFormat      = "Streamer-Format"      // name of the format of a delta's stream events
	HeaderNamespace   = "Streamer-Namespace"   // the agent below the root whose stream a delta is a part of
	HeaderParentCall  = "Streamer-Parent-Call" // id of the call that caused the calls of that agent
	HeaderTraceParent = "traceparent"
	HeaderTraceState  = "tracestate"
)

// Headers returns the names of the headers that clients set.
func Headers() [5]string {
	return [...]string{HeaderFormat, HeaderNamespace, HeaderParentCall, HeaderTraceParent, HeaderTraceState}
}

// TraceHeaders returns the names of the headers that are copied from an input to
// the events that it causes.
func TraceHeaders() [2]string { return [...]string{HeaderTraceParent, HeaderTraceState} }

// MaxTrace is the maximum length in bytes of a header that is copied to an event.
// Clients set the value, and it must not make an event too large.
const MaxTrace = 1 << 10

// Header is the header of a message. Names are case-sensitive, as in NATS.
type Header map[string][]string

// Get returns the first value of a name, "" if there is none.
func (h Header) Get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// trace returns the trace context, without names that have several values.
func (h Header) trace() map[string]string {
	var t map[string]string
	for _, name := range TraceHeaders() {
		if v := h[name]; len(v) == 1 {
			if t == nil {
				t = map[string]string{}
			}
			t[name] = v[0]
		}
	}
	return t
}
