package tap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"streamer/internal/patch"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// HeaderRepair is the header of an answer that says how the request was repaired: the
// changes and the ids of their calls.
const HeaderRepair = "Streamer-Repair"

// Bounds of a request that is read as a whole before it is sent, to repair or to sign it, in
// bytes.
const (
	maxBody    = 32 << 20
	maxChunked = 8 << 20 // if the client does not announce its length
)

// prepare changes a request as the options say. It returns why the request cannot be
// passed on, "" if it can.
func (x *exchange) prepare(r *http.Request) string {
	scope, signed := awsScope(r)
	foreign := signed && r.Host != x.up.URL.Host // signed for another host than that which will read it
	if foreign && x.tap.opts.AWS == nil {
		return "the request is signed for " + r.Host + " with AWS SigV4, and " + x.up.URL.Host + " would refuse it: sign for that host, use a bearer key (AWS_BEARER_TOKEN_BEDROCK), or start streamer with --tap-aws, which signs with its own credentials"
	}
	repairs := x.tap.opts.Repair && x.endpoint != nil && r.Body != http.NoBody && r.Header.Get("Content-Encoding") == "" &&
		slices.Contains(patch.Repairable(), patch.Shape(x.endpoint.shape))
	if !repairs && !foreign {
		return ""
	}
	most := int(min(r.ContentLength, maxBody+1))
	if r.ContentLength < 0 {
		most = maxChunked
	}
	if most > maxBody || !reserve(&x.tap.memory, perByte*most) {
		if foreign {
			return "the body is too large to sign: there is no memory for it"
		}
		x.repairs = "none: there is no memory for the body"
		return ""
	}
	x.reserved += perByte * most
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	if err != nil {
		return "the body is incomplete"
	}
	if len(body) > most {
		if foreign {
			return fmt.Sprintf("the body has more than %d bytes, too many to sign without their number", most)
		}
		r.Body = &joined{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		return ""
	}
	if repairs {
		body = x.repair(body, signed && !foreign)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.ContentLength >= 0 {
		r.ContentLength = int64(len(body))
		r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	}
	if foreign {
		x.resign = x.signer(scope, body)
	}
	return ""
}

// joined is a body of which the beginning was read.
type joined struct {
	io.Reader
	io.Closer
}

// repair returns the body with a history that the upstream accepts.
func (x *exchange) repair(body []byte, signed bool) []byte {
	done, err := patch.Repair(patch.Shape(x.endpoint.shape), body, patch.Options{})
	if err != nil || !done.Report.Patched {
		return body
	}
	if signed {
		x.repairs = "none: the body is signed"
		return body
	}
	for _, op := range done.Report.Ops {
		if len(x.repairs) < 1<<10 {
			x.repairs += ", " + strings.TrimSpace(op.Op+" "+printable(op.ID))
		}
	}
	x.repairs = strings.TrimPrefix(x.repairs, ", ")
	return done.History
}

// printable returns an id as it may be in a header.
func printable(id string) string {
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' || c == ',' {
			return -1
		}
		return c
	}, id[:min(len(id), 64)])
}

// scopePattern finds the region and the service that a request is signed for:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
var scopePattern = regexp.MustCompile(`^AWS4-HMAC-SHA256 .*Credential=[^/]+/[0-9]+/([^/]+)/([^/]+)/aws4_request`)

// awsScope returns the region and service of a request with a signature of AWS.
func awsScope(r *http.Request) (scope [2]string, signed bool) {
	m := scopePattern.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return scope, false
	}
	return [2]string{m[1], m[2]}, true
}

// signer returns a function that signs the outgoing request with the credentials of the
// tap.
func (x *exchange) signer(scope [2]string, body []byte) func(*http.Request) error {
	digest := sha256.Sum256(body)
	return func(out *http.Request) error {
		for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256"} {
			out.Header.Del(name)
		}
		credentials, err := x.tap.opts.AWS.Retrieve(out.Context())
		if err != nil {
			return err
		}
		return v4.NewSigner().SignHTTP(out.Context(), credentials, out, hex.EncodeToString(digest[:]), scope[1], scope[0], time.Now())
	}
}

// Static returns credentials of AWS that do not change.
func Static(id, secret, token string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}, nil
	})
}
