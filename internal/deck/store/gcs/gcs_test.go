// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/gcs"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) { storetest.VerifyNoLeaks(m) }

func TestGCSStore(t *testing.T) {
	const secret = "hunter2"
	storetest.Service(t, func(t testing.TB) string { return decktest.GCS(t).URL }, secret,
		"gs://bucket?key="+secret, "gs://", "gs://bucket?anonymous="+secret, "gs://a:"+secret+"@bucket")
}
