package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/test/browser"

	"github.com/chromedp/chromedp"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// secret is the secret with which the tokens of the test are signed.
const secret = "0123456789abcdef0123456789abcdef"

// stepLimit bounds how long a step in the browser takes.
const stepLimit = 2 * time.Minute

// TestEventSource reads a session with the EventSource of Chromium, whose JSON Web Token
// is in the cookie, while the session is published. The connection is cut off, and
// resumed by the browser.
func TestEventSource(t *testing.T) {
	web := browser.Start(t)
	c := config(t)
	c.AuthFile = issuers(t)
	server := serve(t, c)
	p := openProxy(t, server)
	sc := readScript(t, "testdata/parallel.txt", "browser ü")
	s := openSession(t, server, sc.name, http.Header{"Authorization": {"Bearer " + token(t, `{"watch":["browser ü"],"publish":["browser ü"]}`)}})

	tab := &tab{t, web}
	base, name := p.url(7)
	tab.do("open", chromedp.Navigate(base+"/"))
	tab.source("without", base, sc.name)
	tab.wait("the refusal of a stream without the cookie", `without.source.readyState === EventSource.CLOSED`)
	tab.run(fmt.Sprintf(`fetch(%q, {method: "POST", body: JSON.stringify({token: %q})}).then((r) => { window.login = r.status })`,
		base+"/v1/login", token(t, `{"watch":["browser ü"]}`)))
	tab.wait("the cookie", `window.login === 204`)
	tab.source("other", base, "other")
	tab.wait("the refusal of another session", `other.source.readyState === EventSource.CLOSED`)

	tab.source("session", base, sc.name)
	tab.wait("the stream", `session.source.readyState === EventSource.OPEN`)
	for _, line := range sc.runs[0] {
		s.play(line)
	}
	s.log.await("the end of the run", func(e *events.Event) bool { return e.Type == events.RunFinished })
	tab.wait("the end of the run", `session.events.some((e) => e.includes(" run_finished "))`)
	text := step(tab, "the events", chromedp.Evaluate[string](`session.events.map((e) => e + "\n").join("")`))
	if text != s.log.String() {
		t.Errorf("the browser reads\n%swant\n%s", text, s.log)
	}
	if !p.wasCut(name) {
		t.Error("no connection was cut off")
	}
}

// issuers returns a file with one issuer of tokens.
func issuers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "issuers.json")
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600),
		os.WriteFile(file, []byte(`{"issuers":[{"issuer":"test","audience":"streamer","secret_file":"secret"}]}`), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return file
}

// token returns a token with rights.
func token(t *testing.T, rights string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(secret)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": "test", "aud": "streamer", "sub": "a", "exp": time.Now().Add(time.Hour).Unix(), "streamer": json.RawMessage(rights),
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tab is a page in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // a tab is a context to chromedp
}

// do performs an action.
func (p *tab) do(what string, a chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	step(p, what, a)
}

// run runs a script.
func (p *tab) run(script string) {
	p.t.Helper()
	step(p, script, chromedp.Evaluate[chromedp.Void]("void "+script))
}

// wait waits until a condition in the page holds.
func (p *tab) wait(what, condition string) {
	p.t.Helper()
	step(p, "waiting for "+what, chromedp.Poll[bool]("!!("+condition+")", chromedp.WithPollingTimeout(0)))
}

// step returns the value of an action. It ends after a limited time, even if the page
// does not answer any more.
func step[T any](p *tab, what string, a chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepLimit)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	return v
}

// source opens an EventSource of a session, which becomes a global variable.
func (p *tab) source(variable, base, session string) {
	p.t.Helper()
	var types []string
	for _, k := range events.Types() {
		types = append(types, string(k))
	}
	p.run(fmt.Sprintf(`(() => {
		const source = new EventSource(%q)
		window.%s = { source, events: [] }
		for (const type of %s) source.addEventListener(type, (e) => window.%[2]s.events.push(e.lastEventId + " " + type + " " + e.data))
	})()`, base+"/v1/sessions/"+url.PathEscape(session)+"/events", variable, marshal(p.t, types)))
}
