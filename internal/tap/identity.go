package tap

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// HeaderSession names the session of a request. It is not passed on.
const HeaderSession = "Streamer-Session"

// field is a place where clients write something about a request: a header, or a path in
// its body. A place inside a value that is JSON itself follows its name after a space.
type field struct {
	header, body string
}

// agentSessions lists where agents name their sessions, in the order of their precedence.
// Names changed between versions: all of them are read.
//
//	Claude Code   X-Claude-Code-Session-Id, and metadata.user_id: JSON, or user_…_session_<uuid>
//	Codex         session-id, before session_id; over a WebSocket client_metadata of each frame
//	OpenCode      x-parent-session-id of its subagents, X-Session-Id, x-opencode-session
//	others        Goose, Cline, Roo, Copilot, Kilo, Mux, Coder
var agentSessions = [...]field{
	{header: "X-Claude-Code-Session-Id"},
	{body: "metadata.user_id session_id"},
	{body: "client_metadata.session_id"},
	{body: "client_metadata.x-codex-turn-metadata session_id"},
	{header: "Session-Id"},
	{header: "Session_id"},
	{header: "X-Parent-Session-Id"},
	{header: "X-Session-Id"},
	{header: "X-Session-Affinity"},
	{header: "X-Opencode-Session"},
	{body: "request.session_id"}, // Gemini CLI with a Google login
	{header: "Goose-Session-Id"},
	{header: "X-Task-Id"},
	{header: "X-Roo-Task-Id"},
	{header: "X-Interaction-Id"},
	{header: "X-Client-Session-Id"},
	{header: "X-Kilocode-Taskid"},
	{header: "X-Mux-Workspace-Id"},
	{header: "X-Coder-Chat-Id"},
}

// otherSessions lists where gateways and programs name them. Nothing follows from a
// request of such a session that has no tools.
var otherSessions = [...]field{
	{header: "Agent-Session-Id"},     // Envoy AI gateway
	{header: "X-Litellm-Session-Id"}, // LiteLLM
	{header: "Helicone-Session-Id"},
	{header: "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"},
	{header: "X-Cagent-Session-Id"},
	{header: "X-Dynamo-Session-Id"},
	{body: "metadata.session_id"},
	{body: "conversation.id"},
	{body: "conversation"},
	{body: "prompt_cache_key"},
}

// agentNames lists where agents name a part of themselves: a subagent, or a task besides the
// conversation. Its messages are in a namespace.
var agentNames = [...]field{
	{header: "X-Claude-Code-Agent-Id"},
	{header: "X-Openai-Subagent"},
	{body: "client_metadata.x-openai-subagent"},
}

// tasks lists the values that show a request which is no message of the conversation. It
// is passed through and not published.
var tasks = [...]struct {
	field
	value string
}{
	{field{body: "generate"}, "false"}, // a WebSocket of Codex is warmed up
	{field{header: "X-Codex-Turn-Metadata", body: "request_kind"}, "prewarm"},
	{field{body: "client_metadata.x-codex-turn-metadata request_kind"}, "prewarm"},
	{field{header: "X-Codex-Turn-Metadata", body: "request_kind"}, "compaction"},
	{field{body: "client_metadata.x-codex-turn-metadata request_kind"}, "compaction"},
	{field{header: "X-Claude-Code-Request-Class"}, "auxiliary"},
	{field{header: "X-Claude-Code-Request-Class"}, "compaction"},
	{field{body: "max_tokens"}, "1"}, // a probe of the quota
}

// value returns what a request has in a field, "" for nothing.
func (f field) value(h http.Header, body gjson.Result) string {
	if f.header != "" {
		v := h.Get(f.header)
		if f.body != "" {
			v = inner(v, f.body)
		}
		return v
	}
	outer, path, nested := strings.Cut(f.body, " ")
	v := body.Get(outer)
	switch {
	case nested:
		return inner(v.Str, path)
	case v.IsObject() || v.IsArray() || v.Type == gjson.Null:
		return ""
	}
	return v.String()
}

// inner returns a member of a text that is JSON. Claude Code wrote user_…_session_<id>
// before.
func inner(text, path string) string {
	if gjson.Valid(text) {
		return gjson.Get(text, path).String()
	}
	if _, id, old := strings.Cut(text, "_session_"); old && path == "session_id" {
		return id
	}
	return ""
}

// identity is what a request states about where it belongs.
type identity struct {
	session   string // "" if it names none
	agent     bool   // an agent is known by it, which also sends requests besides the conversation
	namespace string
	previous  string // the answer that the request follows, "" if it names none
	kept      bool   // the provider keeps the history, and the request has only what is new
	apart     bool   // it is no message of the conversation
}

// identify returns what a request states. A request that was not read has no body. path is that of Options.SessionPath, "" for none.
func identify(h http.Header, body gjson.Result, path string) (id identity) {
	id.previous = body.Get("previous_response_id").Str
	id.kept = id.previous != "" || body.Get("conversation").Exists()
	id.session = h.Get(HeaderSession)
	if id.session == "" && path != "" {
		id.session = body.Get(path).String()
	}
	if id.session == "" {
		id.session = first(agentSessions[:], h, body)
		id.agent = id.session != ""
	}
	if id.session == "" {
		id.session = first(otherSessions[:], h, body)
	}
	name := first(agentNames[:], h, body)
	if parent, own := h.Get("X-Parent-Session-Id"), h.Get("X-Session-Id"); parent != "" && own != parent {
		name = own
	}
	if name != "" {
		id.namespace = "agent|" + name
	}
	for _, t := range tasks {
		id.apart = id.apart || t.field.value(h, body) == t.value
	}
	if id.agent && id.namespace == "" && body.Exists() && !hasTools(body) {
		id.apart = true // a title, or a summary
	}
	id.session, id.namespace, id.previous = strings.Clone(id.session), strings.Clone(id.namespace), strings.Clone(id.previous) // without the body
	return id
}

func first(list []field, h http.Header, body gjson.Result) string {
	for _, f := range list {
		if v := f.value(h, body); v != "" {
			return v
		}
	}
	return ""
}

func hasTools(body gjson.Result) bool {
	for _, path := range []string{"tools", "toolConfig.tools", "request.tools"} {
		if body.Get(path + ".0").Exists() {
			return true
		}
	}
	return false
}
