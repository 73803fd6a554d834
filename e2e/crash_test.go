// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && linux

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// Each of these tests sends runs under load, disturbs the collector or its store, and expects at the end that every run is in a tape and
// that each tape is, byte for byte, that of a collector that nobody disturbed. Senders repeat what was not acknowledged and nothing else.

// quickly lets agentrun repeat what fails sooner than a user would want.
var quickly = []string{"--set=processors.agentrun.retry_on_failure.initial_interval=50ms", "--set=processors.agentrun.retry_on_failure.max_interval=300ms"}

func TestKilledCollectorLosesNothing(t *testing.T) { killed(t, decktest.FileURL(t), 10) }

func TestKilledCollectorLosesNothingInReels(t *testing.T) {
	killed(t, inReels(t, decktest.FileURL(t)), 4)
}

func killed(t *testing.T, url string, times int) {
	t.Helper()
	c := newCampaign(t, slim, local, url, append(quickly, soon, patient)...)
	c.begin()
	for range c.crashes(times) {
		c.wait()
		c.kill()
	}
	c.finish()
}

// Stops in order and kills by turns: what one leaves in the spool the next start takes up.
func TestStoppedAndKilledCollectorLosesNothing(t *testing.T) {
	for _, shutdown := range []string{"park", "emit"} {
		t.Run(shutdown, func(t *testing.T) {
			c := newCampaign(t, slim, local, decktest.FileURL(t), append(quickly, soon, patient, "--set=processors.agentrun.on_shutdown="+shutdown)...)
			c.begin()
			for n := range c.crashes(4) {
				c.wait()
				if n%2 == 0 {
					c.interrupt()
				} else {
					c.kill()
				}
			}
			c.finish()
		})
	}
}

// Without a spool a stop in order passes everything on.
func TestInterruptedCollectorWithoutASpoolLosesNothing(t *testing.T) {
	c := newCampaign(t, slim, local, decktest.FileURL(t), soon, patient)
	c.spool = ""
	c.begin()
	for range c.crashes(4) {
		c.wait()
		c.interrupt()
	}
	c.finish()
}

// The store answers 500 and 503, answers late, tears connections before and after it has done what was asked, and the collector is
// killed meanwhile.
func TestFailingStoreAndKilledCollectorLoseNothing(t *testing.T) { failing(t, startStore(t)) }

func TestFailingStoreAndKilledCollectorLoseNothingInReels(t *testing.T) {
	store := startStore(t)
	inReels(t, store.url)
	failing(t, store)
}

func failing(t *testing.T, store *mortalStore) {
	t.Helper()
	c := newCampaign(t, slim, s3, store.url, append([]string{soon, patient, asItIs, "--set=exporters.tape.timeout=2s"}, quickly...)...)
	proxy := startFaults(t, store.address, c.seed)
	c.url = store.through(proxy.address)
	c.begin()
	for n := range c.crashes(5) {
		proxy.set(faults[n%len(faults)])
		c.wait()
		c.kill()
		c.wait()
	}
	proxy.set(everyFault)
	c.wait()
	until(t, "a request to meet a fault", func() bool { return proxy.count() > 0 }) // a deck of reels makes few
	proxy.set(nil)
	c.url = store.url
	c.finish()
}

// The store is away for so long that the spool reaches its quota: senders are refused, and nothing of what was acknowledged is lost.
func TestFullSpoolRefusesAndLosesNothing(t *testing.T) {
	filled(t, t.TempDir(), smallestQuota)
}

// smallestQuota also makes segments small.
const smallestQuota = "--set=processors.agentrun.spool.max_bytes=67108864"

// The disk itself is full. It is a file system in memory, which takes the right to mount one.
func TestFullDiskRefusesAndLosesNothing(t *testing.T) {
	filled(t, filepath.Join(smallDisk(t, "40m"), "spool"), smallestQuota) // more than the disk has
}

// smallDisk mounts a file system in memory.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" && os.Getuid() == 0 {
			t.Fatal(err)
		}
		t.Skip("what a full disk does was not tried, only root may mount one: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// The disk of the deck is full: the log says so in words of its own, runs wait, and go out when there is room.
func TestFullDiskOfTheDeckIsSaidAndLosesNothing(t *testing.T) {
	disk := smallDisk(t, "4m")
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	if cerr := filler.Close(); cerr != nil || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err, cerr)
	}
	url := "file://" + filepath.Join(disk, "deck")
	p := collect(t, slim, local, url, append([]string{soon}, quickly...)...)
	traces := recorded(t)
	send(t, p, traces)
	until(t, "the log to say that the deck is full", func() bool { return strings.Contains(p.Log(), "the deck is full; nothing is lost") })
	if log := p.Log(); strings.Contains(log, "sending_queue") || strings.Contains(log, "Rejecting data") {
		t.Errorf("the log advises what the documents forbid, or speaks of a loss:\n%s", log)
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	drained(t, p, traces.SpanCount())
	stop(t, p)
	tapedeck(t, "verify", url)
}

// filled lets large runs come while the store is away until the spool takes no more, kills the collector in that state, and brings the
// store back.
func filled(t *testing.T, spool string, args ...string) {
	t.Helper()
	store := startStore(t)
	c := newCampaign(t, slim, s3, store.url, slices.Concat([]string{soon, patient, asItIs}, quickly, args)...)
	c.spool, c.shape, c.pace = spool, agentload.Large, 0
	store.kill()
	c.begin()
	refused := func() bool { return metrics(t, c.p)["processor_agentrun_refused_requests"] > 0 }
	until(t, "the spool to be full", refused)
	c.kill()
	until(t, "the spool to be full after the kill", refused)
	store.start()
	c.finish()
}
