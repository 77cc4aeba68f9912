package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

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

// licencesOf returns the ids of the licences in the directory of a module, and their
// texts.
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
