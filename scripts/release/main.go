// Command release builds the files of a release from a commit, and from nothing
// else: an archive with the program for each platform, a bill of materials beside
// each, checksums, and the container image where docker runs.
//
// The files depend only on the commit, its tags and the version of Go. They are the
// same, byte for byte, on any machine and in any directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

const platforms = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := release{log: os.Stdout}
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	flags.StringVar(&r.output, "output", "dist", "`directory` of the files; it must be empty or absent")
	flags.StringVar(&r.commit, "commit", "HEAD", "`commit` or tag to build; changes that are not committed are left out")
	list := flags.String("platforms", platforms, "`list` of platforms, separated by spaces")
	flags.BoolVar(&r.image, "image", true, "build the container image if docker runs")
	_ = flags.Parse(os.Args[1:]) // ExitOnError: it does not return an error
	r.platforms = strings.Fields(*list)
	if err := r.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

type release struct {
	output, commit string
	platforms      []string // GOOS/GOARCH
	image          bool
	log            io.Writer
}

func (r *release) run(ctx context.Context) error {
	if found, err := os.ReadDir(r.output); err == nil && len(found) > 0 {
		return fmt.Errorf("--output %s is not empty: remove it, or take another directory", r.output)
	}
	output, err := filepath.Abs(r.output)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	s, err := checkOut(ctx, filepath.Join(work, "source"), r.commit)
	if err != nil {
		return err
	}
	var files []string
	for _, platform := range r.platforms {
		made, err := s.release(ctx, platform, output)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		for _, name := range made {
			fmt.Fprintln(r.log, filepath.Join(r.output, name))
		}
		files = append(files, made...)
	}
	if err := writeChecksums(output, files); err != nil {
		return err
	}
	fmt.Fprintln(r.log, filepath.Join(r.output, checksums))
	if r.image {
		return s.image(ctx, r.log)
	}
	return nil
}

// release builds the program for a platform. It returns the names of the files that
// it wrote to output.
func (s *source) release(ctx context.Context, platform, output string) ([]string, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("need GOOS/GOARCH")
	}
	program, err := s.build(ctx, system, arch)
	if err != nil {
		return nil, err
	}
	bill, err := readBill(ctx, s, program)
	if err != nil {
		return nil, err
	}
	name := strings.Join([]string{"streamer", bill.version, system, arch}, "_")
	content, err := s.content(program, name, bill)
	if err != nil {
		return nil, err
	}
	archive := name + ".tar.gz"
	pack := packTar
	if system == "windows" {
		archive, pack = name+".zip", packZip
	}
	if err := writeFile(filepath.Join(output, archive), func(w io.Writer) error { return pack(w, content, s.time) }); err != nil {
		return nil, err
	}
	err = writeFile(filepath.Join(output, name+".cdx.json"), bill.write)
	return []string{archive, name + ".cdx.json"}, err
}

func (s *source) content(program, name string, b *bill) ([]file, error) {
	body, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	list := []file{{name: name + "/" + filepath.Base(program), body: body, executable: true}}
	for _, doc := range []string{"CHANGELOG.md", "README.md", "docs/events.schema.json"} {
		if body, err = os.ReadFile(filepath.Join(s.dir, doc)); err != nil {
			return nil, err
		}
		list = append(list, file{name: name + "/" + filepath.Base(doc), body: body})
	}
	return append(list, file{name: name + "/LICENSES.txt", body: b.texts()}), nil
}
