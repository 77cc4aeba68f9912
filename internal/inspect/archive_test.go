package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// archived runs Archive and returns the names of the new files.
func archived(t *testing.T, b *client.Broker, dir string, all bool) []string {
	t.Helper()
	var out strings.Builder
	if err := Archive(brokertest.Deadline(t), b, &out, ArchiveOptions{To: dir, All: all}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, fmt.Sprintf("new files: %d, ", len(lines)-1)) {
		t.Errorf("the last line is %q", last)
	}
	return lines[:len(lines)-1]
}

// TestArchive: an archive has what export writes, each event once, however often the
// command runs.
func TestArchive(t *testing.T) {
	t.Parallel()
	b, dir := serving(t), t.TempDir()
	const large = 100_000
	begin(t, b, "a b", large)
	publish(t, b, "a b", inputs.Result, `{"tool_call_id":"call_a","content":"done"}`)
	begin(t, b, "open", 1)
	await(t, b, "a b", events.ToolCallResult)
	await(t, b, "open", events.ToolCallArgsComplete)
	var first []string
	testkit.Until(t, "the session is archived", func() error {
		if first = archived(t, b, dir, false); len(first) != 1 || !strings.Contains(first[0], "/a=20b.") {
			return fmt.Errorf("got the files %v", first)
		}
		return nil
	})
	sameAsExport(t, b, dir, "a b")
	if again := archived(t, b, dir, false); len(again) > 0 {
		t.Errorf("a second run wrote %v", again)
	}
	publish(t, b, "a b", inputs.Result, `{"tool_call_id":"call_b","content":"unknown"}`)
	await(t, b, "a b", events.OrphanResult)
	if more := archived(t, b, dir, true); len(more) != 2 || !strings.Contains(strings.Join(more, " "), "/open.") {
		t.Errorf("a run with --all wrote %v", more)
	}
	sameAsExport(t, b, dir, "a b")
	sameAsExport(t, b, dir, "open")
	if err := os.Remove(filepath.Join(dir, first[0])); err != nil {
		t.Fatal(err)
	}
	if again := archived(t, b, dir, true); len(again) > 0 {
		t.Errorf("after the loss of an old file it wrote %v", again)
	}
	printed(t, dir)
}

// TestArchiveErased: the archive of a session ends with its erasure, also if nothing follows.
// A session that has no archive gets none.
func TestArchiveErased(t *testing.T) {
	t.Parallel()
	b, dir := serving(t), t.TempDir()
	for _, session := range []string{"archived", "other"} {
		begin(t, b, session, 1)
		publish(t, b, session, inputs.Result, `{"tool_call_id":"call_a","content":"done"}`)
		await(t, b, session, events.ToolCallResult)
		if session == "archived" {
			testkit.UntilTrue(t, "the session is archived", func() bool { return len(archived(t, b, dir, true)) == 1 })
		}
	}
	for _, session := range []string{"archived", "other"} {
		if _, err := b.Erase(brokertest.Deadline(t), session); err != nil {
			t.Fatal(err)
		}
	}
	if files := archived(t, b, dir, true); len(files) != 1 || !strings.Contains(files[0], "/archived.") {
		t.Errorf("wrote %v", files)
	}
	var got strings.Builder
	if err := WriteArchived(t.Context(), dir, Output{W: &got, JSON: true}, "archived", nil); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `"type":"session_erased"`) || len(lines) < 5 {
		t.Errorf("the archive has %d lines and ends with %s", len(lines), last)
	}
	if again := archived(t, b, dir, true); len(again) > 0 {
		t.Errorf("a second run wrote %v", again)
	}
}

// sameAsExport compares the archive of a session with its export.
func sameAsExport(t *testing.T, b *client.Broker, dir, session string) {
	t.Helper()
	var got, want strings.Builder
	_, err := Export(brokertest.Deadline(t), b, &want, session, true, nil)
	if err = errors.Join(err, WriteArchived(t.Context(), dir, Output{W: &got, JSON: true}, session, nil)); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("the archive of session %s has %d bytes, %d are exported:\n%.2000s\n%.2000s", session, got.Len(), want.Len(), &got, &want)
	}
}

// printed checks what events --from prints of an archive, of one file, and of what is none.
func printed(t *testing.T, dir string) {
	t.Helper()
	var all, one strings.Builder
	if err := WriteArchived(t.Context(), dir, Output{W: &all}, "", []string{"orphan_result", "tool_call_start"}); err != nil {
		t.Error(err)
	}
	check(t, "all", all.String(), []string{"tool_call_start  ", "orphan_result  call_b"}, []string{"args_complete", "\x1b"})
	files, err := fs.Glob(os.DirFS(dir), "*/open.*")
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	file := filepath.Join(dir, files[0])
	if err := WriteArchived(t.Context(), file, Output{W: &one}, "", nil); err != nil {
		t.Error(err)
	}
	check(t, "one file", one.String(), []string{"tool_call_args_complete"}, []string{"orphan_result"})
	for place, want := range map[string]string{dir: "no event of the session", filepath.Join(dir, "absent"): "no such file"} {
		if err := WriteArchived(t.Context(), place, Output{W: &one}, "other", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", place, err, want)
		}
	}
}
