package wrap

import (
	"path/filepath"
	"slices"
	"strings"
)

// variable is a variable of the environment by which clients find an upstream.
type variable struct {
	name, upstream string
	suffix         string // of the URL
}

// variables lists the variables that are set for each command.
//
//	vendors' SDKs, LangChain, AI SDK   OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL
//	Claude Code                        ANTHROPIC_BASE_URL
//	Gemini CLI, qwen-code              GOOGLE_GEMINI_BASE_URL, CODE_ASSIST_ENDPOINT, OPENAI_BASE_URL
//	Aider, LiteLLM                     OPENAI_API_BASE, ANTHROPIC_API_BASE
//	Goose                              OPENAI_HOST, ANTHROPIC_HOST
var variables = [...]variable{
	{"OPENAI_BASE_URL", "openai", "/v1"},
	{"OPENAI_API_BASE", "openai", "/v1"},
	{"OPENAI_HOST", "openai", ""},
	{"ANTHROPIC_BASE_URL", "anthropic", ""},
	{"ANTHROPIC_API_BASE", "anthropic", ""},
	{"ANTHROPIC_HOST", "anthropic", ""},
	{"GOOGLE_GEMINI_BASE_URL", "gemini", ""},
	{"CODE_ASSIST_ENDPOINT", "code-assist", ""},
	{"CO_API_URL", "cohere", ""},
}

// arguments lists the commands that do not read the variables, and the arguments that say
// the same to them. {} is the URL of the tap.
var arguments = map[string][]string{
	"codex": {"-c", `openai_base_url="{}/openai/v1"`},
}

// openCode is the configuration of OpenCode, which reads it from a variable.
const openCode = `{"provider":{"openai":{"options":{"baseURL":"{}/openai/v1"}},"anthropic":{"options":{"baseURL":"{}/anthropic/v1"}},"google":{"options":{"baseURL":"{}/gemini/v1beta"}}}}`

// redirected returns a command and its environment with the URL of the tap.
func redirected(command, environment []string, base string) (args, env []string) {
	env = slices.Clone(environment)
	for _, v := range variables {
		path := v.upstream + v.suffix
		if valueOf(environment, v.name) != "" {
			path = v.own()
		}
		env = append(env, v.name+"="+base+"/"+path)
	}
	if !slices.ContainsFunc(environment, func(s string) bool { return strings.HasPrefix(s, "OPENCODE_CONFIG_CONTENT=") }) {
		env = append(env, "OPENCODE_CONFIG_CONTENT="+strings.ReplaceAll(openCode, "{}", base))
	}
	name := strings.TrimSuffix(filepath.Base(command[0]), filepath.Ext(command[0]))
	args = []string{command[0]}
	for _, a := range arguments[name] {
		args = append(args, strings.ReplaceAll(a, "{}", base))
	}
	return append(args, command[1:]...), env
}

// own returns the name of the upstream that a variable names itself.
func (v variable) own() string { return strings.ToLower(strings.ReplaceAll(v.name, "_", "-")) }

// upstreams returns the upstreams for the tap: the known ones, and the servers that variables
// name already.
func upstreams(known, environment []string) []string {
	list := slices.Clone(known)
	for _, v := range variables {
		if url := valueOf(environment, v.name); url != "" {
			list = append(list, v.own()+"="+url)
		}
	}
	return list
}

func valueOf(environment []string, name string) string {
	for i := len(environment) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environment[i], name+"="); ok {
			return v
		}
	}
	return ""
}
