package main

import (
	"path/filepath"
	"strings"
)

func terminal() []*program {
	return []*program{
		claude("claude"), claude("claude-partial", "--include-partial-messages"),
		codexExec(), codexServer(),
		geminiCLI(), qwen("qwen"), qwen("qwen-partial", "--include-partial-messages"),
		opencode("opencode", "@ai-sdk/openai-compatible", "/v1"), opencode("opencode-anthropic", "@ai-sdk/anthropic", "/v1"),
		whole(acp(geminiCLI(), output{bare: true, ownIDs: true, notes: map[string]note{
			"throws":      {status: "completed", why: "as in its stream"},
			"interrupted": cancelledCommand,
		}}, "--acp", "--skip-trust", "-m", "gemini-2.5-pro")), acp(qwen("qwen"), output{ownArgs: true}, "--acp", "-m", "m"),
		acp(opencode("opencode", "@ai-sdk/openai-compatible", "/v1"), output{ownArgs: true, notes: opencodeNotes(cancelledCommand)}, "acp"),
		pi("pi", "openai-completions", "/v1"), pi("pi-anthropic", "anthropic-messages", ""),
	}
}

func claude(name string, more ...string) *program {
	out := []output{{format: "claude-code", texts: true}}
	if len(more) == 0 {
		out = append(out, output{format: "claude-transcript", unasked: true, files: ".claude/projects/*/*.jsonl", texts: true})
	}
	return &program{
		name: name, group: "claude", pkg: "@anthropic-ai/claude-code", tool: shell("Bash", "command", "description"), outputs: out,
		start: func(r *run) command {
			args := []string{
				modules(r, "@anthropic-ai/claude-code-linux-x64/claude"), "-p", "--verbose", "--output-format", "stream-json",
				"--input-format", "stream-json", "--permission-prompt-tool", "stdio",
			}
			if r.script.person == "" {
				args = append(args, "--allowedTools", "Bash")
			}
			return command{args: append(args, more...), env: []string{
				"ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=" + r.home + "/.claude",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1",
			}}
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
	return command{
		args: append([]string{modules(r, ".bin/codex")}, args...), env: []string{"CODEX_HOME=" + r.home + "/.codex", "OPENAI_API_KEY=k"},
		files: map[string]string{".codex/config.toml": "[analytics]\nenabled = false\n[otel]\nexporter = \"none\"\n"},
	}
}

func codexExec() *program {
	return &program{
		name: "codex exec", group: "codex", pkg: "@openai/codex", tool: shell("exec_command", "cmd"),
		outputs: []output{
			{format: "codex-exec", ownIDs: true, ownArgs: true, unordered: true, texts: true},
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

func codexServer() *program {
	return &program{
		name: "codex app-server", group: "codex", pkg: "@openai/codex", tool: shell("exec_command", "cmd"),
		outputs: []output{{format: "codex-app-server", ownArgs: true, unordered: true, texts: true}},
		start:   func(r *run) command { return codexHome(r, append([]string{"app-server"}, codexProvider(r)...)...) },
		talk:    codexTalk,
		stop: func(r *run) any {
			return object{"id": 9, "method": "turn/interrupt", "params": object{"threadId": r.thread, "turnId": r.turn}}
		},
	}
}

// codexTalk starts a thread and a turn, and answers what the program asks.
func codexTalk(r *run, line []byte) ([]any, bool) {
	var m struct {
		ID     any
		Method string
		Result struct{ Thread, Turn struct{ ID string } }
	}
	policy := "never"
	if r.script.person != "" {
		policy = "untrusted"
	}
	switch {
	case line == nil:
		return []any{object{"id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "agents", "version": "1"}}}}, false
	case !decodeLine(line, &m):
	case m.Method == "turn/completed":
		return nil, true
	case strings.HasSuffix(m.Method, "/requestApproval"):
		decision := map[string]string{"allow": "accept", "deny": "decline"}[r.script.person]
		return []any{object{"id": m.ID, "result": object{"decision": decision}}}, false
	case m.Method != "":
	case m.ID == 1.0:
		return []any{object{"method": "initialized"}, object{"id": 2, "method": "thread/start", "params": object{
			"model": "gpt-5", "cwd": r.work,
			"approvalPolicy": policy, "sandbox": "danger-full-access",
		}}}, false
	case m.ID == 2.0:
		r.thread = m.Result.Thread.ID
		return []any{object{"id": 3, "method": "turn/start", "params": object{"threadId": r.thread, "input": []object{{"type": "text", "text": prompt}}}}}, false
	case m.ID == 3.0:
		r.turn = m.Result.Turn.ID
	}
	return nil, false
}

func geminiCLI() *program {
	return &program{
		name: "gemini", group: "gemini", pkg: "@google/gemini-cli", tool: shell("run_shell_command", "command", "description"),
		outputs: []output{{format: "gemini-cli", ownIDs: true, unasked: true, texts: true, notes: map[string]note{
			"throws": {status: "completed", why: "a command that fails is a success, and its exit status is not in the output"},
		}}},
		start: func(r *run) command {
			return command{
				args: []string{filepath.Join(r.node, "node"), modules(r, "@google/gemini-cli/bundle/gemini.js"), "-p", prompt, "--approval-mode", mode(r, "yolo"), "--skip-trust", "-m", "gemini-2.5-pro", "-o", "stream-json"},
				env:  []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + r.model.URL, "GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true"},
				files: map[string]string{".gemini/settings.json": text(object{
					"security":  object{"auth": object{"selectedType": "gemini-api-key"}},
					"telemetry": object{"enabled": false}, "privacy": object{"usageStatisticsEnabled": false}, "general": object{"enableAutoUpdate": false},
				})},
			}
		},
		without: map[string]string{"approval": noPerson, "invalid-args": wholeCalls},
	}
}

// mode returns the mode of approvals of a run in which no person is asked, or "default".
func mode(r *run, open string) string {
	if r.script.person != "" {
		return "default"
	}
	return open
}

func qwen(name string, more ...string) *program {
	return &program{
		name: name, group: "qwen", pkg: "@qwen-code/qwen-code", tool: shell("run_shell_command", "command", "description"),
		outputs: []output{{format: "claude-code", texts: true, notes: map[string]note{
			"cut-args": {repaired: true, why: "it completes cut args, and does not run the call"},
		}}},
		start: func(r *run) command {
			args := []string{filepath.Join(r.node, "node"), modules(r, "@qwen-code/qwen-code/cli.js"), "-p", prompt, "--approval-mode", mode(r, "yolo"), "-m", "m", "-o", "stream-json"}
			return command{
				args: append(args, more...),
				env:  []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + r.model.URL + "/v1", "OPENAI_MODEL=m", "QWEN_CODE_NO_RELAUNCH=true"},
				files: map[string]string{".qwen/settings.json": text(object{
					"security":  object{"auth": object{"selectedType": "openai"}},
					"telemetry": object{"enabled": false}, "privacy": object{"usageStatisticsEnabled": false}, "general": object{"disableAutoUpdate": true},
				})},
			}
		},
		without: map[string]string{"denied": noPerson, "approval": noPerson},
	}
}

func opencode(name, npm, suffix string) *program {
	return &program{
		name: name, group: "opencode", pkg: "opencode-ai", tool: shell("bash", "command", "description"),
		outputs: []output{{format: "opencode", unasked: true, unordered: true, texts: true, notes: opencodeNotes(note{silent: true, why: "it prints a call when it has ended"})}},
		start: func(r *run) command {
			permission := map[bool]string{true: "allow", false: "ask"}[r.script.person == ""]
			config := object{
				"autoupdate": false, "share": "disabled", "permission": permission, "model": "mock/m", "small_model": "mock/m",
				"provider": object{"mock": object{
					"npm": npm, "name": "mock", "options": object{"baseURL": r.model.URL + suffix, "apiKey": "k"},
					"models": object{"m": object{"name": "m", "tool_call": true, "limit": object{"context": 100000, "output": 4000}}},
				}},
			}
			return command{
				args: []string{modules(r, "opencode-linux-x64/bin/opencode"), "run", "--format", "json", "-m", "mock/m", prompt},
				env: []string{
					"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
					"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_CONFIG_CONTENT=" + text(config),
				},
			}
		},
		without: map[string]string{"approval": noPerson},
	}
}

// opencodeNotes returns the notes of opencode, of which one depends on its output.
func opencodeNotes(interrupted note) map[string]note {
	return map[string]note{
		"invalid-args": {repaired: true, why: "it replaces the call by one of the tool invalid"},
		"cut-args":     {repaired: true, why: "as with invalid args"},
		"throws":       {status: "completed", why: "a command that fails is completed, with its exit status beside the output"},
		"interrupted":  interrupted,
	}
}

func pi(name, api, suffix string) *program {
	return &program{
		name: name, group: "pi", pkg: "@earendil-works/pi-coding-agent", tool: shell("bash", "command"),
		outputs: []output{{format: "pi", texts: true}},
		start: func(r *run) command {
			models := object{"providers": object{"mock": object{
				"baseUrl": r.model.URL + suffix, "apiKey": "k", "api": api,
				"models": []object{{"id": "m", "name": "m", "input": []string{"text"}, "contextWindow": 100000, "maxTokens": 1000}},
			}}}
			return command{
				args:  []string{filepath.Join(r.node, "node"), modules(r, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"), "--provider", "mock", "--model", "m", "--mode", "json", "-p", prompt},
				env:   []string{"PI_OFFLINE=1", "PI_CODING_AGENT_DIR=" + r.home + "/.pi/agent"},
				files: map[string]string{".pi/agent/models.json": text(models)},
			}
		},
		without: map[string]string{"denied": noPerson, "approval": noPerson},
	}
}
