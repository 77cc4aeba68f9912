package jsonscan

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// shared returns a path in the directory of recorded data and third-party
// suites, which lies beside the repository or where STREAMER_SHARED says, and
// skips the test where it is absent.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	path := testkit.Shared(elem...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no conformance data: %v (set STREAMER_SHARED to the directory that holds it)", err)
	}
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// tooDeep are the files of the suite that nest deeper than MaxDepth. The suite
// knows no limit and calls them proper prefixes; here they are Bad at the first
// bracket beyond it.
var tooDeep = map[string]int{
	"n_structure_100000_opening_arrays.json": MaxDepth,
	"n_structure_open_array_object.json":     MaxDepth / 2 * len(`[{"":`),
}

func TestScannerJSONTestSuite(t *testing.T) {
	dir := shared(t, "json", "JSONTestSuite")
	var files []struct {
		File   string
		Final  string
		Accept bool
		BadAt  *int `json:"bad_at"`
		DoneAt *int `json:"done_at"`
	}
	readJSON(t, filepath.Join(dir, "expected-incremental.json"), &files)
	if len(files) == 0 {
		t.Fatal("the suite is empty")
	}
	for _, want := range files {
		text := readFile(t, filepath.Join(dir, "test_parsing", want.File))
		status, badAt, doneAt := want.Final, orNone(want.BadAt), orNone(want.DoneAt)
		if at, ok := tooDeep[want.File]; ok {
			status, badAt = "bad", at
		}
		got := scan(text)
		if got.Status.String() != status || badOffset(got) != badAt || got.DoneAt != doneAt || got.Complete != want.Accept {
			t.Errorf("%s: %.60q: got %+v\nwant %s, bad at %d, done at %d, accepted %v",
				want.File, text, got, status, badAt, doneAt, want.Accept)
		}
		everySplit(t, text)
	}
}

func TestScannerIncrementalCases(t *testing.T) {
	dir := shared(t, "json", "JSONTestSuite")
	var cases []struct {
		Name      string
		Chunks    []string
		ChunksHex []string `json:"chunks_hex"`
		Status    []string
		Accept    bool `json:"accept_at_end"`
		BadAt     int  `json:"bad_at"`
	}
	readJSON(t, filepath.Join(dir, "incremental-cases.json"), &cases)
	if len(cases) == 0 {
		t.Fatal("there are no cases")
	}
	for _, tc := range cases {
		pieces := append(tc.Chunks, unhex(t, tc.ChunksHex)...)
		if len(pieces) != len(tc.Status) {
			t.Fatalf("%s: %d pieces but %d statuses", tc.Name, len(pieces), len(tc.Status))
		}
		var s Scanner
		for i, piece := range pieces {
			if got := s.Write(piece).String(); got != tc.Status[i] {
				t.Errorf("%s: piece %d of %q: got %s, want %s", tc.Name, i, pieces, got, tc.Status[i])
			}
		}
		if got := observe(&s); got.Complete != tc.Accept || badOffset(got) != tc.BadAt {
			t.Errorf("%s: %q: got %+v, want accepted %v, bad at %d", tc.Name, pieces, got, tc.Accept, tc.BadAt)
		}
		everySplit(t, strings.Join(pieces, ""))
	}
}

// The names of this older suite say what to expect, save of two files which it
// excludes itself: they are valid by RFC 8259.
func TestScannerJSONChecker(t *testing.T) {
	dir := shared(t, "json", "jsonchecker")
	paths, err := filepath.Glob(filepath.Join(dir, "data", "*", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, path := range paths {
		name, text := filepath.Base(path), readFile(t, path)
		want := !strings.HasPrefix(name, "fail") || strings.Contains(name, "_EXCLUDE")
		if got := scan(text); got.Complete != want {
			t.Errorf("%s: %.60q: got %+v, want accepted %v", name, text, got, want)
		}
		everySplit(t, text)
	}
}

func orNone(offset *int) int {
	if offset == nil {
		return -1
	}
	return *offset
}

func badOffset(s seen) int {
	if s.Status != Bad {
		return -1
	}
	return s.Offset
}

func unhex(t *testing.T, pieces []string) []string {
	t.Helper()
	var out []string
	for _, piece := range pieces {
		b, err := hex.DecodeString(piece)
		if err != nil {
			t.Fatalf("%q: %v", piece, err)
		}
		out = append(out, string(b))
	}
	return out
}
