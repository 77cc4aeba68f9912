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

// provenance is the name of the file that states how the others were built.
const provenance = "provenance.intoto.json"

// writeProvenance writes how files in a directory were built, as an in-toto statement of
// SLSA 1.0 (https://slsa.dev/spec/v1.0/provenance). Without a time and the id of a run, it is
// the same each time.
func (s *source) writeProvenance(ctx context.Context, dir, builder string, platforms, files []string) error {
	version, err := output(ctx, s.dir, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	type object map[string]any
	var subjects []object
	for _, name := range slices.Sorted(slices.Values(files)) {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		subjects = append(subjects, object{"name": name, "digest": object{"sha256": hex.EncodeToString(sum[:])}})
	}
	return writeFile(filepath.Join(dir, provenance), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(object{
			"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
			"predicate": object{
				"buildDefinition": object{
					"buildType":            "urn:streamer:release:1",
					"externalParameters":   object{"commit": s.commit, "platforms": platforms},
					"internalParameters":   object{"goVersion": version, "command": strings.Join(slices.Concat(settings(), command()), " ")},
					"resolvedDependencies": []object{{"name": "source", "digest": object{"gitCommit": s.commit}}},
				},
				"runDetails": object{"builder": object{"id": builder}},
			},
		})
	})
}
