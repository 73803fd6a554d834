// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package azure keeps decks in Azure Blob Storage. Importing it adds the scheme
// azblob. It is a package of its own because its client library is large.
package azure

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // the opener of azblob URLs

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/internal/cdkstore"
)

const scheme = "azblob"

func init() { deck.Register(scheme, check, open) }

// check is the deck.CheckFunc of azblob URLs.
func check(u *url.URL) error {
	known := []string{"storage_account", "domain", "protocol", "cdn", "localemu"}
	if err := deck.CheckOptions(u, known); err != nil {
		return err
	}
	if u.Host == "" {
		return deck.BadURL(scheme, "azblob URLs are azblob://container/prefix")
	}
	for _, name := range []string{"cdn", "localemu"} {
		if _, err := deck.BoolOption(u, name, false); err != nil {
			return err
		}
	}
	_, err := deck.WithPrefix(nil, u.Path)
	return err
}

// open opens azblob://container/prefix. Account and credentials come from the
// environment (AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY and so on) or the
// identity of the machine.
func open(ctx context.Context, u *url.URL) (deck.Store, error) {
	container := url.URL{Scheme: scheme, Host: u.Host, RawQuery: u.RawQuery}
	bucket, err := blob.OpenBucket(ctx, container.String())
	if err != nil {
		// The text of the error may repeat the connection string.
		return nil, cdkstore.OpenError(scheme, "the container cannot be opened; AZURE_STORAGE_ACCOUNT and its credentials must be set", err)
	}
	return deck.WithPrefix(cdkstore.New(bucket, cdkstore.Service{Scheme: scheme, Inspect: inspect}), u.Path)
}

func inspect(err error) cdkstore.Answer {
	var re *azcore.ResponseError
	if !errors.As(err, &re) {
		return cdkstore.Answer{}
	}
	return cdkstore.Answer{
		Status:        re.StatusCode,
		Code:          re.ErrorCode,
		MissingBucket: re.StatusCode == http.StatusNotFound && bloberror.Code(re.ErrorCode) == bloberror.ContainerNotFound,
	}
}
