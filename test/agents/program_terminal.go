package main

func terminal() []*program {
	return []*program{claude("claude"), claude("claude-partial", "--include-partial-messages"), codexExec()}
}

func claude(name string, more ...string) *program {
	out := []output{{format: "claude-code", texts: true}}
	if len(more) == 0 {
		out = append(out, output{format: "claude-transcript", files: ".claude/projects/*/*.jsonl", texts: true})
	}
	return &program{
		name: name, group: "claude", pkg: "@anthropic-ai/claude-code", tool: shell("Bash", "command", "description"), outputs: out,
		start: func(r *run) command {
			args := []string{modules(r, "@anthropic-ai/claude-code-linux-x64/claude"), "-p", "--verbose", "--output-format", "stream-json",
				"--input-format", "stream-json", "--permission-prompt-tool", "stdio"}
			if r.script.person == "" {
				args = append(args, "--allowedTools", "Bash")
			}
			return command{args: append(args, more...), env: []string{"ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=" + r.home + "/.claude",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1"}}
		},
		talk: func(r *run, line []byte) ([]any, bool) {
			if line == nil {
				return []any{object{"type": "user", "message": object{"role": "user", "content": prompt}}}, false
			}
			var q struct {
				Type      string
				RequestID string `json:"request_id"`
				Request   struct {
					Subtype string
					Input   object
				}
			}
			switch {
			case !decodeLine(line, &q):
			case q.Type == "result":
				return nil, true
			case q.Type == "control_request" && q.Request.Subtype == "can_use_tool":
				answer := object{"behavior": r.script.person, "updatedInput": q.Request.Input}
				if r.script.person == "deny" {
					answer = object{"behavior": "deny", "message": "not now"}
				}
				return []any{object{"type": "control_response", "response": object{"subtype": "success", "request_id": q.RequestID, "response": answer}}}, false
			}
			return nil, false
		},
		stop: func(*run) any {
			return object{"type": "control_request", "request_id": "stop-1", "request": object{"subtype": "interrupt"}}
		},
	}
}

func codexProvider(r *run) []string {
	return []string{"-c", `model_provider="mock"`, "-c", `model_providers.mock={name="mock",base_url="` + r.model.URL +
		`/v1",env_key="OPENAI_API_KEY",wire_api="responses",supports_websockets=false}`}
}

func codexHome(r *run, args ...string) command {
	return command{args: append([]string{modules(r, ".bin/codex")}, args...), env: []string{"CODEX_HOME=" + r.home + "/.codex", "OPENAI_API_KEY=k"},
		files: map[string]string{".codex/config.toml": "[analytics]\nenabled = false\n[otel]\nexporter = \"none\"\n"}}
}

func codexExec() *program {
	return &program{
		name: "codex exec", group: "codex", pkg: "@openai/codex", tool: shell("exec_command", "cmd"),
		outputs: []output{
			{format: "codex-exec", ownIDs: true, ownArgs: true, texts: true},
			{format: "codex-rollout", files: ".codex/sessions/*/*/*/rollout-*.jsonl", texts: true},
		},
		start: func(r *run) command {
			args := append([]string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json", "-m", "gpt-5"}, codexProvider(r)...)
			return codexHome(r, append(args, prompt)...)
		},
		without: map[string]string{"denied": noPerson, "approval": noPerson},
	}
}

const noPerson = "it asks no person"
