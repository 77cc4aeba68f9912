package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLicences: every module in the program has an allowed licence.
func TestLicences(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./cmd/streamer")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"": true}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if seen[path] {
			continue
		}
		seen[path] = true
		if _, _, err := licencesOf(dir); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(seen) < 10 {
		t.Errorf("the program has %d modules, want 10 at least:\n%s", len(seen), out)
	}
}

func TestRecognise(t *testing.T) {
	const bsd = "Redistribution and use in source\nand binary forms, with or without modification, are permitted"
	for _, c := range []struct {
		in, want string // want is empty for an error
	}{
		{`Permission is hereby granted, free of charge, to any person. THE SOFTWARE IS PROVIDED "AS IS"`, "MIT"},
		{bsd, "BSD-2-Clause"},
		{bsd + ". Neither the name of X may be used to endorse or promote products derived from it", "BSD-3-Clause"},
		{"Apache License\n   Version 2.0, January 2004", "Apache-2.0"},
		{bsd + "\nApache License\nVersion 2.0", "BSD-2-Clause Apache-2.0"},
		{"GNU GENERAL PUBLIC LICENSE Version 3", ""},
		{"Apache License Version 2.0 or GNU Affero General Public License version 3", ""},
		{"All rights reserved.", ""},
		{"", ""},
	} {
		t.Run(fmt.Sprintf("%.60s", c.in), func(t *testing.T) {
			got, err := recognise(c.in)
			if strings.Join(got, " ") != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q: got %q, %v, want %q", c.in, got, err, c.want)
			}
		})
	}
}

// TestArchives: the bytes of an archive depend only on the files and the time of the
// commit, and the files come out of it again.
func TestArchives(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	files := []file{{name: "a/streamer", body: []byte("program"), executable: true}, {name: "a/README.md", body: []byte("text")}}
	for name, pack := range map[string]func(io.Writer, []file, time.Time) error{"tar": packTar, "zip": packZip} {
		t.Run(name, func(t *testing.T) {
			var one, other bytes.Buffer
			if err := pack(&one, files, at); err != nil {
				t.Fatal(err)
			}
			if err := pack(&other, files, at.In(time.FixedZone("", 3600))); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(one.Bytes(), other.Bytes()) {
				t.Errorf("%s: two archives of the same files differ", name)
			}
			unpack := map[string]func(*testing.T, []byte) []file{"tar": unpackGzip, "zip": unpackZip}[name]
			if got := unpack(t, one.Bytes()); !slices.EqualFunc(got, files, sameFile) {
				t.Errorf("%s: got %v, want %v", name, got, files)
			}
		})
	}
}

// TestProvenance: the statement has the digest of each file, what it was built from, and how;
// another one of the same files is the same.
func TestProvenance(t *testing.T) {
	dir := t.TempDir()
	s := &source{dir: dir, commit: "0123abc"}
	for _, name := range []string{"b.tar.gz", "a.zip"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var before []byte
	for range 2 {
		if err := s.writeProvenance(t.Context(), dir, "https://ci.example.com/1", []string{"linux/amd64"}, []string{"b.tar.gz", "a.zip"}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, provenance))
		if err != nil || before != nil && !bytes.Equal(text, before) {
			t.Fatalf("got %s, %v, before %s", text, err, before)
		}
		before = text
	}
	type artifact struct {
		Name   string
		Digest map[string]string
	}
	var st struct {
		Type          string `json:"_type"`
		Subject       []artifact
		PredicateType string
		Predicate     struct {
			BuildDefinition struct {
				InternalParameters   struct{ GoVersion, Command string }
				ResolvedDependencies []artifact
			}
			RunDetails struct{ Builder struct{ ID string } }
		}
	}
	if err := json.Unmarshal(before, &st); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a.zip", "b.tar.gz"} {
		if got, want := st.Subject[i], fmt.Sprintf("%x", sha256.Sum256([]byte("content of "+name))); len(st.Subject) != 2 || got.Name != name || got.Digest["sha256"] != want {
			t.Errorf("subject %d: got %v, want %s with %s", i, got, name, want)
		}
	}
	build := st.Predicate.BuildDefinition
	if st.Type != "https://in-toto.io/Statement/v1" || st.PredicateType != "https://slsa.dev/provenance/v1" || st.Predicate.RunDetails.Builder.ID != "https://ci.example.com/1" {
		t.Errorf("got %s", before)
	}
	if build.ResolvedDependencies[0].Digest["gitCommit"] != "0123abc" || build.InternalParameters.GoVersion != runtime.Version() || !strings.Contains(build.InternalParameters.Command, "CGO_ENABLED=0") || !strings.Contains(build.InternalParameters.Command, "go build -trimpath") {
		t.Errorf("got %+v", build)
	}
}

// TestLicensed: a commit with a tag needs a licence.
func TestLicensed(t *testing.T) {
	s := &source{dir: t.TempDir(), commit: "HEAD"}
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
		if _, err := output(t.Context(), s.dir, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "-m", "first")
	if err := s.licensed(t.Context()); err != nil {
		t.Errorf("without a tag: got %v", err)
	}
	git("tag", "v1.2.3")
	if err := s.licensed(t.Context()); err == nil || !strings.Contains(err.Error(), "v1.2.3 has no file LICENSE") {
		t.Errorf("with a tag: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "LICENSE"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.licensed(t.Context()); err != nil {
		t.Errorf("with a licence: got %v", err)
	}
}

func sameFile(x, y file) bool {
	return x.name == y.name && x.executable == y.executable && bytes.Equal(x.body, y.body)
}

func unpackGzip(t *testing.T, archive []byte) []file {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	return unpackTar(t, z)
}

func unpackTar(t *testing.T, archive io.Reader) (files []file) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{name: h.Name, body: body, executable: h.FileInfo().Mode()&0o100 != 0})
	}
}

func unpackZip(t *testing.T, archive []byte) (files []file) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range z.File {
		r, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{name: part.Name, body: body, executable: part.Mode()&0o100 != 0})
	}
	return files
}
