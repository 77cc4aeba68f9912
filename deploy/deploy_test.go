// Package deploy_test checks the files of this directory: with the programs that
// read them where these are installed, and that they name only what streamer has.
package deploy_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/internal/server"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v3"
)

// exported returns the names of the metrics of a server, of histograms also those of
// their series.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	c := server.NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	s, err := server.Open(t.Context(), c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ctx := brokertest.Deadline(t)
	go func() { _ = s.Run(ctx) }()
	<-s.Opened()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Page()+"metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"up": true}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = true
	}
	// Series with labels exist only once something happened.
	for _, name := range documented(t) {
		names[name] = true
		for _, of := range []string{"_bucket", "_sum", "_count"} {
			names[name+of] = true
		}
	}
	return names
}

// documented returns the names of the metrics in docs/operations.md, which a test of
// internal/server compares with those of the program.
func documented(t *testing.T) (names []string) {
	t.Helper()
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "### Metrics")
	section, _, _ = strings.Cut(section, "\n### ")
	for _, m := range regexp.MustCompile("`([a-z_]+)(?:{[a-z,]+})?`").FindAllStringSubmatch(section, -1) {
		names = append(names, "streamer_"+m[1])
	}
	return names
}

// TestMetricNames: the dashboard and the rules name only metrics that exist.
func TestMetricNames(t *testing.T) {
	known := exported(t)
	word := regexp.MustCompile(`\b(?:streamer|process|go)_[a-z_]+\b`)
	for _, file := range []string{"grafana/streamer.json", "prometheus/rules.yaml", "prometheus/rules.test.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := word.FindAllString(string(text), -1)
		if len(found) < 5 {
			t.Errorf("%s names %d metrics", file, len(found))
		}
		for _, name := range found {
			if !known[name] {
				t.Errorf("%s: %s is not exported; there are %v", file, name, slices.Sorted(maps.Keys(known)))
			}
		}
	}
}

// TestAlertsAreDocumented: docs/operations.md says what each alert means.
func TestAlertsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(doc), "`"+m[1]+"`") {
			t.Errorf("docs/operations.md does not mention %s", m[1])
		}
	}
}

// TestFilesParse: each YAML and JSON file can be parsed. test/helm renders the templates.
func TestFilesParse(t *testing.T) {
	n := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "templates" {
			return fs.SkipDir
		}
		var parse func([]byte) error
		switch filepath.Ext(path) {
		case ".yaml":
			parse = parseYAML
		case ".json":
			parse = func(text []byte) error { return json.Unmarshal(text, new(any)) }
		default:
			return nil
		}
		n++
		text, err := os.ReadFile(path)
		if err == nil {
			err = parse(text)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("%d files, error %v", n, err)
	}
}

// parseYAML parses all documents of a YAML text.
func parseYAML(text []byte) error {
	for d := yaml.NewDecoder(strings.NewReader(string(text))); ; {
		if err := d.Decode(new(any)); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestVariables: the files set only variables that flags have.
func TestVariables(t *testing.T) {
	doc, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	// Passwords of NATS users, which the NATS servers read.
	foreign := []string{"STREAMER_PASSWORD"}
	for _, file := range []string{"docker/Dockerfile", "compose/compose.yaml", "helm/templates/deployments.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bSTREAMER_[A-Z_]+`).FindAllString(string(text), -1) {
			if !slices.Contains(foreign, name) && !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("%s: %s is no variable of docs/cli.md", file, name)
			}
		}
	}
}

// TestTools runs the programs that check the files themselves.
func TestTools(t *testing.T) {
	for name, args := range map[string][]string{
		"rules":        {"promtool", "test", "rules", "prometheus/rules.test.yaml"},
		"scrape":       {"promtool", "check", "config", "--syntax-only", "compose/prometheus.yaml"},
		"systemd unit": {"systemd-analyze", "security", "--offline=true", "--threshold=20", "systemd/streamer.service"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(args[0]); err != nil {
				if args[0] == "promtool" && os.Getenv("STREAMER_REQUIRE_BROWSER") != "" {
					t.Fatal(err)
				}
				t.Skipf("optional program: %v", err)
			}
			if out, err := exec.CommandContext(brokertest.Deadline(t), args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		})
	}
}
