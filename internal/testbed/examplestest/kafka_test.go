// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package examplestest

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkareceiver"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

const (
	topic    = "agent_spans"
	group    = "tapedeck"
	patience = time.Minute // bounds what is waited for; nothing fails because a machine is slow
)

// cluster is a broker in the process.
type cluster struct {
	t      *testing.T
	client *kgo.Client
	admin  *kadm.Client
}

func start(t *testing.T, partitions int) *cluster {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(partitions), topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	t.Setenv("KAFKA_BROKERS", "["+strings.Join(fake.ListenAddrs(), ", ")+"]")
	t.Setenv("KAFKA_TOPIC", topic)
	t.Setenv("KAFKA_GROUP", group)
	return &cluster{t: t, client: client, admin: kadm.NewClient(client)}
}

// example reads one component of a file of examples/kafka into its default configuration.
func example(t *testing.T, file, path string, cfg component.Config) {
	t.Helper()
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              []string{"file:../../../examples/kafka/" + file},
		ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		DefaultScheme:     "env",
	})
	if err != nil {
		t.Fatal(err)
	}
	conf, err := resolver.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sub, err := conf.Sub(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
}

// put sends traces through the exporter of the gateway; its call returns when the broker has them.
func (c *cluster) put(traces ...ptrace.Traces) {
	c.t.Helper()
	f := kafkaexporter.NewFactory()
	cfg := f.CreateDefaultConfig()
	example(c.t, "gateway.yaml", "exporters::kafka", cfg)
	e, err := f.CreateTraces(c.t.Context(), exportertest.NewNopSettings(f.Type()), cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := e.Start(c.t.Context(), componenttest.NewNopHost()); err != nil {
		c.t.Fatal(err)
	}
	for _, td := range traces {
		if err := e.ConsumeTraces(c.t.Context(), td); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := e.Shutdown(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// receive starts the receiver of the tape collector; stop ends it in order, which commits what it has marked.
func (c *cluster) receive(next func(ptrace.Traces) error) (stop func()) {
	c.t.Helper()
	f := kafkareceiver.NewFactory()
	cfg := f.CreateDefaultConfig()
	example(c.t, "collector.yaml", "receivers::kafka", cfg)
	sink, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error { return next(td) })
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := f.CreateTraces(c.t.Context(), receivertest.NewNopSettings(f.Type()), cfg, sink)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := r.Start(c.t.Context(), componenttest.NewNopHost()); err != nil {
		c.t.Fatal(err)
	}
	return func() {
		if err := r.Shutdown(context.WithoutCancel(c.t.Context())); err != nil {
			c.t.Error(err)
		}
	}
}

// committed is how many records of the topic the group has committed.
func (c *cluster) committed() (n int64) {
	c.t.Helper()
	offsets, err := c.admin.FetchOffsets(c.t.Context(), group)
	if err != nil {
		c.t.Fatal(err)
	}
	offsets.Each(func(o kadm.OffsetResponse) { n += max(0, o.At) })
	return n
}

// request holds spans of the numbered traces, one each, under a name.
func request(name string, traces ...uint64) ptrace.Traces {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, n := range traces {
		var id pcommon.TraceID
		binary.BigEndian.PutUint64(id[8:], n)
		s := spans.AppendEmpty()
		s.SetTraceID(id)
		s.SetName(name)
	}
	return td
}

func nameOf(td ptrace.Traces) string {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Name()
}

// arrivals notes what was accepted and lets a test wait for it.
type arrivals struct {
	mu    sync.Mutex
	names []string
	grown chan struct{}
}

func newArrivals() *arrivals { return &arrivals{grown: make(chan struct{}, 1)} }

func (a *arrivals) note(td ptrace.Traces) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names = append(a.names, nameOf(td))
	select {
	case a.grown <- struct{}{}:
	default:
	}
}

func (a *arrivals) await(t *testing.T, names ...string) {
	t.Helper()
	limit := time.After(patience)
	for {
		a.mu.Lock()
		got := slices.Clone(a.names)
		a.mu.Unlock()
		if slices.Equal(got, names) {
			return
		}
		if len(got) > len(names) {
			t.Fatalf("got %q, want %q", got, names)
		}
		select {
		case <-a.grown:
		case <-limit:
			t.Fatalf("waited in vain: got %q, want %q", got, names)
		}
	}
}

func TestAllSpansOfATraceGoToOnePartition(t *testing.T) {
	const partitions, traces, requests = 6, 12, 4
	c := start(t, partitions)
	var sent []ptrace.Traces
	ids := make([]uint64, traces)
	for i := range ids {
		ids[i] = uint64(i) + 1
	}
	for range requests {
		sent = append(sent, request("span", ids...))
	}
	c.put(sent...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	partition := map[string]int32{}
	used := map[int32]bool{}
	for n := 0; n < traces*requests; {
		fetches := c.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(r.Value)
			if err != nil || td.SpanCount() != 1 {
				t.Errorf("a record holds %d spans (%v), want those of one trace in one request", td.SpanCount(), err)
				return
			}
			id := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID().String()
			if p, ok := partition[id]; ok && p != r.Partition {
				t.Errorf("trace %s lies in partitions %d and %d", id, p, r.Partition)
			}
			partition[id] = r.Partition
			used[r.Partition] = true
		})
	}
	if len(partition) != traces || len(used) < 2 {
		t.Errorf("%d traces in %d partitions", len(partition), len(used))
	}
}

// TestRefusedRecordIsNotCommitted lets the next component refuse the third of four records until the collector stops. The next collector
// must get the third and the fourth.
func TestRefusedRecordIsNotCommitted(t *testing.T) {
	c := start(t, 1)
	c.put(request("a", 1), request("b", 2), request("c", 3), request("d", 4))
	first := newArrivals()
	refused := make(chan struct{})
	var once sync.Once
	stop := c.receive(func(td ptrace.Traces) error {
		if nameOf(td) == "c" {
			once.Do(func() { close(refused) })
			return errors.New("full")
		}
		first.note(td)
		return nil
	})
	first.await(t, "a", "b")
	select {
	case <-refused:
	case <-time.After(patience):
		t.Fatal("the third record did not come")
	}
	stop()
	if n := c.committed(); n != 2 {
		t.Errorf("%d records are committed, 2 were accepted", n)
	}
	second := newArrivals()
	stop = c.receive(func(td ptrace.Traces) error { second.note(td); return nil })
	second.await(t, "c", "d")
	stop()
	if n := c.committed(); n != 4 {
		t.Errorf("%d records are committed, 4 were accepted", n)
	}
}

// TestRecordThatIsBeingAdmittedIsNotCommitted stops the collector within the call that admits a record.
func TestRecordThatIsBeingAdmittedIsNotCommitted(t *testing.T) {
	c := start(t, 1)
	c.put(request("a", 1))
	inCall, committedInCall := make(chan struct{}), make(chan int64, 1)
	stop := c.receive(func(ptrace.Traces) error {
		close(inCall)
		committedInCall <- c.committed()
		return errors.New("the collector stops: not stored")
	})
	select {
	case <-inCall:
	case <-time.After(patience):
		t.Fatal("the record did not come")
	}
	stop()
	if during, after := <-committedInCall, c.committed(); during != 0 || after != 0 {
		t.Errorf("%d records were committed during the call, %d after it failed", during, after)
	}
}

// TestRefusalIsTriedAgain: full now, room later, no restart in between.
func TestRefusalIsTriedAgain(t *testing.T) {
	c := start(t, 1)
	c.put(request("a", 1), request("b", 2))
	got := newArrivals()
	refusals := 0 // one partition: one call at a time
	stop := c.receive(func(td ptrace.Traces) error {
		if refusals < 3 {
			refusals++
			return errors.New("full")
		}
		got.note(td)
		return nil
	})
	got.await(t, "a", "b")
	stop()
	if n := c.committed(); n != 2 {
		t.Errorf("%d records are committed", n)
	}
}

// TestRecordThatIsNotOTLPDoesNotStopItsPartition: it stays in the topic; what comes after it is read.
func TestRecordThatIsNotOTLPDoesNotStopItsPartition(t *testing.T) {
	c := start(t, 1)
	if err := c.client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("\xff\xffnot OTLP")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c.put(request("a", 1))
	got := newArrivals()
	stop := c.receive(func(td ptrace.Traces) error { got.note(td); return nil })
	got.await(t, "a")
	stop()
	if n := c.committed(); n != 2 {
		t.Errorf("%d records are committed, want the bad one and the good one", n)
	}
}
