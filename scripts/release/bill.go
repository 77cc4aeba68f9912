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
	"regexp"
	"slices"
	"strings"
)

type bill struct {
	version string
	hash    string // SHA-256 of the program, in hexadecimal digits
	modules []module
}

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

// write writes the bill as CycloneDX JSON. It has neither a time nor a serial number,
// which would differ from build to build.
func (b *bill) write(w io.Writer) error {
	type object map[string]any
	component := func(kind, path, version string) object {
		purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
		return object{"bom-ref": purl, "type": kind, "name": path, "version": version, "purl": purl}
	}
	program := component("application", "streamer", b.version)
	program["hashes"] = []object{{"alg": "SHA-256", "content": b.hash}}
	var components []object
	for _, m := range b.modules {
		c := component("library", m.path, m.version)
		var licences []object
		for _, id := range m.licences {
			licences = append(licences, object{"license": object{"id": id}})
		}
		c["licenses"] = licences
		if m.sum != "" { // of a list of files, so that it is no hash of CycloneDX
			c["properties"] = []object{{"name": "go:sum", "value": m.sum}}
		}
		components = append(components, c)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(object{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": object{"component": program}, "components": components,
	})
}

// licence is one licence, recognised by passages that its text must have and must
// not have. Passages are lower case, with single spaces.
type licence struct {
	id          string // of SPDX
	has, hasNot []string
}

// allowed returns the licences that a dependency may have. A text that matches none is
// an error.
func allowed() []licence {
	const bsd = "redistribution and use in source and binary forms"
	const third = "endorse or promote products derived from"
	return []licence{
		{id: "MIT", has: []string{"permission is hereby granted, free of charge", "the software is provided \"as is\""}},
		{id: "BSD-3-Clause", has: []string{bsd, third}},
		{id: "BSD-2-Clause", has: []string{bsd}, hasNot: []string{third}},
		{id: "Apache-2.0", has: []string{"apache license", "version 2.0"}},
		{id: "ISC", has: []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"}},
	}
}

// licenceFile matches the names of files with the text of a licence.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

func licencesOf(dir string) (ids []string, text string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", err
	}
	var all strings.Builder
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, "", err
		}
		all.Write(body)
		all.WriteByte('\n')
	}
	ids, err = recognise(all.String())
	return ids, all.String(), err
}

func recognise(text string) (ids []string, err error) {
	flat := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	flat = strings.NewReplacer("“", `"`, "”", `"`, "``", `"`, "''", `"`).Replace(flat)
	if flat == "" {
		return nil, errors.New("there is no file with a licence")
	}
	if strings.Contains(flat, "general public license version") || strings.Contains(flat, "gnu general public license") {
		return nil, errors.New("the licence is one of GNU, which is not allowed")
	}
	in := func(passage string) bool { return strings.Contains(flat, passage) }
	for _, l := range allowed() {
		if !slices.ContainsFunc(l.has, func(p string) bool { return !in(p) }) && !slices.ContainsFunc(l.hasNot, in) {
			ids = append(ids, l.id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("the licence is not in the list of allowed ones: %.80q", flat)
	}
	return ids, nil
}
