package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// provenance is the name of the file that states how the others were built.
	provenance = "provenance.intoto.json"
	buildType  = "urn:streamer:release:1"
	noBuilder  = "urn:streamer:builder:unnamed"
)

// statement is an in-toto statement with a provenance of SLSA 1.0
// (https://slsa.dev/spec/v1.0/provenance). It has no times and no id of a run, which would
// make it another one each time.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []artifact `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     struct {
		BuildDefinition struct {
			BuildType            string             `json:"buildType"`
			ExternalParameters   externalParameters `json:"externalParameters"`
			InternalParameters   internalParameters `json:"internalParameters"`
			ResolvedDependencies []artifact         `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		RunDetails struct {
			Builder builder `json:"builder"`
		} `json:"runDetails"`
	} `json:"predicate"`
}

type artifact struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type externalParameters struct {
	Commit    string   `json:"commit"`
	Platforms []string `json:"platforms"`
}

type internalParameters struct {
	GoVersion string `json:"goVersion"`
	Command   string `json:"command"` // for each platform, besides GOOS, GOARCH and the name of the program
}

type builder struct {
	ID string `json:"id"`
}

// writeProvenance writes how files in a directory were built.
func (s *source) writeProvenance(ctx context.Context, dir, builderID string, platforms, files []string) error {
	version, err := output(ctx, s.dir, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	st := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range slices.Sorted(slices.Values(files)) {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		st.Subject = append(st.Subject, artifact{name, map[string]string{"sha256": hex.EncodeToString(sum[:])}})
	}
	d := &st.Predicate.BuildDefinition
	d.BuildType = buildType
	d.ExternalParameters = externalParameters{s.commit, platforms}
	d.InternalParameters = internalParameters{version, strings.Join(slices.Concat(settings(), command()), " ")}
	d.ResolvedDependencies = []artifact{{"source", map[string]string{"gitCommit": s.commit}}}
	st.Predicate.RunDetails.Builder.ID = builderID
	return writeFile(filepath.Join(dir, provenance), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(st)
	})
}
