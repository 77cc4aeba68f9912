// Command release builds the files of a release from a commit, and from nothing
// else: an archive with the program for each platform, a bill of materials beside
// each, the container image, their provenance, and checksums. It signs the last two if it
// has a key.
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
	flags.StringVar(&r.key, "key", "", "PEM `file` of an ECDSA key that signs "+checksums+" and "+provenance)
	flags.StringVar(&r.builder, "builder", "urn:streamer:builder:unnamed", "`URI` of the builder, in "+provenance)
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
	key, builder   string
	log            io.Writer
}

// program is the program for a platform.
type program struct {
	system, arch string
	file         string
	bill         *bill
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
	files, err := s.publish(ctx, r.platforms, work, output)
	if err != nil {
		return err
	}
	if err := s.writeProvenance(ctx, output, r.builder, r.platforms, files); err != nil {
		return err
	}
	files = append(files, provenance)
	if err := writeChecksums(output, files); err != nil {
		return err
	}
	files = append(files, checksums)
	if r.key != "" {
		for _, name := range []string{provenance, checksums} {
			if err := sign(r.key, filepath.Join(output, name)); err != nil {
				return err
			}
			files = append(files, name+bundleSuffix)
		}
	}
	for _, name := range files {
		fmt.Fprintln(r.log, filepath.Join(r.output, name))
	}
	return nil
}

// publish builds the programs and writes their files to output. It returns the names of
// the files. The image has the programs for Linux.
func (s *source) publish(ctx context.Context, platforms []string, work, output string) (files []string, err error) {
	var linux []*program
	for _, platform := range platforms {
		p, err := s.program(ctx, platform)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
		made, err := s.write(p, output)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
		files = append(files, made...)
		if p.system == "linux" {
			linux = append(linux, p)
		}
	}
	if len(linux) == 0 {
		return files, nil
	}
	name := "streamer_" + linux[0].bill.version + "_image.tar"
	err = writeFile(filepath.Join(output, name), func(w io.Writer) error { return s.writeImage(w, linux, filepath.Join(work, "image")) })
	return append(files, name), err
}

func (s *source) program(ctx context.Context, platform string) (*program, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("need GOOS/GOARCH")
	}
	file, err := s.build(ctx, system, arch)
	if err != nil {
		return nil, err
	}
	bill, err := readBill(ctx, s, file)
	return &program{system, arch, file, bill}, err
}

// write writes the archive of a program and its bill of materials to output, and returns
// their names.
func (s *source) write(p *program, output string) ([]string, error) {
	name := strings.Join([]string{"streamer", p.bill.version, p.system, p.arch}, "_")
	content, err := s.content(p.file, name, p.bill)
	if err != nil {
		return nil, err
	}
	archive := name + ".tar.gz"
	pack := packTar
	if p.system == "windows" {
		archive, pack = name+".zip", packZip
	}
	if err := writeFile(filepath.Join(output, archive), func(w io.Writer) error { return pack(w, content, s.time) }); err != nil {
		return nil, err
	}
	err = writeFile(filepath.Join(output, name+".cdx.json"), p.bill.write)
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
