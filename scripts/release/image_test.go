package main

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImage loads the image of two small programs and inspects it.
func TestImage(t *testing.T) {
	s := &source{commit: "0123abc", time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	var programs []*program
	for _, arch := range slices.Sorted(maps.Keys(machines)) {
		b := &bill{version: "v1.2.3", hash: "abc", modules: []module{{path: "std", version: "1.26", licences: []string{"BSD-3-Clause"}, text: "licence of Go"}}}
		programs = append(programs, &program{"linux", arch, compile(t, arch), b})
	}
	archive := imageOf(t, s, programs)
	if !bytes.Equal(archive, imageOf(t, s, programs)) {
		t.Error("two images of the same programs differ")
	}
	index := load(t, archive)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(manifest.Manifests); n != len(machines) {
		t.Errorf("the image has %d platforms", n)
	}
	for _, d := range manifest.Manifests {
		t.Run(d.Platform.Architecture, func(t *testing.T) {
			image, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if config.Architecture != d.Platform.Architecture || config.OS != "linux" || !config.Created.Equal(s.time) {
				t.Errorf("%s: config of %s/%s at %s", d.Platform, config.OS, config.Architecture, config.Created)
			}
			checkConfig(t, &config.Config)
			checkFiles(t, image, machines[config.Architecture])
		})
	}
}

// checkConfig checks that the image runs without rights, and as deploy/docker/Dockerfile
// describes.
func checkConfig(t *testing.T, c *v1.Config) {
	t.Helper()
	dockerfile, err := os.ReadFile("../../deploy/docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	entrypoint, _ := json.Marshal(c.Entrypoint)
	command, _ := json.Marshal(c.Cmd)
	lines := append([]string{"USER " + c.User, "VOLUME /data", "EXPOSE 8080", "ENTRYPOINT " + string(entrypoint), "CMD " + string(command)}, c.Env...)
	for _, line := range lines {
		if !strings.Contains(string(dockerfile), line) {
			t.Errorf("the Dockerfile has no %s", line)
		}
	}
	if c.User != "65532:65532" || len(c.Shell) > 0 || c.Healthcheck.Test[0] != "CMD" {
		t.Errorf("user %s, shell %v, health check %v", c.User, c.Shell, c.Healthcheck)
	}
	want := map[string]string{"title": "streamer", "version": "v1.2.3", "revision": "0123abc", "created": "2026-01-02T03:04:05Z"}
	for name, value := range want {
		if got := c.Labels["org.opencontainers.image."+name]; got != value {
			t.Errorf("label %s: got %q, want %q", name, got, value)
		}
	}
}

// checkFiles checks that the image has these files only, and thus no shell.
func checkFiles(t *testing.T, image v1.Image, machine elf.Machine) {
	t.Helper()
	got := map[string]string{}
	bodies := map[string][]byte{}
	stream := mutate.Extract(image)
	defer stream.Close()
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if bodies[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		got[strings.TrimSuffix(h.Name, "/")] = fmt.Sprintf("%s %d:%d", h.FileInfo().Mode(), h.Uid, h.Gid)
	}
	want := map[string]string{
		"data":                                "drwxr-xr-x 65532:65532",
		"etc/ssl/certs/ca-certificates.crt":   "-rw-r--r-- 0:0",
		"streamer":                            "-rwxr-xr-x 0:0",
		"usr/share/doc/streamer/LICENSES.txt": "-rw-r--r-- 0:0",
		"usr/share/sbom/streamer.cdx.json":    "-rw-r--r-- 0:0",
	}
	if !maps.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	program, err := elf.NewFile(bytes.NewReader(bodies["streamer"]))
	if err != nil || program.Machine != machine {
		t.Errorf("program %v, error %v, want machine %s", program, err, machine)
	}
	var sbom struct {
		Format     string `json:"bomFormat"`
		Components []any  `json:"components"`
	}
	if err := json.Unmarshal(bodies["usr/share/sbom/streamer.cdx.json"], &sbom); err != nil || sbom.Format != "CycloneDX" || len(sbom.Components) != 1 {
		t.Errorf("bill of materials %+v, error %v", sbom, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(bodies["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("no certificate authorities")
	}
}

// compile compiles a program that does nothing.
func compile(t *testing.T, arch string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", "program", "main.go")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "program")
}

func imageOf(t *testing.T, s *source, programs []*program) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.writeImage(&out, programs, filepath.Join(t.TempDir(), "image")); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// load unpacks an OCI archive, checks its digests, and returns the index of its image.
func load(t *testing.T, archive []byte) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	for _, f := range unpackTar(t, bytes.NewReader(archive)) {
		name := filepath.Join(dir, f.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, f.body, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Fatal(err)
	}
	manifest, err := all.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("got %v, error %v", manifest, err)
	}
	if got := manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != "v1.2.3" {
		t.Errorf("the image has the tag %q", got)
	}
	index, err := all.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// TestSign: the signature is the one that cosign verifies, ECDSA of the SHA-256 of the
// file.
func TestSign(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var signatures []string
	for kind, body := range map[string][]byte{"EC PRIVATE KEY": sec1, "PRIVATE KEY": pkcs8} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			file, keyFile := filepath.Join(dir, checksums), filepath.Join(dir, "key")
			if err := errors.Join(os.WriteFile(file, []byte("sums\n"), 0o600), os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body}), 0o600)); err != nil {
				t.Fatal(err)
			}
			if err := sign(keyFile, file); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file + bundleSuffix)
			if err != nil {
				t.Fatal(err)
			}
			var bundle struct {
				MessageSignature struct {
					MessageDigest struct{ Digest []byte }
					Signature     []byte
				}
			}
			sum := sha256.Sum256([]byte("sums\n"))
			if err := json.Unmarshal(text, &bundle); err != nil || !bytes.Equal(bundle.MessageSignature.MessageDigest.Digest, sum[:]) || !ecdsa.VerifyASN1(&key.PublicKey, sum[:], bundle.MessageSignature.Signature) {
				t.Errorf("signature %s does not verify, error %v", text, err)
			}
			signatures = append(signatures, string(text))
		})
	}
	if len(slices.Compact(signatures)) != 1 {
		t.Errorf("the same key gives different signatures: %v", signatures)
	}
	for _, text := range []string{"", "text", string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY"}))} {
		if _, err := parseKey([]byte(text)); err == nil || !strings.Contains(err.Error(), "need an ECDSA private key") {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}
