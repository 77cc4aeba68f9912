package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

type directory string

func (d directory) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

func (d directory) list(_ context.Context, since string, fn func(name string)) error {
	days, err := os.ReadDir(string(d))
	if errors.Is(err, os.ErrNotExist) {
		return nil // the first file creates it
	}
	for _, day := range days {
		if day.Name() < since || !day.IsDir() {
			continue
		}
		files, err := os.ReadDir(d.path(day.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			fn(day.Name() + "/" + f.Name())
		}
	}
	return err
}

// put renames a file that is complete and on the disk.
func (d directory) put(_ context.Context, name string, content []byte) error {
	file := d.path(name)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

func (d directory) open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

func (d directory) remove(_ context.Context, name string) error { return os.Remove(d.path(name)) }

// bucket is a bucket of S3. Names are below prefix.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

// openBucket returns the bucket of bucket/prefix. The endpoint, the region and the
// credentials come from the variables of AWS, the latter also from its files and services.
func openBucket(place string, env func(string) string) (*bucket, error) {
	name, prefix, _ := strings.Cut(place, "/")
	endpoint := cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || name == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("need s3://bucket/prefix, and in AWS_ENDPOINT_URL_S3 a URL such as https://s3.example.com, not %q", endpoint)
	}
	c, err := minio.New(u.Host, &minio.Options{
		Secure: u.Scheme == "https",
		Region: cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION")),
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
	})
	return &bucket{c, name, prefix}, err
}

func (b *bucket) key(name string) string { return path.Join(b.prefix, name) }

func (b *bucket) list(ctx context.Context, since string, fn func(name string)) error {
	o := minio.ListObjectsOptions{Recursive: true, StartAfter: b.key(since)}
	if b.prefix != "" {
		o.Prefix = path.Clean(b.prefix) + "/"
	}
	for object := range b.client.ListObjectsIter(ctx, b.name, o) {
		if object.Err != nil {
			return object.Err
		}
		fn(strings.TrimPrefix(object.Key, o.Prefix))
	}
	return ctx.Err()
}

func (b *bucket) put(ctx context.Context, name string, content []byte) error {
	o := minio.PutObjectOptions{ContentType: "application/gzip"}
	o.SetMatchETagExcept("*") // is never written again
	_, err := b.client.PutObject(ctx, b.name, b.key(name), bytes.NewReader(content), int64(len(content)), o)
	if minio.ToErrorResponse(err).StatusCode == http.StatusPreconditionFailed {
		return nil
	}
	return err
}

func (b *bucket) open(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
}

func (b *bucket) remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{})
}
