package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// unprivileged is the user and the group of the image. The program needs no rights.
const unprivileged = 65532

// writeImage writes the image of the programs as an OCI archive, with a manifest for each
// architecture. work is a directory for its parts.
func (s *source) writeImage(w io.Writer, programs []*program, work string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := s.imageOf(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.arch}}})
	}
	dir, err := layout.Write(work, empty.Index)
	if err != nil {
		return err
	}
	version := programs[0].bill.version
	// The name under which docker and containerd load it, and the tag for other tools.
	names := map[string]string{"io.containerd.image.name": "docker.io/library/streamer:" + version, "org.opencontainers.image.ref.name": version}
	if err := dir.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	return packDir(w, work, s.time)
}

// imageOf returns the image of one program: what deploy/docker/Dockerfile describes, the
// bill of materials and the licences.
func (s *source) imageOf(p *program) (v1.Image, error) {
	body, err := os.ReadFile(p.file)
	if err != nil {
		return nil, err
	}
	var bill, packed bytes.Buffer
	if err := p.bill.write(&bill); err != nil {
		return nil, err
	}
	files := []file{
		{name: "data/", owner: unprivileged},
		{name: "etc/ssl/certs/ca-certificates.crt", body: authorities()},
		{name: "streamer", body: body, executable: true},
		{name: "usr/share/doc/streamer/LICENSES.txt", body: p.bill.texts()},
		{name: "usr/share/sbom/streamer.cdx.json", body: bill.Bytes()},
	}
	if err := packTar(&packed, files, s.time); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: s.time}, CreatedBy: "scripts/release"}})
	if err != nil {
		return nil, err
	}
	config, err := partial.ConfigFile(image)
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Created = "linux", p.arch, v1.Time{Time: s.time}
	config.Config = s.config(p.bill.version)
	return mutate.ConfigFile(image, config)
}

func (s *source) config(version string) v1.Config {
	return v1.Config{
		User:         "65532:65532",
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Env:          []string{"STREAMER_DATA_DIR=/data", "STREAMER_HTTP_LISTEN=0.0.0.0:8080", "STREAMER_LOG_FORMAT=json"},
		Entrypoint:   []string{"/streamer"},
		Cmd:          []string{"serve"},
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/streamer", "ready"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "streamer",
			"org.opencontainers.image.version":  version,
			"org.opencontainers.image.revision": s.commit,
			"org.opencontainers.image.created":  s.time.Format(time.RFC3339),
		},
	}
}

// authorities returns the certificate authorities of Mozilla as PEM. Those that it trusts
// only in part are left out, because a file cannot state the condition.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// packDir writes the files of a directory to a tar archive without compression.
func packDir(w io.Writer, dir string, at time.Time) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return add(t, file{name: filepath.ToSlash(name), body: body}, at)
	})
	if err != nil {
		return err
	}
	return t.Close()
}
