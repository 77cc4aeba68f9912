package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"streamer/docs"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is docs/openapi.json. Every request of the tests that is accepted, and
// every answer, is validated against it: status, headers, query and JSON bodies. With the
// build tag campaigns another implementation of OpenAPI, which takes a minute to compile,
// validates them as well.
type contract struct {
	Paths      map[string]pathItem
	Components struct {
		Parameters map[string]documentedParameter
		Responses  map[string]documentedAnswer
		Schemas    map[string]struct {
			Properties map[string]struct{ Enum []string }
		}
	}

	frames map[string]*jsonschema.Schema // of the data of the frames of the protocol native, by name; "" of events

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// pathItem describes a path.
type pathItem struct {
	Parameters             []documentedParameter
	Get, Put, Post, Delete *documentedOperation
}

// operations returns the operations of a path by method.
func (p *pathItem) operations() map[string]*documentedOperation {
	all := map[string]*documentedOperation{}
	for method, o := range map[string]*documentedOperation{"GET": p.Get, "PUT": p.Put, "DELETE": p.Delete, "POST": p.Post} {
		if o != nil {
			all[method] = o
		}
	}
	return all
}

type documentedOperation struct {
	Parameters  []documentedParameter
	RequestBody struct {
		Required bool
		Content  map[string]json.RawMessage
	}
	Responses map[string]documentedAnswer
}

type documentedParameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
}

type documentedAnswer struct {
	Ref              string `json:"$ref"`
	Headers, Content map[string]json.RawMessage
}

// readContract returns the contract, which is read once.
var readContract = sync.OnceValues(func() (*contract, error) {
	c := &contract{}
	if err := json.Unmarshal(docs.OpenAPI, c); err != nil {
		return nil, err
	}
	var err error
	if c.compiler, err = newCompiler(); err != nil {
		return nil, err
	}
	c.compiler.AssertFormat()
	c.frames, err = frameSchemas()
	return c, err
})

// newCompiler returns a compiler of the schemas in the documents.
func newCompiler() (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	for name, text := range map[string][]byte{"openapi.json": docs.OpenAPI, "events.schema.json": docs.EventSchema} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource("http://localhost/v1/"+name, value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// frameSchemas returns the schemas of the frames of the protocol native.
func frameSchemas() (map[string]*jsonschema.Schema, error) {
	c, err := newCompiler()
	if err != nil {
		return nil, err
	}
	frames := map[string]*jsonschema.Schema{}
	for frame, name := range map[string]string{"": "Event", "synthetic": "ToolMessage", "many": "SyntheticMessage", "stream.open": "StreamOpen", "stream.live": "StreamLive", "stream.end": "StreamEnd"} {
		schema, err := c.Compile("http://localhost/v1/openapi.json#/components/schemas/" + name)
		if err != nil {
			return nil, err
		}
		frames[frame] = schema
	}
	return frames, nil
}

// contractOf returns the contract for a test.
func contractOf(t testing.TB) *contract {
	t.Helper()
	c, err := readContract()
	if err != nil {
		t.Fatalf("docs/openapi.json: %v", err)
	}
	return c
}

// exchange is a request and its answer.
type exchange struct {
	http.ResponseWriter
	request *http.Request
	sent    bytes.Buffer // the body of the request
	status  int

	mu       sync.Mutex
	received bytes.Buffer // the body of the answer
	taken    bytes.Buffer // what was written to a connection that a stream took over
}

// maxRecorded is the maximum size of a body that is validated.
const maxRecorded = 1 << 20

// WriteHeader records the status.
func (e *exchange) WriteHeader(status int) {
	e.status = status
	e.ResponseWriter.WriteHeader(status)
}

// Write records the beginning of the body.
func (e *exchange) Write(b []byte) (int, error) {
	if e.status == 0 {
		e.status = http.StatusOK
	}
	e.record(&e.received, b)
	return e.ResponseWriter.Write(b)
}

// record keeps b unless enough is kept.
func (e *exchange) record(to *bytes.Buffer, b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if to.Len() <= maxRecorded {
		to.Write(b)
	}
}

// Hijack returns a connection that records what is written.
func (e *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(e.ResponseWriter).Hijack()
	if err == nil {
		e.status, conn = cmp.Or(e.status, http.StatusOK), takenConn{conn, e}
	}
	return conn, rw, err
}

// takenConn is a connection that a stream took over.
type takenConn struct {
	net.Conn
	e *exchange
}

// Write writes b and records it.
func (c takenConn) Write(b []byte) (int, error) {
	c.e.record(&c.e.taken, b)
	return c.Conn.Write(b)
}

// readTaken reads the answer on a connection that was taken over, up to what is written
// now.
func (e *exchange) readTaken() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken.Len() == 0 || e.received.Len() > 0 {
		return
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(e.taken.Bytes())), e.request)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = e.received.ReadFrom(resp.Body) // an error means that the end is missing
}

// Unwrap returns the writer with the deadlines of the connection.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// validated serves g on loopback until stop is called. It reports what the contract
// does not permit, and calls seen with each answer that is described.
func validated(t testing.TB, g *Gateway, seen func(answer string)) (url string, stop func()) {
	t.Helper()
	if _, bench := t.(*testing.B); bench {
		srv := httptest.NewServer(g)
		return srv.URL, srv.Close
	}
	c := contractOf(t)
	var mu sync.Mutex
	var exchanges []*exchange
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{ResponseWriter: w, request: r}
		mu.Lock()
		exchanges = append(exchanges, e)
		mu.Unlock()
		served := r.Clone(r.Context())
		if r.Body != http.NoBody {
			served.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r.Body, &limitedWriter{&e.sent}), r.Body}
		}
		g.ServeHTTP(e, served)
	}))
	return srv.URL, func() {
		srv.Close()
		for _, e := range exchanges {
			e.readTaken()
			seen(c.check(t, g, e))
		}
	}
}

// limitedWriter keeps the beginning of what is written.
type limitedWriter struct{ *bytes.Buffer }

// Write keeps b unless enough is kept.
func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.Len() <= maxRecorded {
		w.Buffer.Write(b)
	}
	return len(b), nil
}

// check reports what the contract does not permit of an exchange. It returns method,
// path and status if they are described.
func (c *contract) check(t testing.TB, g *Gateway, e *exchange) (answer string) {
	_, pattern := g.routes.Handler(e.request)
	if e.status == 0 || e.status == http.StatusMovedPermanently || e.status == http.StatusTemporaryRedirect || pattern == "" || strings.Contains(e.request.URL.EscapedPath(), "//") {
		return "" // no answer, or to a path that is not clean
	}
	path := documented(pattern, e.request.URL.Path)
	item, found := c.Paths[path]
	if !found {
		t.Errorf("docs/openapi.json has no path %s", path)
		return ""
	}
	r := e.request.Clone(e.request.Context())
	head := r.Method == http.MethodHead
	if head {
		r.Method = http.MethodGet
	}
	operation := item.operations()[r.Method]
	if operation == nil {
		if want := []int{403, 404, 405}; !slices.Contains(want, e.status) && (r.Method != http.MethodOptions || e.status != 204) {
			t.Errorf("%s %s is not described: got %d", r.Method, path, e.status)
		}
		return ""
	}
	errs := c.headers(e, operation)
	announced, err := strconv.Atoi(e.Header().Get("Content-Length"))
	whole := err != nil || e.received.Len() >= announced // else the client left before the end
	if !head && whole && e.received.Len() <= maxRecorded {
		errs = append(errs, c.answered(path, r.Method, e)...)
		errs = append(errs, validateAnswer(t, r, e, path)...)
	}
	if e.status/100 == 2 && e.sent.Len() <= maxRecorded && path != "/{file}" { // a parameter is one element of a path
		r.Body, r.Header = io.NopCloser(bytes.NewReader(e.sent.Bytes())), e.request.Header.Clone()
		if r.Header.Set("Content-Type", "application/octet-stream"); json.Valid(e.sent.Bytes()) { // the gateway does not read it
			r.Header.Set("Content-Type", "application/json")
		}
		errs = append(errs, c.requested(path, r, e.sent.Bytes())...)
		errs = append(errs, validateRequest(t, r, path)...)
	}
	if protocol := r.URL.Query().Get("protocol"); strings.HasSuffix(path, "/events") && r.Method == "GET" && e.status == 200 && (protocol == "" || protocol == "native") {
		errs = append(errs, c.stream(e.received.String(), path == manySessions)...)
	}
	for _, fault := range errs {
		t.Errorf("docs/openapi.json: %s %s: %d %.200s: %s", e.request.Method, e.request.URL, e.status, e.received.String(), fault)
	}
	return strings.Join([]string{r.Method, path, itoa(e.status)}, " ")
}

// documented returns the path of docs/openapi.json for a pattern of the mux.
func documented(pattern, path string) string {
	if pattern == "/" && path != "/" {
		return "/{file}"
	}
	return pattern
}

// answered returns what is not described of the body of an answer.
func (c *contract) answered(path, method string, e *exchange) (errs []string) {
	place := []string{"paths", path, strings.ToLower(method), "responses", itoa(e.status)}
	item := c.Paths[path]
	described := c.described(item.operations()[method], e.status)
	if described == nil || len(described.Content) == 0 {
		return nil // the status is checked with the headers
	}
	if described.Ref != "" {
		place = strings.Split(described.Ref, "/")[1:]
	}
	return c.body(described.Content, append(place, "content"), e.Header().Get("Content-Type"), e.received.Bytes())
}

// body returns the faults of a body whose media types are described at a place.
func (c *contract) body(content map[string]json.RawMessage, place []string, contentType string, body []byte) []string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return []string{"Content-Type " + contentType + ": " + err.Error()}
	}
	switch {
	case content[media] == nil && content["*/*"] != nil:
		return nil
	case content[media] == nil:
		return []string{"the content type " + media + " is not described"}
	case media != "application/json":
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []string{err.Error()}
	}
	return c.validate(value, append(place, media, "schema")...)
}

// requested returns what is not described of a request that was accepted: its query and
// its JSON.
func (c *contract) requested(path string, r *http.Request, sent []byte) (errs []string) {
	item := c.Paths[path]
	operation := item.operations()[r.Method]
	place := []string{"paths", path}
	errs = append(errs, c.query(item.Parameters, place, r.URL.Query())...)
	place = append(place, strings.ToLower(r.Method))
	errs = append(errs, c.query(operation.Parameters, place, r.URL.Query())...)
	switch body := &operation.RequestBody; {
	case len(sent) == 0 && body.Required:
		errs = append(errs, "the body is missing")
	case body.Content["application/json"] != nil && json.Valid(sent):
		errs = append(errs, c.body(body.Content, append(place, "requestBody", "content"), "application/json", sent)...)
	}
	return errs
}

// query returns the faults of a query whose parameters are described at a place.
func (c *contract) query(parameters []documentedParameter, place []string, query url.Values) (errs []string) {
	for i, p := range parameters {
		at := slices.Concat(place, []string{"parameters", itoa(i)})
		if name, found := strings.CutPrefix(p.Ref, "#/components/parameters/"); found {
			p, at = c.Components.Parameters[name], []string{"components", "parameters", name}
		}
		values := query[p.Name]
		if p.In != "query" || len(values) == 0 {
			if p.In == "query" && p.Required {
				errs = append(errs, "the parameter "+p.Name+" is missing")
			}
			continue
		}
		// The text has the type that its schema expects.
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		candidates := []any{values[0], list}
		if value, err := jsonschema.UnmarshalJSON(strings.NewReader(values[0])); err == nil {
			candidates = append(candidates, value)
		}
		var faults []string
		for _, v := range candidates {
			if faults = c.validate(v, append(at, "schema")...); len(faults) == 0 {
				break
			}
		}
		errs = append(errs, faults...)
	}
	return errs
}

// validate returns the faults of a value with a schema of the document.
func (c *contract) validate(value any, place ...string) []string {
	pointer := ""
	for _, elem := range place {
		pointer += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(elem))
	}
	c.mu.Lock()
	schema, err := c.compiler.Compile("http://localhost/v1/openapi.json#" + pointer)
	c.mu.Unlock()
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

// described returns the description of an answer, nil if there is none.
func (c *contract) described(o *documentedOperation, status int) *documentedAnswer {
	a, found := o.Responses[itoa(status)]
	if !found {
		return nil
	}
	if name, found := strings.CutPrefix(a.Ref, "#/components/responses/"); found {
		ref := a.Ref
		a = c.Components.Responses[name]
		a.Ref = ref
	}
	return &a
}

// headers returns the headers of an answer that are not described. Those of every
// answer are described in the introduction.
func (c *contract) headers(e *exchange, operation *documentedOperation) (errs []string) {
	common := []string{
		"Content-Type", "Content-Length", "Date", "Vary", "Cache-Control", "X-Content-Type-Options", "Referrer-Policy", "Content-Security-Policy",
		"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers", "Last-Modified", "Allow", "Connection",
	}
	described := c.described(operation, e.status)
	if described == nil {
		return []string{"the status is not described"}
	}
	for name := range e.Header() {
		known := slices.Contains(common, name)
		for header := range described.Headers {
			known = known || strings.EqualFold(header, name)
		}
		if !known {
			errs = append(errs, "the header "+name+" is not described")
		}
	}
	return errs
}

// stream returns the faults of the frames of a stream in the protocol native. The last
// frame may be incomplete. Events that tests make up, without an event_id, are skipped.
func (c *contract) stream(text string, many bool) (errs []string) {
	frames := strings.Split(text, "\n\n")
	for _, frame := range frames[:len(frames)-1] {
		_, name, found := strings.Cut(frame, "event: ")
		if !found {
			continue
		}
		name, data, _ := strings.Cut(name, "\ndata: ")
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
		if err != nil {
			errs = append(errs, "frame "+name+": "+err.Error())
			continue
		}
		var e struct {
			ID string `json:"event_id"`
		}
		schema := c.frames[name]
		switch {
		case name == "synthetic" && many:
			schema = c.frames["many"]
		case schema == nil && (json.Unmarshal([]byte(data), &e) != nil || e.ID == ""):
			continue
		case schema == nil:
			schema = c.frames[""]
		}
		if err := schema.Validate(value); err != nil {
			errs = append(errs, "frame "+name+" "+data+": "+err.Error())
		}
	}
	return errs
}
