// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

const killedVariable = "TAPEDECK_TEST_KILLED_WRITER"

// TestKilledWriter is the writer that TestWhatAWriterHasAcknowledgedSurvivesItsKill kills. It names each trace when its delivery has returned.
func TestKilledWriter(t *testing.T) {
	url := os.Getenv(killedVariable)
	if url == "" {
		t.Skip("only as a process of its own")
	}
	d := openDeck(t, url, deck.LayoutReels)
	w := derive.NewReelWriter(d, options, reel.Limits{MaxBytes: 4 << 20, MaxRuns: 7, MaxWait: 20 * time.Millisecond})
	var wg sync.WaitGroup
	for _, run := range corpus(t, 150) {
		for _, tr := range setOf(t, run).Split() {
			wg.Go(func() {
				_, written, err := w.Deliver(t.Context(), derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
				for _, tape := range written {
					if err == nil {
						fmt.Println("stored", tape.RunID)
					}
				}
			})
		}
	}
	wg.Wait()
	fmt.Println("all")
	select {} // until the kill
}

func TestWhatAWriterHasAcknowledgedSurvivesItsKill(t *testing.T) {
	url := decktest.FileURL(t)
	r := rand.New(rand.NewPCG(1, 9))
	stored := map[string]bool{}
	for range 4 {
		ctx, kill := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledWriter$") // a context that ends kills with SIGKILL
		cmd.Env = append(os.Environ(), killedVariable+"="+url)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, most := bufio.NewScanner(out), 1+r.IntN(60)
		for n := 0; lines.Scan(); {
			run, ok := strings.CutPrefix(lines.Text(), "stored ")
			if ok {
				stored[run] = true
				n++
			}
			if n == most || lines.Text() == "all" {
				kill()
			}
		}
		_ = cmd.Wait() // it was killed
		kill()
	}
	if len(stored) == 0 {
		t.Fatal("no writer has stored anything")
	}
	d := openDeck(t, url, "")
	found := tapes(t, d)
	for run := range stored {
		trace, root, _ := strings.Cut(run, "-")
		there := false
		for _, area := range deck.Areas() {
			for name := range found {
				there = there || strings.HasPrefix(name, string(area)+"/") && strings.HasSuffix(name, trace+"/"+root+"/"+deck.TapeFile)
			}
		}
		if !there {
			t.Errorf("%s was acknowledged and is not there", run)
		}
	}
}
