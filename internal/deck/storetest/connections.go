// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// writersAtOnce is more than agentrun has by default (16), and as many as the drivers keep connections for.
const writersAtOnce = 64

// ReusesConnections writes in several waves, each with many writers at once, and checks that only the first wave dials. url makes the URL of a deck
// at a server; answer is what the service says to a write.
func ReusesConnections(t *testing.T, url func(server string) string, answer http.HandlerFunc) {
	t.Helper()
	var dialled atomic.Int64
	var mu sync.Mutex
	wave, waiting := make(chan struct{}), 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// All writers of a wave are here at once, so each has a connection of its own.
		mu.Lock()
		mine := wave
		if waiting++; waiting == writersAtOnce {
			waiting, wave = 0, make(chan struct{})
			close(mine)
		}
		mu.Unlock()
		<-mine
		answer(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dialled.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	store, err := deck.OpenStore(t.Context(), url(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for n := range 4 {
		var writers sync.WaitGroup
		for i := range writersAtOnce {
			writers.Go(func() {
				if _, err := store.PutNew(t.Context(), fmt.Sprintf("a/%d-%d", n, i), []byte("x"), "text/plain"); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
	}
	if got := dialled.Load(); got != writersAtOnce {
		t.Errorf("%d connections for %d writers at once", got, writersAtOnce)
	}
}
