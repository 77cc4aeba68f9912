package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bill is the bill of materials of a program: the modules that are in it.
type bill struct {
	version string
	hash    string // SHA-256 of the program, in hexadecimal digits
	modules []module
}

// module is a module in a program.
type module struct {
	path, version string
	sum           string // of go.sum; empty for the standard library
	licences      []string
	text          string // of the licences
}

// readBill returns the modules that the toolchain recorded in a program. The licence
// of each must be an allowed one.
func readBill(ctx context.Context, s *source, program string) (*bill, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	body, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	b := &bill{version: info.Main.Version, hash: hex.EncodeToString(sum[:])}
	dirs, err := moduleDirs(ctx, s)
	if err != nil {
		return nil, err
	}
	b.modules = []module{{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			return nil, fmt.Errorf("%s is replaced", d.Path)
		}
		b.modules = append(b.modules, module{path: d.Path, version: d.Version, sum: d.Sum})
	}
	slices.SortFunc(b.modules, func(x, y module) int { return cmp.Compare(x.path, y.path) })
	var errs []error
	for i := range b.modules {
		m := &b.modules[i]
		if m.licences, m.text, err = licencesOf(dirs[m.path]); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", m.path, m.version, err))
		}
	}
	return b, errors.Join(errs...)
}

// moduleDirs returns the directory of each module that the program can need, and that
// of the Go distribution as std.
func moduleDirs(ctx context.Context, s *source) (map[string]string, error) {
	root, err := output(ctx, s.dir, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	list, err := output(ctx, s.dir, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}", "all")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"std": filepath.FromSlash(root)}
	for line := range strings.Lines(list) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[path] = dir
	}
	return dirs, nil
}

func (b *bill) texts() []byte {
	var out bytes.Buffer
	out.WriteString("Modules in this program, and their licences.\n")
	for _, m := range b.modules {
		fmt.Fprintf(&out, "\n%s\n%s %s\n\n%s", strings.Repeat("=", 72), m.path, m.version, m.text)
	}
	return out.Bytes()
}

// The members of a CycloneDX document that are written.
type (
	document struct {
		Schema      string      `json:"$schema"`
		Format      string      `json:"bomFormat"`
		SpecVersion string      `json:"specVersion"`
		Version     int         `json:"version"`
		Metadata    metadata    `json:"metadata"`
		Components  []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Ref        string          `json:"bom-ref"`
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Version    string          `json:"version"`
		PURL       string          `json:"purl"`
		Hashes     []hash          `json:"hashes,omitempty"`
		Licences   []licenceChoice `json:"licenses,omitempty"`
		Properties []property      `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licenceChoice struct {
		Licence struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// write writes the bill as CycloneDX JSON. It has neither a time nor a serial number,
// which would differ from build to build.
func (b *bill) write(w io.Writer) error {
	main := newComponent("application", "streamer", b.version)
	main.Hashes = []hash{{"SHA-256", b.hash}}
	d := document{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{main},
	}
	for _, m := range b.modules {
		c := newComponent("library", m.path, m.version)
		for _, id := range m.licences {
			var choice licenceChoice
			choice.Licence.ID = id
			c.Licences = append(c.Licences, choice)
		}
		if m.sum != "" { // of a list of files, so that it is no hash of CycloneDX
			c.Properties = []property{{"go:sum", m.sum}}
		}
		d.Components = append(d.Components, c)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// newComponent returns a component that is a Go module.
func newComponent(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Ref: purl, Type: kind, Name: path, Version: version, PURL: purl}
}
