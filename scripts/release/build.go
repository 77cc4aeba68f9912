package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// source is a clean copy of a commit.
type source struct {
	dir    string
	commit string
	time   time.Time // of the commit: the time of all files of the release
}

// checkOut clones the repository of the working directory to dir. A change that is not
// committed is thus never a part of a release.
func checkOut(ctx context.Context, dir, commit string) (*source, error) {
	hash, err := output(ctx, ".", "git", "rev-parse", commit+"^{commit}")
	if err != nil {
		return nil, err
	}
	repository, err := output(ctx, ".", "git", "rev-parse", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	s := &source{dir: dir, commit: hash}
	for _, args := range [][]string{
		{"clone", "--quiet", "--no-checkout", repository, dir},
		{"-C", dir, "checkout", "--quiet", "--detach", hash},
	} {
		if _, err := output(ctx, ".", "git", args...); err != nil {
			return nil, err
		}
	}
	text, err := output(ctx, dir, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	s.time = time.Unix(seconds, 0).UTC()
	if err != nil {
		return nil, err
	}
	return s, s.licensed(ctx)
}

// licensed returns an error if the commit has a tag, and so is to be published, and has no
// licence.
func (s *source) licensed(ctx context.Context) error {
	tags, err := output(ctx, s.dir, "git", "tag", "--points-at", s.commit)
	if err != nil || tags == "" {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.dir, "LICENSE")); err != nil {
		return fmt.Errorf("%s has no file LICENSE: a release needs the licence that its owner chooses", strings.Fields(tags)[0])
	}
	return nil
}

// build builds the program for a platform and returns its file. The toolchain records
// commit and version in it, and no directory and no build id.
func (s *source) build(ctx context.Context, system, arch string) (string, error) {
	program := filepath.Join(filepath.Dir(s.dir), system+"_"+arch, "streamer")
	if system == "windows" {
		program += ".exe"
	}
	env := append(settings(), "GOOS="+system, "GOARCH="+arch)
	_, err := outputWith(ctx, s.dir, env, "go", append(command()[1:], "-o", program, "./cmd/streamer")...)
	return program, err
}

// settings returns the environment of a build: settings of the machine that change the
// program do not count.
func settings() []string {
	return []string{"CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOFLAGS=-mod=readonly"}
}

// command returns how the program is built, without the names of files.
func command() []string {
	return []string{"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid="}
}

// output runs a program in dir and returns its standard output, without the last line
// end.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	return outputWith(ctx, dir, nil, name, args...)
}

func outputWith(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.Env = dir, &errs, append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(append([]string{name}, args...), " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}

func writeFile(name string, fn func(w io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = fn(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
