package sink

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// errRefused is the error for events that the server does not want, however often they come.
var errRefused = errors.New("refused")

// maxAnswer bounds the bytes of an answer that are read, so that its connection is used again.
const maxAnswer = 64 << 10

// post sends events once. A request that was sent is completed, if that takes no longer than
// stopTime. after is the pause that the server asks for.
func (s *Sink) post(stopping context.Context, list []event) (after time.Duration, err error) {
	body, mediaType, err := s.body(list)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errRefused, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(stopping))
	defer cancel()
	defer context.AfterFunc(stopping, func() { time.AfterFunc(stopTime, cancel) })()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errRefused, err)
	}
	id, now := s.batchID(list), strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("User-Agent", "streamer")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", now)
	if signatures := s.Secrets.sign(id, now, body); signatures != "" {
		r.Header.Set("Webhook-Signature", signatures)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, withoutURL(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	return retryAfter(answer), verdict(answer.StatusCode)
}

// verdict returns an error for a status other than success. Of the 4xx, those that ask to
// come again, or that a wrong URL or credential causes, do not refuse the events.
func verdict(status int) error {
	if status/100 == 2 {
		return nil
	}
	err := fmt.Errorf("the server answers %d", status)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return err
	}
	if status/100 == 4 {
		err = fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

func retryAfter(answer *http.Response) time.Duration {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > int(longestPause/time.Second) {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// withoutURL returns an error of a request without its URL, which may have a secret.
func withoutURL(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if !strings.Contains(inner.Error(), "://") {
			return inner
		}
	}
	return errors.New("the request failed")
}

// Secrets are the keys of signatures: the current one, and others while they are replaced.
type Secrets [][]byte

// secretPrefix begins a secret in base64.
const secretPrefix = "whsec_"

// leastSecret is the shortest secret in bytes.
const leastSecret = 16

// ParseSecrets reads a secret from each line: whsec_ and base64, or any other text.
func ParseSecrets(text string) (list Secrets, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		secret := []byte(line)
		if coded, ok := strings.CutPrefix(line, secretPrefix); ok {
			if secret, err = base64.StdEncoding.DecodeString(coded); err != nil {
				return nil, fmt.Errorf("what follows %s is not base64", secretPrefix) // without the secret
			}
		}
		switch {
		case line == "":
		case len(secret) < leastSecret:
			return nil, fmt.Errorf("a secret has %d bytes: need at least %d", len(secret), leastSecret)
		default:
			list = append(list, secret)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("it has no secret")
	}
	return list, nil
}

// sign returns the signatures of a request, "" without secrets.
func (s Secrets) sign(id, timestamp string, body []byte) string {
	var list []string
	for _, secret := range s {
		h := hmac.New(sha256.New, secret)
		_, _ = fmt.Fprintf(h, "%s.%s.%s", id, timestamp, body) // a hash returns no error
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
	return strings.Join(list, " ")
}
