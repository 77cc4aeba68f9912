package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

const (
	fileEvery = time.Second      // interval after which a file is read again
	urlEvery  = 5 * time.Minute  // interval after which a URL is read again
	urlRetry  = 10 * time.Second // minimum interval of reads because of an unknown key
	readTime  = 5 * time.Second  // timeout of a read
	maxSet    = 1 << 20          // maximum size of keys in bytes
)

// keySet has the keys of an issuer and reads them again when they are old. Keys that
// cannot be read again stay in use.
type keySet struct {
	name         string // file or URL, for log messages
	remote       bool   // it is a URL
	every, retry time.Duration
	read         func(context.Context) ([]byte, error)
	parse        func([]byte) ([]key, error)
	log          zerolog.Logger

	keys    atomic.Pointer[[]key] // nil until the first successful read
	reading sync.Mutex            // held during a read; guards the next two fields for writing
	tried   atomic.Int64          // time of the last read, Unix nanoseconds
	failed  atomic.Bool           // the last read failed, which was logged
}

// current returns the keys. With renew they are read again, unless they were read a
// moment ago. During a read for age, other callers use the old keys.
func (k *keySet) current(ctx context.Context, renew bool) ([]key, error) {
	var err error
	switch {
	case renew || k.keys.Load() == nil:
		k.reading.Lock() // waits for a read in progress, which may bring the key
		err = k.refresh(ctx, k.retry)
		k.reading.Unlock()
	case k.reading.TryLock():
		err = k.refresh(ctx, k.every)
		k.reading.Unlock()
	}
	if keys := k.keys.Load(); keys != nil {
		return *keys, nil
	}
	if err == nil || k.remote {
		err = ErrUnavailable
	}
	return nil, err
}

// refresh reads the keys if the last read is older than age. The caller holds
// reading.
func (k *keySet) refresh(ctx context.Context, age time.Duration) error {
	if tried := k.tried.Load(); tried != 0 && time.Since(time.Unix(0, tried)) < age {
		return nil
	}
	// The read serves all clients, so it does not end with this one's connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancel()
	text, err := k.read(ctx)
	var keys []key
	if err == nil {
		keys, err = k.parse(text)
	}
	k.tried.Store(time.Now().UnixNano())
	if err != nil {
		if !k.failed.Swap(true) {
			k.log.Warn().Err(err).Str("keys", k.name).Msg("cannot refresh issuer keys; keeping the previous ones")
		}
		return fmt.Errorf("%s: %w", k.name, err)
	}
	k.failed.Store(false)
	k.keys.Store(&keys)
	return nil
}

func readFile(name string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readAll(f)
	}
}

func readURL(target string) func(context.Context) ([]byte, error) {
	client := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 3 {
			return errors.New("more than 3 redirects")
		}
		return checkURL(r.URL.String())
	}}
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("got status %d", resp.StatusCode)
		}
		return readAll(resp.Body)
	}
}

func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSet+1))
	if err == nil && len(text) > maxSet {
		err = fmt.Errorf("more than %d bytes", maxSet)
	}
	return text, err
}
