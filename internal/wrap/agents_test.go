package wrap

import (
	"slices"
	"strings"
	"testing"

	"streamer/internal/tap"
)

// TestRedirected: a command finds the tap by its variables or arguments, and a server that a
// variable names stays that server.
func TestRedirected(t *testing.T) {
	const base = "http://127.0.0.1:1/tap"
	for _, c := range []struct {
		name, command, environment string
		want                       []string // in the arguments or the environment
	}{
		{"variables", "python agent.py", "HOME=/root", []string{"python agent.py", "OPENAI_BASE_URL=" + base + "/openai/v1", "ANTHROPIC_BASE_URL=" + base + "/anthropic", "HOME=/root"}},
		{"a server of its own", "python agent.py", "OPENAI_BASE_URL=http://box:8000/llm", []string{"OPENAI_BASE_URL=" + base + "/openai-base-url", "OPENAI_API_BASE=" + base + "/openai/v1"}},
		{"codex", "/usr/bin/codex exec hi", "", []string{"/usr/bin/codex -c openai_base_url=\"" + base + "/openai/v1\" exec hi"}},
		{"a configuration of OpenCode", "opencode", "OPENCODE_CONFIG_CONTENT={}", []string{"OPENCODE_CONFIG_CONTENT={}"}},
		{"OpenCode", "opencode", "", []string{`"baseURL":"` + base + `/anthropic/v1"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			environment := []string{c.environment}
			args, env := redirected(strings.Fields(c.command), environment, base)
			all := strings.Join(args, " ") + "\n" + strings.Join(env, "\n")
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("no %s in\n%s", want, all)
				}
			}
			for _, text := range upstreams(tap.Known(), environment) {
				if _, err := tap.ParseUpstream(text); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if list := upstreams(tap.Known(), []string{"OPENAI_BASE_URL=http://box:8000/llm"}); !slices.Contains(list, "openai-base-url=http://box:8000/llm") {
		t.Errorf("the upstreams are %q", list)
	}
}
