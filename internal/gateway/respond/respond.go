// Package respond writes the answers of the gateway besides streams: JSON, and errors as
// JSON. It reads small bodies.
package respond

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Refusal is an error whose text is sent to the client.
type Refusal struct {
	Status int
	Text   string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Refuse returns a refusal.
func Refuse(status int, text string) error { return &Refusal{status, text} }

// Error answers with an error.
func Error(w http.ResponseWriter, status int, text string) {
	JSON(w, status, struct {
		Error string `json:"error"`
	}{text})
}

// JSON answers with a body.
func JSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil { // cannot happen: every body is a struct of plain fields
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	// An error means that the client has disconnected.
	_, _ = w.Write(append(b, '\n'))
}

// ReadBody returns the body of a request. It refuses one of more than limit bytes.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, Refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", limit))
	}
	if err != nil {
		return nil, Refuse(http.StatusBadRequest, "the body is incomplete")
	}
	return body, nil
}
