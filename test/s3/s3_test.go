// Package s3_test runs `streamer archive` against a real S3 server. It is a module of its
// own, because the server has many dependencies.
package s3_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/archive"
	"streamer/internal/events"
	"streamer/test/testkit"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

const (
	key, secret = "access-key", "secret-key-of-the-test"
	bucketName  = "archive"
)

// startS3 runs an S3 server with an empty bucket, sets the variables of its clients, and
// returns one. The server changes the working directory.
func startS3(t *testing.T) *minio.Client {
	t.Helper()
	data, sidecar, address := t.TempDir(), t.TempDir(), testkit.FreePort(t)
	storer, err := meta.NewSideCar(sidecar)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := posix.New(data, storer, posix.PosixOpts{SideCarDir: sidecar})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
			RootUserAccess: key, RootUserSecret: secret, Ports: []string{address}, MaxConnections: 100, MaxRequests: 100, MultipartMaxParts: 100, Quiet: true,
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + address, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret} {
		t.Setenv(name, value)
	}
	testkit.Until(t, "the S3 server listens", func() error {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	client, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""), Region: "us-east-1"})
	if err == nil {
		err = client.MakeBucket(t.Context(), bucketName, minio.MakeBucketOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestCommands: archive writes what export prints, once, and events --from prints it.
func TestCommands(t *testing.T) {
	data, program := t.TempDir(), filepath.Join(t.TempDir(), "streamer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", program, "./cmd/streamer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testkit.StartCommand(t, exec.Command(program, "serve", "--data-dir", data, "--http-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")).Page()
	client := startS3(t)
	streamer := func(stdin string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdin, cmd.Env = strings.NewReader(stdin), append(os.Environ(), "STREAMER_DATA_DIR="+data)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("streamer %v: %w: %s", args, err, &errs)
		}
		return string(out), err
	}
	must := func(stdin string, args ...string) string {
		t.Helper()
		out, err := streamer(stdin, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const call = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
{"at":0,"kind":"result","data":{"tool_call_id":"call_a","content":"done"}}
`
	must(call, "replay", "--session", "s 1", "-")
	to := "s3://" + bucketName + "/some/prefix/"
	var file string
	testkit.Until(t, "the session is archived", func() error {
		out := must("", "archive", "--to", to, "--idle", "0s")
		if !strings.Contains(out, "new files: 1, ") {
			return fmt.Errorf("got %s", out)
		}
		file, _, _ = strings.Cut(out, "\n")
		return nil
	})
	if got := must("", "archive", "--to", to, "--idle", "0s"); !strings.HasPrefix(got, "new files: 0, ") {
		t.Errorf("a second run printed %s", got)
	}
	if got, want := must("", "events", "s 1", "--from", to, "--json"), must("", "export", "s 1", "--values"); got != want {
		t.Errorf("the archive has\n%s\nexport prints\n%s", got, want)
	}
	object := "some/prefix/" + file
	if err := client.FGetObject(t.Context(), bucketName, object, filepath.Join(data, filepath.Base(file)), minio.GetObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := must("", "events", "--from", filepath.Join(data, filepath.Base(file)), "--type", "tool_call_result"); !strings.Contains(got, "f  completed") {
		t.Errorf("the downloaded file has %q", got)
	}
	if _, err := client.PutObject(t.Context(), bucketName, object, strings.NewReader(`{"type":"end"}`+"\n"), 15, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, err := streamer("", "events", "--from", to, "--json"); err == nil || !strings.Contains(err.Error(), file+": damaged: 1 lines") {
		t.Errorf("a damaged object: got %q, error %v", out, err)
	}
	if _, err := streamer("", "archive", "--to", "s3://absent/prefix"); err == nil || !strings.Contains(err.Error(), "archive: s3://absent/prefix: The specified bucket does not exist") {
		t.Errorf("no bucket: got error %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	if _, err := streamer("", "archive", "--to", to); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("a wrong key: got error %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	list(t)
}

// list writes files of several days to the root of a bucket, one of them twice, and lists
// a part of them.
func list(t *testing.T) {
	t.Helper()
	a, err := archive.Open("s3://" + bucketName)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []int{1, 2, 2, 3} {
		p := archive.NewPart("t")
		if err := p.Add(&events.Event{EventID: events.ID{Seq: 1}, Timestamp: events.Time(time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC).UnixMilli())}, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	files, err := a.Files(t.Context(), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), "t")
	if err != nil || len(files) != 2 || files[0].Last.UTC().Day() != 2 {
		t.Errorf("got %v, error %v, want those of the second and the third day", files, err)
	}
}
