// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/azure"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(int) { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), // idle connections of the SDK's own client
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestAzureStoreConforms(t *testing.T) {
	storetest.Run(t, decktest.Azurite(t).URL)
}

func TestAzureDeckKeepsARun(t *testing.T) {
	storetest.KeepsARun(t, decktest.Azurite(t).URL)
}

func TestAzureMissingBucketIsPermanentAndNotAMissingObject(t *testing.T) {
	storetest.ReportsMissingBucket(t, decktest.Azurite(t).URL)
}

func TestAzureRefusesUnknownOptions(t *testing.T) {
	const secret = "hunter2"
	storetest.RefusesURLs(t, secret, "azblob://bucket?key="+secret, "azblob://", "azblob://bucket?localemu="+secret, "azblob://a:"+secret+"@bucket")
}
