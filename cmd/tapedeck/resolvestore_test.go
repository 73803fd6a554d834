// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/replay"
)

func TestResolveReadsObjectStores(t *testing.T) {
	_, clean := derived(t, uploadedRun(t, "", ""))
	for name, service := range map[string]func(testing.TB) decktest.Service{
		"s3": decktest.S3, "gs": decktest.GCS, "azblob": decktest.Azurite,
	} {
		t.Run(name, func(t *testing.T) {
			address := service(t).URL
			store, err := deck.OpenStore(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for key, body := range uploads {
				if _, err := store.PutNew(t.Context(), "deep/"+key, []byte(body), "application/json"); err != nil {
					t.Fatal(err)
				}
			}
			base, query := replay.SplitURL(address)
			dir, _ := derived(t, uploadedRun(t, base+"/deep", ""))
			got := tapedeck(t, "resolve", dir, "--allow", base+query, "--redact", "off")
			if made := lines(t, got.stdout); got.code != exitOK || len(made) != 1 || made[0].Findings != clean.Findings {
				t.Errorf("%+v", got)
			}
		})
	}
}
