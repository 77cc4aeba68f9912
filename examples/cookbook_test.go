package examples_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/test/local"
	"streamer/test/testkit"
)

// block is a block of code in a document.
type block struct {
	section, language, code string
}

// cookbook returns the blocks of docs/cookbook.md in a language.
func cookbook(t *testing.T, language string) []block {
	t.Helper()
	return blocksOf(t, "../docs/cookbook.md", language)
}

// blocksOf returns the blocks of a document in a language.
func blocksOf(t *testing.T, file, language string) (list []block) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, inside := block{}, false
	for line := range strings.Lines(string(text)) {
		fence, is := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case is && !inside:
			b.language, b.code, inside = fence, "", true
		case is:
			inside = false
			if b.language == language {
				list = append(list, b)
			}
		case inside:
			b.code += line
		case strings.HasPrefix(line, "## "):
			b.section = strings.TrimSpace(line[3:])
		}
	}
	if len(list) == 0 {
		t.Fatalf("%s has no %s", file, language)
	}
	return list
}

// sessionName matches the session of a shell block.
var sessionName = regexp.MustCompile(`(?:\$s/|--session )([\w-]+)`)

// TestCookbook runs each shell block of the cookbook, and checks that each of its sessions
// has a call with complete args and no rejected input. The first block sets variables for all.
func TestCookbook(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	data := t.TempDir()
	running, _ := local.Serve(t, local.Config(data)) // each command waits for a checkpoint, which is early here
	server := strings.TrimSuffix(running.Page(), "/")
	env := append(os.Environ(), "STREAMER_DATA_DIR="+data, "CURL_HOME="+provide(t, server), "PATH="+stubs(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "LANGSMITH_API_KEY"} {
		env = append(env, name+"=key")
	}
	blocks := cookbook(t, "sh")
	for i, b := range blocks[1:] {
		t.Run(fmt.Sprintf("%s %d", b.section, i), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("bash", "-euo", "pipefail", "-c", blocks[0].code+b.code)
			cmd.Env, cmd.Dir = env, t.TempDir()
			out, _ := run(t, cmd, "")
			if strings.Contains(out, `"rejected"`) && !strings.Contains(out, `"rejected":0,`) {
				t.Errorf("rejected: %s", out)
			}
			names := sessionName.FindAllStringSubmatch(b.code, -1)
			if names == nil {
				t.Fatal("the block names no session")
			}
			for _, name := range names {
				log := read(t, server, name[1], func(e *events.Event) bool { return e.Type == events.ToolCallArgsComplete })
				if bad := of(log, events.Rejected); len(bad) > 0 {
					t.Errorf("session %s: rejected: %+v", name[1], bad)
				}
			}
		})
	}
}

// stubs returns a directory with the commands that the cookbook uses: streamer, and
// programs that print a recorded stream.
func stubs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(testkit.Program(t), filepath.Join(dir, "streamer")); err != nil {
		t.Fatal(err)
	}
	streams, err := filepath.Abs("../internal/decode/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for command, file := range map[string]string{
		"claude": "claude-code/partial", "codex exec": "codex-exec/turns", "codex app-server": "codex-app-server/deltas",
		"gemini": "gemini-cli/run", "cursor-agent": "cursor-agent/run",
		"opencode": "opencode/run", "pi": "pi/deltas", "python3 live.py": "gemini-live/snake", "node agent.js": "openai-agents/turns",
		"python3 agent.py": "pydantic-ai/parallel", "node strands.js": "strands/parallel",
	} {
		name, first, _ := strings.Cut(command, " ")
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(f, "#!/bin/sh\ncase $1 in %s*) exec cat '%s/%s.jsonl';; esac\n", first, streams, file)
		if err = cmp.Or(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPython checks that the Python of the cookbook and of the README is valid.
func TestPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	for _, b := range append(cookbook(t, "python"), blocksOf(t, "../README.md", "python")...) {
		run(t, exec.Command(python, "-c", "import ast, sys; compile(sys.stdin.read(), sys.argv[1], 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)", b.section), b.code)
	}
}
