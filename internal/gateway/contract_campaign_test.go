//go:build campaigns

package gateway

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"

	"streamer/docs"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	openapierrors "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi/datamodel"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// openapi is docs/openapi.json in an implementation of OpenAPI that is not ours.
type openapi struct {
	model     *v3.Document
	validator validator.Validator
}

var readOpenAPI = sync.OnceValues(func() (*openapi, error) {
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
	return &openapi{&model.Model, v}, nil
})

func openAPI(t testing.TB) *openapi {
	t.Helper()
	o, err := readOpenAPI()
	if err != nil {
		t.Fatalf("docs/openapi.json: %v", err)
	}
	return o
}

// TestOpenAPIDocument checks that docs/openapi.json is a description of OpenAPI 3.1.
func TestOpenAPIDocument(t *testing.T) {
	if ok, faults := openAPI(t).validator.ValidateDocument(); !ok {
		t.Errorf("docs/openapi.json is not valid: %q", texts(faults))
	}
}

// TestOpenAPIFails checks that this implementation reports faults on its own, too.
func TestOpenAPIFails(t *testing.T) {
	all := brokenExchanges()
	for _, name := range []string{"field", "content type", "query"} {
		t.Run(name, func(t *testing.T) {
			_, e := changed(t, all[name])
			if len(validateAnswer(t, e.request, e, "/v1/sessions"))+len(validateRequest(t, e.request, "/v1/sessions")) == 0 {
				t.Error("the validation reports no fault")
			}
		})
	}
}

// validateAnswer returns the faults of the body of an answer.
func validateAnswer(t testing.TB, r *http.Request, e *exchange, path string) []string {
	o := openAPI(t)
	response := &http.Response{StatusCode: e.status, Header: e.Header(), Body: io.NopCloser(bytes.NewReader(e.received.Bytes())), Request: r}
	_, faults := o.validator.GetResponseBodyValidator().ValidateResponseBodyWithPathItem(r, response, o.model.Paths.PathItems.GetOrZero(path), path)
	return texts(faults)
}

// validateRequest returns the faults of a request that was accepted.
func validateRequest(t testing.TB, r *http.Request, path string) []string {
	o := openAPI(t)
	_, faults := o.validator.ValidateHttpRequestWithPathItem(r, o.model.Paths.PathItems.GetOrZero(path), path)
	return texts(faults)
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
