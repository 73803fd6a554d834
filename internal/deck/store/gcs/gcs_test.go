// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/gcs"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(int) { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), // idle connections of the SDK's own client
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestGCSStoreConforms(t *testing.T) {
	storetest.Run(t, decktest.GCS(t).URL)
}

func TestGCSDeckKeepsARun(t *testing.T) {
	storetest.KeepsARun(t, decktest.GCS(t).URL)
}

func TestGCSMissingBucketIsPermanentAndNotAMissingObject(t *testing.T) {
	storetest.ReportsMissingBucket(t, decktest.GCS(t).URL)
}

func TestGCSRefusesUnknownOptions(t *testing.T) {
	const secret = "hunter2"
	storetest.RefusesURLs(t, secret, "gs://bucket?key="+secret, "gs://", "gs://bucket?anonymous="+secret, "gs://a:"+secret+"@bucket")
}
