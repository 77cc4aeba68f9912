package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type file struct {
	name       string // of a directory with a slash at its end
	body       []byte
	executable bool
	owner      int // in a tar archive
}

func (f *file) mode() fs.FileMode {
	if f.executable || f.isDir() {
		return 0o755
	}
	return 0o644
}

func (f *file) isDir() bool { return strings.HasSuffix(f.name, "/") }

// packTar writes the files to a compressed tar archive. Their time is at.
func packTar(w io.Writer, files []file, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		if err := add(t, f, at); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func add(t *tar.Writer, f file, at time.Time) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode()), Uid: f.owner, Gid: f.owner, Size: int64(len(f.body)), ModTime: at, Format: tar.FormatUSTAR}
	if f.isDir() {
		h.Typeflag = tar.TypeDir
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(f.body)
	return err
}

// packZip writes the files to a zip archive. Their time is at.
func packZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(f.mode())
		part, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := part.Write(f.body); err != nil {
			return err
		}
	}
	return z.Close()
}

// checksums is the name of the file that `sha256sum --check` reads.
const checksums = "SHA256SUMS"

func writeChecksums(dir string, files []string) error {
	return writeFile(filepath.Join(dir, checksums), func(w io.Writer) error {
		for _, name := range slices.Sorted(slices.Values(files)) {
			body, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(body), name); err != nil {
				return err
			}
		}
		return nil
	})
}
