package tap

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Upstream is a server of models, and the name under which the tap serves it.
type Upstream struct {
	Name string
	URL  *url.URL
	// version is the first segment of the paths of its API, such as "v1". Clients leave it
	// out or write it twice, as their base URLs have it or not.
	version string
}

// known lists the upstreams that need no URL, and the versions in the paths of their APIs.
var known = [...]struct{ name, url, version string }{
	{"openai", "https://api.openai.com", "v1"},
	{"anthropic", "https://api.anthropic.com", "v1"},
	{"gemini", "https://generativelanguage.googleapis.com", "v1beta"},
	{"code-assist", "https://cloudcode-pa.googleapis.com", ""}, // Gemini CLI with a login
	{"mistral", "https://api.mistral.ai", "v1"},
	{"cohere", "https://api.cohere.com", "v2"},
	{"openrouter", "https://openrouter.ai/api", "v1"},
	{"ollama", "http://127.0.0.1:11434", ""},
	{"chatgpt", "https://chatgpt.com/backend-api/codex", ""}, // Codex with a login, whose paths have no version
}

// Known returns the names of the upstreams that need no URL.
func Known() []string {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	return names
}

// ParseUpstream parses NAME=URL, or the NAME of a known upstream.
func ParseUpstream(text string) (Upstream, error) {
	name, address, given := strings.Cut(text, "=")
	i := slices.Index(Known(), name)
	switch {
	case !given && i < 0:
		return Upstream{}, fmt.Errorf("%q: need NAME=URL; only %s need no URL", text, strings.Join(Known(), ", "))
	case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return Upstream{}, fmt.Errorf("%q: the name has other characters than a-z, 0-9 and -", text)
	case !given:
		address = known[i].url
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Upstream{}, fmt.Errorf("%q: need a URL with http:// or https://", text)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Upstream{}, fmt.Errorf("%s=%s: the URL has a user, a query or a fragment", name, u.Redacted())
	}
	up := Upstream{Name: name, URL: u}
	if i >= 0 {
		up.version = known[i].version
	}
	return up, nil
}

// leaves reports whether a path of a request would leave the base path of the upstream,
// however its servers decode the path.
func (u *Upstream) leaves(path string) bool {
	if strings.Trim(u.URL.EscapedPath(), "/") == "" {
		return false
	}
	for {
		for segment := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
			if name, _, _ := strings.Cut(segment, ";"); name == ".." {
				return true
			}
		}
		plain := unescaped(path)
		if plain == path {
			return false
		}
		path = plain
	}
}

// path returns the escaped path at the upstream for that of a request, without the prefix of
// the tap.
func (u *Upstream) path(rest string) string {
	base := strings.TrimSuffix(u.URL.EscapedPath(), "/")
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	last := base[strings.LastIndexByte(base, '/')+1:]
	switch {
	case isVersion(first) && (last == first || u.Name == "chatgpt"):
		rest = strings.TrimPrefix(rest, "/"+first)
	case !isVersion(first) && !isVersion(last) && u.version != "" && (endpointOf("/"+u.version+rest) != nil || first == "models"):
		rest = "/" + u.version + rest
	}
	return base + rest
}

// isVersion reports whether a segment of a path is a version, such as v1 or v1beta.
func isVersion(segment string) bool {
	return len(segment) > 1 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9'
}
