package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"streamer/docs"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	openapierrors "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi/datamodel"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is docs/openapi.json. Every request of the tests that is accepted, and
// every answer, is validated against it.
type contract struct {
	model     *v3.Document
	validator validator.Validator
	frames    map[string]*jsonschema.Schema // of the data of the frames of the protocol native, by name; "" of events
}

// readContract returns the contract, which is read once.
var readContract = sync.OnceValues(func() (*contract, error) {
	document, err := libopenapi.NewDocumentWithConfiguration(docs.OpenAPI, &datamodel.DocumentConfiguration{
		BasePath: "../../docs", FileFilter: []string{"events.schema.json"}, AllowFileReferences: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return nil, err
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(document, config.WithFormatAssertions())
	if len(errs) > 0 {
		return nil, errs[0]
	}
	frames, err := frameSchemas()
	return &contract{&model.Model, v, frames}, err
})

// frameSchemas returns the schemas of the frames of the protocol native.
func frameSchemas() (map[string]*jsonschema.Schema, error) {
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
		e.status, conn = http.StatusOK, takenConn{conn, e}
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
	if e.status == 0 || e.status == http.StatusMovedPermanently || e.status == http.StatusTemporaryRedirect || pattern == "" {
		return "" // no answer, or to a path that is not clean
	}
	path := documented(pattern, e.request.URL.Path)
	item := c.model.Paths.PathItems.GetOrZero(path)
	if item == nil {
		t.Errorf("docs/openapi.json has no path %s", path)
		return ""
	}
	r := e.request.Clone(e.request.Context())
	head := r.Method == http.MethodHead
	if head {
		r.Method = http.MethodGet
	}
	operation := item.GetOperations().GetOrZero(strings.ToLower(r.Method))
	if operation == nil {
		if want := []int{403, 404, 405}; !slices.Contains(want, e.status) && (r.Method != http.MethodOptions || e.status != 204) {
			t.Errorf("%s %s is not described: got %d", r.Method, path, e.status)
		}
		return ""
	}
	body, errs := bytes.NewReader(e.received.Bytes()), c.headers(e, operation)
	response := &http.Response{StatusCode: e.status, Header: e.Header(), Body: io.NopCloser(body), Request: r}
	announced, err := strconv.Atoi(e.Header().Get("Content-Length"))
	whole := err != nil || body.Len() >= announced // else the client left before the end
	if !head && whole && body.Len() <= maxRecorded {
		_, faults := c.validator.GetResponseBodyValidator().ValidateResponseBodyWithPathItem(r, response, item, path)
		errs = append(errs, texts(faults)...)
	}
	if e.status/100 == 2 && e.sent.Len() <= maxRecorded && path != "/{file}" { // a parameter is one element of a path
		r.Body, r.Header = io.NopCloser(bytes.NewReader(e.sent.Bytes())), e.request.Header.Clone()
		if r.Header.Set("Content-Type", "application/octet-stream"); json.Valid(e.sent.Bytes()) { // the gateway does not read it
			r.Header.Set("Content-Type", "application/json")
		}
		_, faults := c.validator.ValidateHttpRequestWithPathItem(r, item, path)
		errs = append(errs, texts(faults)...)
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

// texts returns the texts of faults.
func texts(faults []*openapierrors.ValidationError) (list []string) {
	for _, f := range faults {
		text := f.Message + ": " + f.Reason
		for _, s := range f.SchemaValidationErrors {
			text += "; " + s.Reason
		}
		list = append(list, text)
	}
	return list
}

// headers returns the headers of an answer that are not described. Those of every
// answer are described in the introduction.
func (c *contract) headers(e *exchange, operation *v3.Operation) (errs []string) {
	common := []string{
		"Content-Type", "Content-Length", "Date", "Vary", "Cache-Control", "X-Content-Type-Options", "Referrer-Policy", "Content-Security-Policy",
		"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers", "Last-Modified", "Allow", "Connection",
	}
	described := operation.Responses.Codes.GetOrZero(itoa(e.status))
	if described == nil {
		return []string{"the status is not described"}
	}
	for name := range e.Header() {
		known := slices.Contains(common, name)
		for header := range described.Headers.KeysFromOldest() {
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
