// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

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
)

// The options of s3 URLs. None holds a secret: credentials come from the
// environment, the shared file of the AWS tools or the role of the machine.
const (
	s3Endpoint     = "endpoint"
	s3Region       = "region"
	s3PathStyle    = "use_path_style"
	s3Anonymous    = "anonymous"
	s3Profile      = "profile"
	s3StorageClass = "storage_class"
	s3SSE          = "sse"
	s3KMSKeyID     = "kms_key_id"
	s3MaxRetries   = "max_retries"
)

// openS3 opens s3://bucket/prefix?options. It does not talk to the service.
func openS3(_ context.Context, u *url.URL) (Store, error) {
	known := []string{s3Endpoint, s3Region, s3PathStyle, s3Anonymous, s3Profile, s3StorageClass, s3SSE, s3KMSKeyID, s3MaxRetries}
	if err := CheckOptions(u, known); err != nil {
		return nil, err
	}
	if s3utils.CheckValidBucketName(u.Host) != nil {
		return nil, badURL("s3", "s3 URLs are s3://bucket/prefix with a valid bucket name")
	}
	q := u.Query()
	host, secure, err := s3Address(q.Get(s3Endpoint))
	if err != nil {
		return nil, err
	}
	pathStyle, err := boolOption(u, s3PathStyle, false)
	if err != nil {
		return nil, err
	}
	anonymous, err := boolOption(u, s3Anonymous, false)
	if err != nil {
		return nil, err
	}
	retries := 3
	if text := q.Get(s3MaxRetries); text != "" {
		if retries, err = strconv.Atoi(text); err != nil || retries < 0 || retries > 100 {
			return nil, badURL("s3", "option "+s3MaxRetries+" is a number from 0 to 100")
		}
	}
	sse, err := s3Encryption(q.Get(s3SSE), q.Get(s3KMSKeyID))
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if pathStyle {
		lookup = minio.BucketLookupPath
	}
	transport := s3Transport(secure)
	client, err := minio.New(host, &minio.Options{
		Creds:        s3Credentials(anonymous, q.Get(s3Profile), q.Get(s3Endpoint) == ""),
		Secure:       secure,
		Transport:    transport,
		Region:       firstNonEmpty(q.Get(s3Region), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		BucketLookup: lookup,
		MaxRetries:   retries + 1, // minio-go counts attempts
	})
	if err != nil {
		return nil, badURL("s3", "the endpoint is not valid")
	}
	store := &s3Store{
		core:      minio.Core{Client: client},
		transport: transport,
		bucket:    u.Host,
		put:       minio.PutObjectOptions{StorageClass: q.Get(s3StorageClass), ServerSideEncryption: sse},
	}
	return WithPrefix(store, u.Path)
}

// s3Address splits an endpoint into host and whether TLS is spoken. Without a
// scheme it is TLS.
func s3Address(endpoint string) (host string, secure bool, err error) {
	if endpoint == "" {
		return "s3.amazonaws.com", true, nil
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" {
		e, err = url.Parse("https://" + endpoint)
	}
	switch {
	case err != nil || e.Host == "" || e.User != nil || e.RawQuery != "" || e.Fragment != "" || (e.Path != "" && e.Path != "/"):
		return "", false, badURL("s3", "option "+s3Endpoint+" is http://host:port or https://host:port")
	case e.Scheme != "http" && e.Scheme != "https":
		return "", false, badURL("s3", "option "+s3Endpoint+" begins with http:// or https://")
	}
	return e.Host, e.Scheme == "https", nil
}

// s3Credentials asks the environment, then the shared credentials file, then
// the role of the machine. The role is asked only for AWS itself, or when the
// environment names one, so that a private service without credentials fails
// at once and not after the time-outs of a metadata address.
func s3Credentials(anonymous bool, profile string, aws bool) *credentials.Credentials {
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

func s3Encryption(kind, keyID string) (encrypt.ServerSide, error) {
	switch {
	case kind == "" && keyID == "":
		return nil, nil
	case kind == "AES256" && keyID == "":
		return encrypt.NewSSE(), nil
	case kind == "aws:kms":
		sse, err := encrypt.NewSSEKMS(keyID, nil)
		if err != nil {
			return nil, badURL("s3", "option "+s3KMSKeyID+" is not valid")
		}
		return sse, nil
	}
	return nil, badURL("s3", "option "+s3SSE+" is AES256 or aws:kms; "+s3KMSKeyID+" goes with aws:kms")
}

// s3Transport never decompresses (bodies come back byte for byte) and gives up
// on a service that accepts a connection and then is silent.
func s3Transport(secure bool) *http.Transport {
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
