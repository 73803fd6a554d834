// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

func TestStoreWithoutRoomIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		want   bool
	}{
		"disk":   {http.StatusInsufficientStorage, "XMinioStorageFull", true},
		"quota":  {http.StatusForbidden, "QuotaExceeded", true},
		"denied": {http.StatusForbidden, "AccessDenied", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte("<Error><Code>" + c.code + "</Code></Error>"))
			}))
			defer server.Close()
			store, err := deck.OpenStore(t.Context(), "s3://bucket?region=us-east-1&anonymous=true&use_path_style=true&endpoint="+server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if _, err := store.PutNew(t.Context(), "key", []byte("x"), "text/plain"); err == nil || deck.IsFull(err) != c.want {
				t.Errorf("%v: full is %t", err, deck.IsFull(err))
			}
		})
	}
}
