// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package gcs keeps decks in Google Cloud Storage. Importing it adds the scheme
// gs. It is a package of its own because its client library is large.
package gcs

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/internal/cdkstore"
)

const scheme = "gs"

func init() { deck.Register(scheme, check, open) }

// check is the deck.CheckFunc of gs URLs.
func check(u *url.URL) error {
	if err := deck.CheckOptions(u, []string{"anonymous"}); err != nil {
		return err
	}
	if u.Host == "" {
		return deck.BadURL(scheme, "gs URLs are gs://bucket/prefix")
	}
	if _, err := deck.BoolOption(u, "anonymous", false); err != nil {
		return err
	}
	_, err := deck.WithPrefix(nil, u.Path)
	return err
}

// open opens gs://bucket/prefix. Credentials are the application default ones.
// The URL opener of gocloud.dev is not used because it prints to standard
// output.
func open(ctx context.Context, u *url.URL) (deck.Store, error) {
	anonymous, err := deck.BoolOption(u, "anonymous", false)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // where there is no HTTP/2, which has one connection for all requests
	client := gcp.NewAnonymousHTTPClient(transport)
	var options *gcsblob.Options
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		// gocloud.dev takes another client for an emulator, which keeps two connections.
		options = &gcsblob.Options{ClientOptions: []option.ClientOption{option.WithHTTPClient(&client.Client)}}
	} else if !anonymous {
		creds, err := gcp.DefaultCredentials(ctx)
		if err != nil {
			return nil, cdkstore.OpenError(scheme, "no application default credentials were found", err)
		}
		if client, err = gcp.NewHTTPClient(transport, gcp.CredentialsTokenSource(creds)); err != nil {
			return nil, cdkstore.OpenError(scheme, "the credentials cannot be used", err)
		}
	}
	bucket, err := gcsblob.OpenBucket(ctx, client, u.Host, options)
	if err != nil {
		return nil, cdkstore.OpenError(scheme, "the bucket cannot be opened", err)
	}
	return deck.WithPrefix(cdkstore.New(bucket, cdkstore.Service{
		Scheme:  scheme,
		Inspect: inspect,
		ReadRaw: readRaw,
		Close:   transport.CloseIdleConnections,
	}), u.Path)
}

func inspect(err error) cdkstore.Answer {
	if errors.Is(err, storage.ErrBucketNotExist) {
		return cdkstore.Answer{Status: http.StatusNotFound, MissingBucket: true}
	}
	if errors.Is(err, storage.ErrObjectNotExist) {
		return cdkstore.Answer{Status: http.StatusNotFound}
	}
	var ge *googleapi.Error
	if !errors.As(err, &ge) {
		return cdkstore.Answer{}
	}
	a := cdkstore.Answer{Status: ge.Code}
	if len(ge.Errors) > 0 {
		a.Code = ge.Errors[0].Reason
	}
	return a
}

// readRaw asks for the bytes as they are stored.
func readRaw(asFunc func(any) bool) error {
	var object **storage.ObjectHandle
	if asFunc(&object) {
		*object = (*object).ReadCompressed(true)
	}
	return nil
}
