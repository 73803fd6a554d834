// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
)

// campaign is a collector under load whose life is hard. TAPEDECK_CRASHES says how often it is ended (the tests have their own numbers),
// TAPEDECK_CRASH_SEED repeats one: the runs, the order of their requests and the moments, as far as a machine repeats moments.
type campaign struct {
	t    *testing.T
	seed uint64
	// url is the deck as the collector sees it, spool its directory, none if empty.
	url, spool string
	shape      agentload.Shape
	pace       time.Duration // of a sender after a request

	binary, config string
	args           []string
	rand           *mathrand.Rand // of the test itself: moments
	deck           string
	p              *collectorproc.Process

	mu       sync.Mutex
	load     *agentload.Generator
	order    *mathrand.Rand
	runs     []ptrace.Traces
	enough   bool
	failures []error
	senders  sync.WaitGroup
	cancel   context.CancelFunc
}

func newCampaign(t *testing.T, name, config, url string, args ...string) *campaign {
	t.Helper()
	var random [8]byte
	rand.Read(random[:]) // never fails
	seed := binary.BigEndian.Uint64(random[:])
	if text := os.Getenv("TAPEDECK_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("TAPEDECK_CRASH_SEED=%d", seed)
	return &campaign{
		t: t, seed: seed, url: url, deck: url, spool: t.TempDir(), shape: agentload.Short, pace: 40 * time.Millisecond,
		binary: program(t, name), config: example(t, config), args: args,
		rand: mathrand.New(mathrand.NewPCG(seed, 1)), order: mathrand.New(mathrand.NewPCG(seed, 2)), load: agentload.New(seed),
	}
}

// crashes is how often the collector is ended, n times unless the environment says otherwise.
func (c *campaign) crashes(n int) int {
	c.t.Helper()
	if text := os.Getenv("TAPEDECK_CRASHES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			c.t.Fatal(err)
		}
	}
	return n
}

// begin starts the collector and the senders.
func (c *campaign) begin() {
	c.t.Helper()
	c.start()
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("the last collector:\n%s", c.p.Log())
		}
		if err := c.p.Kill(); err != nil {
			c.t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(c.t.Context())
	c.cancel = cancel
	const senders = 4
	endpoint := c.p.GRPC // that of every collector to come
	for range senders {
		c.senders.Go(func() { c.send(ctx, endpoint) })
	}
	c.t.Cleanup(func() { // a test that fails early
		cancel()
		c.senders.Wait()
	})
}

// send delivers batch after batch; each request is repeated until it is acknowledged, and never after.
func (c *campaign) send(ctx context.Context, endpoint string) {
	for {
		requests := c.next()
		if requests == nil {
			return
		}
		for _, traces := range requests {
			if err := acknowledged(ctx, endpoint, traces); err != nil {
				c.mu.Lock()
				c.failures = append(c.failures, err)
				c.mu.Unlock()
				return
			}
			select {
			case <-time.After(c.pace):
			case <-ctx.Done():
			}
		}
	}
}

// next is some new runs, interleaved in requests in any order.
func (c *campaign) next() []ptrace.Traces {
	const runs, most = 3, 6
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.enough {
		return nil
	}
	batch := make([]ptrace.Traces, runs)
	for i := range batch {
		batch[i] = c.load.Trace(c.shape)
	}
	c.runs = append(c.runs, batch...)
	requests := agentload.Interleave(batch, 1+c.order.IntN(most))
	c.order.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	return requests
}

// wait lets a random time pass under load.
func (c *campaign) wait() {
	const shortest, longest = 20, 600
	select {
	case <-time.After(time.Duration(shortest+c.rand.IntN(longest-shortest)) * time.Millisecond):
	case <-c.t.Context().Done():
	}
}

// kill ends the collector as a power cut of the process does, and starts it again on the same spool and addresses. Every third start is
// killed too, at a random moment before or after it is ready.
func (c *campaign) kill() {
	c.t.Helper()
	if err := c.p.Kill(); err != nil {
		c.t.Fatal(err)
	}
	for c.rand.IntN(3) == 0 {
		const longest = 250
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(c.rand.IntN(longest))*time.Millisecond)
		p, err := collectorproc.Start(ctx, c.options())
		cancel()
		if err == nil {
			if err := p.Kill(); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	c.start()
}

// interrupt ends it in order, and starts it again.
func (c *campaign) interrupt() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.p.Interrupt(ctx); err != nil {
		c.t.Fatalf("%v\n%s", err, c.p.Log())
	}
	c.start()
}

func (c *campaign) options() collectorproc.Options {
	return collectorproc.Options{
		Binary: c.binary, Args: append([]string{"--config", c.config}, c.args...),
		Env: append(keys(c.t), "TAPEDECK_DECK="+c.url, "TAPEDECK_SPOOL="+c.spool), Dir: c.t.TempDir(), Same: c.p,
	}
}

func (c *campaign) start() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	p, err := collectorproc.Start(ctx, c.options())
	if err != nil {
		c.t.Fatal(err)
	}
	c.p = p
}

// finish lets the senders end, and compares the deck with that of a collector that nobody disturbed.
func (c *campaign) finish() {
	c.t.Helper()
	c.mu.Lock()
	c.enough = true
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		c.senders.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		c.cancel()
		<-ended
	}
	for _, err := range c.failures {
		c.t.Error(err)
	}
	emptied(c.t, c.p)
	c.conserved()
	stop(c.t, c.p)
	if len(c.runs) == 0 {
		c.t.Fatal("nothing was sent")
	}
	parts := sameTapes(c.t, c.deck, undisturbed(c.t, c.runs))
	c.t.Logf("%d runs, %d of them in the deck", len(c.runs), len(parts))
	tapedeck(c.t, "verify", c.deck)
}

// conserved checks the account of the last collector: what came in is what went out.
func (c *campaign) conserved() {
	c.t.Helper()
	m := metrics(c.t, c.p)
	of := func(name string) int { return m["processor_agentrun_"+name+"_items"] }
	in, out := of("accepted")+of("recovered"), of("emitted")+of("duplicate")+of("held")+of("dropped")
	if in != out || of("dropped") != 0 {
		c.t.Errorf("the account is not even: accepted %d + recovered %d, emitted %d, duplicate %d, held %d, dropped %d",
			of("accepted"), of("recovered"), of("emitted"), of("duplicate"), of("held"), of("dropped"))
	}
}
