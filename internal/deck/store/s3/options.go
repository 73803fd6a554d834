// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// The options of s3 URLs. None holds a secret: credentials come from the
// environment, the shared file of the AWS tools or the role of the machine.
const (
	optionEndpoint     = "endpoint"
	optionRegion       = "region"
	optionPathStyle    = "use_path_style"
	optionAnonymous    = "anonymous"
	optionProfile      = "profile"
	optionStorageClass = "storage_class"
	optionSSE          = "sse"
	optionKMSKeyID     = "kms_key_id"
	optionMaxRetries   = "max_retries"
)

// open opens s3://bucket/prefix?options. It does not talk to the service.
func open(_ context.Context, u *url.URL) (deck.Store, error) {
	known := []string{optionEndpoint, optionRegion, optionPathStyle, optionAnonymous, optionProfile, optionStorageClass, optionSSE, optionKMSKeyID, optionMaxRetries}
	if err := deck.CheckOptions(u, known); err != nil {
		return nil, err
	}
	if s3utils.CheckValidBucketName(u.Host) != nil {
		return nil, deck.BadURL(scheme, "s3 URLs are s3://bucket/prefix with a valid bucket name")
	}
	q := u.Query()
	host, secure, err := address(q.Get(optionEndpoint))
	if err != nil {
		return nil, err
	}
	pathStyle, err := deck.BoolOption(u, optionPathStyle, false)
	if err != nil {
		return nil, err
	}
	anonymous, err := deck.BoolOption(u, optionAnonymous, false)
	if err != nil {
		return nil, err
	}
	retries := 3
	if text := q.Get(optionMaxRetries); text != "" {
		if retries, err = strconv.Atoi(text); err != nil || retries < 0 || retries > 100 {
			return nil, deck.BadURL(scheme, "option "+optionMaxRetries+" is a number from 0 to 100")
		}
	}
	sse, err := encryption(q.Get(optionSSE), q.Get(optionKMSKeyID))
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if pathStyle {
		lookup = minio.BucketLookupPath
	}
	transport := newTransport(secure)
	client, err := minio.New(host, &minio.Options{
		Creds:        credentialChain(anonymous, q.Get(optionProfile), q.Get(optionEndpoint) == ""),
		Secure:       secure,
		Transport:    transport,
		Region:       firstNonEmpty(q.Get(optionRegion), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		BucketLookup: lookup,
		MaxRetries:   retries + 1, // minio-go counts attempts
	})
	if err != nil {
		return nil, deck.BadURL(scheme, "the endpoint is not valid")
	}
	s := &store{
		core:      minio.Core{Client: client},
		transport: transport,
		bucket:    u.Host,
		signs:     !secure,
		put:       minio.PutObjectOptions{StorageClass: q.Get(optionStorageClass), ServerSideEncryption: sse},
	}
	return deck.WithPrefix(s, u.Path)
}

// address splits an endpoint into the host and whether TLS is spoken. An
// endpoint without a scheme speaks TLS.
func address(endpoint string) (host string, secure bool, err error) {
	if endpoint == "" {
		return "s3.amazonaws.com", true, nil
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" {
		e, err = url.Parse("https://" + endpoint)
	}
	switch {
	case err != nil || e.Host == "" || e.User != nil || e.RawQuery != "" || e.Fragment != "" || (e.Path != "" && e.Path != "/"):
		return "", false, deck.BadURL(scheme, "option "+optionEndpoint+" is http://host:port or https://host:port")
	case e.Scheme != "http" && e.Scheme != "https":
		return "", false, deck.BadURL(scheme, "option "+optionEndpoint+" begins with http:// or https://")
	}
	return e.Host, e.Scheme == "https", nil
}

// credentialChain asks the environment, then the shared credentials file, then
// the role of the machine. The role is asked only for AWS itself, or when the
// environment names one. So a private service without credentials fails at once
// and not after the time-outs of a metadata address.
func credentialChain(anonymous bool, profile string, aws bool) *credentials.Credentials {
	if anonymous {
		return credentials.NewStaticV4("", "", "")
	}
	var chain []credentials.Provider
	if profile == "" { // a named profile is meant, whatever the environment has
		chain = append(chain, &credentials.EnvAWS{})
	}
	chain = append(chain, &credentials.FileAWSCredentials{Profile: profile})
	role := false
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		role = role || os.Getenv(name) != ""
	}
	if aws || role {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: 10 * time.Second}})
	}
	return credentials.NewChainCredentials(chain)
}

func encryption(kind, keyID string) (encrypt.ServerSide, error) {
	switch {
	case kind == "" && keyID == "":
		return nil, nil
	case kind == "AES256" && keyID == "":
		return encrypt.NewSSE(), nil
	case kind == "aws:kms":
		sse, err := encrypt.NewSSEKMS(keyID, nil)
		if err != nil {
			return nil, deck.BadURL(scheme, "option "+optionKMSKeyID+" is not valid")
		}
		return sse, nil
	}
	return nil, deck.BadURL(scheme, "option "+optionSSE+" is AES256 or aws:kms; "+optionKMSKeyID+" goes with aws:kms")
}

// newTransport never decompresses (bodies come back byte for byte) and gives up
// on a service that accepts a connection and then is silent.
func newTransport(secure bool) *http.Transport {
	t, err := minio.DefaultTransport(secure)
	if err != nil { // the system has no certificates: fails later, on use
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.DisableCompression = true
	t.MaxIdleConnsPerHost = 64
	return t
}

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
