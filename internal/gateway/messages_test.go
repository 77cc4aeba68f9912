package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/inputs"
)

// readMessages returns the ids of the messages of a page.
func readMessages(t *testing.T, url string) (ids []string, p messagePage) {
	t.Helper()
	resp, body := do(t, "GET", url, "")
	if err := json.Unmarshal([]byte(body), &p); resp.StatusCode != 200 || err != nil {
		t.Fatalf("%s: got %d %s", url, resp.StatusCode, body)
	}
	for _, m := range p.Messages {
		var one struct{ ID string }
		if err := json.Unmarshal(m, &one); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one.ID)
	}
	return ids, p
}

const asks = `{"type":"human","content":"%s","id":"%s"}`

// conversation folds a session of three turns: one with a call whose result comes behind its
// run, and continues it; one whose call is closed by the next question; and one without an
// end.
func conversation(f *folded) {
	f.add(inputs.Delta, fmt.Sprintf(asks, "one?", "h1"))
	f.message("m1", "Look:", oneCall)
	f.add(inputs.End, `{}`)
	f.add(inputs.Result, `{"tool_call_id":"call_a","content":"1"}`)
	f.message("m2", "one", "")
	f.add(inputs.Delta, fmt.Sprintf(asks, "two?", "h2"))
	f.message("m3", "two", strings.ReplaceAll(oneCall, "call_a", "call_b"))
	f.add(inputs.End, `{}`)
	f.add(inputs.Delta, fmt.Sprintf(asks, "three?", "h3"))
	f.add(inputs.Delta, `{"id":"m4","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"thr"},"finish_reason":null}]}`)
}

// TestMessages checks the pages of a session.
func TestMessages(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + "/v1/sessions/s/messages"
	if ids, p := readMessages(t, url); len(ids) > 0 || p.Cursor != 0 || p.Messages == nil {
		t.Errorf("no events: got %q, cursor %d", ids, p.Cursor)
	}
	f := &folded{t: t, store: store}
	f.add(inputs.Delta, fmt.Sprintf(asks, "zero?", "h0"))
	if ids, p := readMessages(t, url); !slices.Equal(ids, []string{"h0"}) || p.Cursor != 1 {
		t.Errorf("a question without a run: got %q, cursor %d", ids, p.Cursor)
	}
	conversation(f)
	all := []string{"h0", "h1", "m1", "h2", "m3", "h3", "m4"}
	if ids, p := readMessages(t, url); !slices.Equal(ids, all) || p.Cursor != uint64(len(store.log)) || p.Before != 0 {
		t.Errorf("got %q, cursor %d, before %d", ids, p.Cursor, p.Before)
	}
	query, pages := "?limit=1", []string{}
	for query != "" {
		ids, p := readMessages(t, url+query)
		pages, query = slices.Concat(ids, pages), ""
		if p.Before > 0 {
			query = fmt.Sprintf("?limit=1&before=%d", p.Before)
		}
		if strings.Contains(fmt.Sprintf("%s", p.Messages), "call_b") && !strings.Contains(fmt.Sprintf("%s", p.Messages), `"state":"output-error"`) {
			t.Errorf("a call that ended behind its page is open: %s", p.Messages)
		}
	}
	if !slices.Equal(pages, all) {
		t.Errorf("in pages: got %q, want %q", pages, all)
	}
	for query, want := range map[string]string{"?format=x": "ai-ui, ag-ui", "?limit=0": "limit is", "?limit=1001": "limit is", "?before=x": "before is"} {
		if resp, body := do(t, "GET", url+query, ""); resp.StatusCode != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want 400 with %q", query, resp.StatusCode, body, want)
		}
	}
}

// TestReload checks that a client that loads the messages after any event, and then reads
// the stream from the cursor, has the messages of the session at its end, each once.
func TestReload(t *testing.T) {
	whole := newMemory()
	f := &folded{t: t, store: whole}
	conversation(f)
	f.add(inputs.End, `{}`)
	for n := range len(whole.log) + 1 {
		store := newMemory()
		url := serve(t, Options{}, store)
		for _, e := range whole.log[:n] {
			store.put("s", e.Record)
		}
		ids, p := readMessages(t, url+"/v1/sessions/s/messages")
		for i := n; ; i++ { // the client reads the stream of each run that ends
			if i < len(whole.log) {
				store.put("s", whole.log[i].Record)
			}
			if i < len(whole.log)-1 && whole.log[i].Type != "run_finished" {
				continue
			}
			resp, body := do(t, "GET", url+"/v1/ai-sdk/s/stream?last_event_id="+fmt.Sprint(p.Cursor), "")
			if resp.StatusCode == 200 {
				_, rest, _ := strings.Cut(body, `"messageId":"`)
				if id, _, _ := strings.Cut(rest, `"`); !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			if i >= len(whole.log)-1 {
				break
			}
		}
		got := slices.DeleteFunc(ids, func(id string) bool { return id[0] == 'h' })
		if want := []string{"m1", "m3", "m4"}; !slices.Equal(got, want) {
			t.Errorf("after %d events: got %q, want %q", n, got, want)
		}
	}
}
