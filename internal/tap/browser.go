package tap

import (
	"net/http"
	"slices"
	"strings"
)

// Names of the cookies of the gateway, without and with TLS. They are neither passed on to an
// upstream nor taken from one.
const (
	Cookie       = "streamer"
	SecureCookie = "__Host-streamer"
)

// navigation returns why a request of a browser is refused, "" if it is not. A page, frame
// or script of an upstream would run in the origin of the gateway, with its rights:
// https://www.w3.org/TR/fetch-metadata/
func navigation(h http.Header) string {
	dest, mode := h.Get("Sec-Fetch-Dest"), h.Get("Sec-Fetch-Mode")
	if mode != "navigate" && (dest == "" || dest == "empty" || dest == "websocket") {
		return ""
	}
	return "the tap serves programs, and no pages, frames or scripts to a browser (Sec-Fetch-Dest: " + printable(dest) + ")"
}

// passive lists the content types that no browser shows as a document with scripts.
var passive = [...]string{
	"application/json", "text/event-stream", "text/plain", "application/x-ndjson", "application/jsonl",
	"application/x-jsonlines", "application/vnd.amazon.eventstream", "application/octet-stream",
}

// confine changes the header of an answer where a browser would let the upstream act for
// the gateway: a document gets an origin of its own, also in browsers that do not state
// their destination. They guess the type of a page that has none.
func confine(res *http.Response) {
	h := res.Header
	kind := mediaType(h.Get("Content-Type"))
	if untyped := kind == ""; untyped && res.Request.Method == http.MethodGet || !untyped && !slices.Contains(passive[:], kind) {
		h.Add("Content-Security-Policy", "sandbox")
		h.Set("X-Content-Type-Options", "nosniff")
	}
	h.Del("Clear-Site-Data")
	if set := h["Set-Cookie"]; set != nil {
		if set = slices.DeleteFunc(set, own); len(set) == 0 {
			h.Del("Set-Cookie")
		} else {
			h["Set-Cookie"] = set
		}
	}
}

// withoutOwn removes the cookies of the gateway from a request.
func withoutOwn(h http.Header) {
	var kept []string
	for _, line := range h["Cookie"] {
		if strings.Contains(line, Cookie) { // also the other name
			line = strings.Join(slices.DeleteFunc(strings.Split(line, ";"), own), ";")
		}
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	if h["Cookie"] != nil {
		h["Cookie"] = kept
	}
}

// own reports whether a cookie, as in Cookie or Set-Cookie, is one of the gateway.
func own(cookie string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(cookie, "= \t"), "=")
	name, _, _ = strings.Cut(name, ";")
	name = strings.TrimSpace(name)
	return name == Cookie || name == SecureCookie
}
