// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"io"
	"net/http"
	"strings"
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

func TestGCSStoreReusesItsConnections(t *testing.T) {
	storetest.ReusesConnections(t, func(server string) string {
		t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(server, "http://"))
		return "gs://bucket?anonymous=true"
	}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"storage#object","bucket":"bucket","name":"a","generation":"1","size":"1"}`)
	})
}
