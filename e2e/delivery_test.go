// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/azure"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/gcs"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

// patient makes agentrun pass on soon also what has no root.
const patient = "--set=processors.agentrun.idle_timeout=600ms"

// services are the stores that every delivery test runs on.
var services = []struct {
	name, collector, config string
	url                     func(*testing.T) string
}{
	{"file", slim, local, func(t *testing.T) string { return decktest.FileURL(t) }},
	{"versitygw", slim, s3, func(t *testing.T) string { return decktest.VersityGW(t).URL }},
	{"minio", slim, s3, func(t *testing.T) string { return decktest.MinIO(t).URL }},
	{"gcs", full, s3, func(t *testing.T) string { return decktest.GCS(t).URL }},
	{"azure", full, s3, func(t *testing.T) string { return decktest.Azurite(t).URL }},
}

func TestRunBecomesATapeOverBothProtocols(t *testing.T) {
	for _, service := range services {
		t.Run(service.name, func(t *testing.T) {
			url := service.url(t)
			p := collect(t, service.collector, service.config, url, soon)
			first, second := another(t, 1), another(t, 2)
			if err := otlpsend.GRPC(t.Context(), p.GRPC, first); err != nil {
				t.Fatal(err)
			}
			if err := otlpsend.HTTP(t.Context(), "http://"+p.HTTP, second); err != nil {
				t.Fatal(err)
			}
			drained(t, p, first.SpanCount()+second.SpanCount())
			stop(t, p)
			for _, trace := range []string{traceID(first), traceID(second)} {
				state := at{t, url}.state(trace)
				if len(state.Parts) != 1 || len(state.Generations) != 1 || !state.Generations[0].Complete {
					t.Errorf("one delivery of trace %s left %+v", trace, state)
				}
			}
			tapedeck(t, "verify", url)
		})
	}
}

func TestTenfoldRedeliveryChangesNothing(t *testing.T) {
	for _, service := range services[:3] {
		t.Run(service.name, func(t *testing.T) {
			url := service.url(t)
			p := collect(t, service.collector, service.config, url, soon)
			traces := recorded(t)
			send(t, p, traces)
			drained(t, p, traces.SpanCount())
			before := at{t, url}.contents()
			for n := range 10 {
				send(t, p, traces)
				drained(t, p, (n+2)*traces.SpanCount())
			}
			// And by a collector that knows nothing of the first.
			other := collect(t, service.collector, service.config, url, soon)
			send(t, other, traces)
			drained(t, other, traces.SpanCount())
			if diff := cmp.Diff(before, at{t, url}.contents()); diff != "" {
				t.Errorf("redelivery changed the deck (-before +after):\n%s", diff)
			}
		})
	}
}

func TestHalvesOfATraceConvergeInEitherOrder(t *testing.T) {
	for _, service := range services[:3] {
		t.Run(service.name, func(t *testing.T) {
			url := service.url(t)
			traces := recorded(t)
			early := pick(traces, func(i int) bool { return i < 4 })
			late := pick(traces, func(i int) bool { return i >= 4 })

			inOrder, swapped, atOnce := beside(url, "a"), beside(url, "b"), beside(url, "c")
			deliverApart(t, service.collector, service.config, inOrder, early, late)
			deliverApart(t, service.collector, service.config, swapped, late, early)
			deliverTogether(t, service.collector, service.config, atOnce, early, late)

			want := at{t, inOrder}.current(traceID(traces))
			if diff := cmp.Diff(want, at{t, swapped}.current(traceID(traces))); diff != "" {
				t.Errorf("the order of the halves shows in the deck:\n%s", diff)
			}
			if diff := cmp.Diff(want, at{t, atOnce}.current(traceID(traces))); diff != "" {
				t.Errorf("halves that came at once left another deck:\n%s", diff)
			}

			whole := beside(url, "whole")
			p := collect(t, service.collector, service.config, whole, soon)
			send(t, p, traces)
			drained(t, p, traces.SpanCount())
			if diff := cmp.Diff(at{t, whole}.tape(traceID(traces)), at{t, inOrder}.tape(traceID(traces))); diff != "" {
				t.Errorf("halves gave another tape than the whole:\n%s", diff)
			}
		})
	}
}

// deliverApart gives each half to a collector of its own, the second when the first lies in the deck.
func deliverApart(t *testing.T, collector, config, url string, halves ...ptrace.Traces) {
	t.Helper()
	for _, half := range halves {
		p := collect(t, collector, config, url, soon, patient)
		send(t, p, half)
		drained(t, p, half.SpanCount())
		stop(t, p)
	}
}

// deliverTogether gives the halves to two collectors and lets both write when they will.
func deliverTogether(t *testing.T, collector, config, url string, one, two ptrace.Traces) {
	t.Helper()
	p, q := collect(t, collector, config, url, soon, patient), collect(t, collector, config, url, soon, patient)
	send(t, p, one)
	send(t, q, two)
	drained(t, p, one.SpanCount())
	drained(t, q, two.SpanCount())
	stop(t, p)
	stop(t, q)
}

func TestLateSpanAddsOnePartAndOneGeneration(t *testing.T) {
	for _, service := range services[:3] {
		t.Run(service.name, func(t *testing.T) {
			url := service.url(t)
			traces := recorded(t)
			const missing = 3
			punctual := pick(traces, func(i int) bool { return i != missing })
			late := pick(traces, func(i int) bool { return i == missing })

			p := collect(t, service.collector, service.config, url, soon, patient)
			send(t, p, punctual)
			drained(t, p, punctual.SpanCount())
			before := at{t, url}.contents()
			send(t, p, late)
			drained(t, p, traces.SpanCount())

			state := at{t, url}.state(traceID(traces))
			// The generation of the late span replaces the one before it.
			if len(state.Parts) != 2 || len(state.Generations) != 1 {
				t.Fatalf("%d parts and %d generations, want 2 and 1", len(state.Parts), len(state.Generations))
			}
			if gen, ok := state.Current(); !ok || gen.Items != traces.SpanCount() {
				t.Errorf("the current generation has %d items, want %d", gen.Items, traces.SpanCount())
			}
			after := at{t, url}.contents()
			for key, body := range before {
				if strings.HasSuffix(key, deck.PartSuffix) && after[key] != body { // of generations the newest stays
					t.Errorf("%s was changed or removed", key)
				}
			}
			wholeURL := beside(url, "whole")
			q := collect(t, service.collector, service.config, wholeURL, soon)
			send(t, q, traces)
			drained(t, q, traces.SpanCount())
			if diff := cmp.Diff(at{t, wholeURL}.tape(traceID(traces)), at{t, url}.tape(traceID(traces))); diff != "" {
				t.Errorf("with the late span the tape is not the one of the whole trace:\n%s", diff)
			}
		})
	}
}

func TestExporterWritesWhatDeriveWrites(t *testing.T) {
	url, derived := decktest.FileURL(t), decktest.FileURL(t)
	traces := recorded(t)
	p := collect(t, slim, local, url, soon)
	send(t, p, traces)
	drained(t, p, traces.SpanCount())
	stop(t, p)

	tapedeck(t, "derive", "--no-join", "--to", derived, example(t, recordedFile))
	if diff := cmp.Diff(at{t, derived}.contents(), at{t, url}.contents()); diff != "" {
		t.Errorf("the exporter and tapedeck derive --no-join differ (-derive +exporter):\n%s", diff)
	}
}

func TestExistingPipelineKeepsItsBackendAndGainsTapes(t *testing.T) {
	backendDeck, url := decktest.FileURL(t), decktest.FileURL(t)
	backend := collect(t, slim, local, backendDeck, soon)
	p := run(t, program(t, slim), []string{"TAPEDECK_DECK=" + url, "TAPEDECK_LAYOUT=files", "BACKEND_ENDPOINT=" + backend.GRPC},
		"--config", example(t, "examples/existing-pipeline/collector.yaml"),
		"--config", example(t, "examples/existing-pipeline/tapes.yaml"), soon)
	traces := recorded(t)
	send(t, p, traces)
	drained(t, p, traces.SpanCount())
	drained(t, backend, traces.SpanCount())
	if diff := cmp.Diff(at{t, backendDeck}.contents(), at{t, url}.contents()); diff != "" {
		t.Errorf("the backend saw other spans than the second pipeline:\n%s", diff)
	}
}

func TestExistingPipelineMakesReels(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deck") // none is there yet
	url := "file://" + filepath.ToSlash(dir)
	p := run(t, program(t, slim), []string{"TAPEDECK_DECK=" + url, "BACKEND_ENDPOINT=127.0.0.1:1"},
		"--config", example(t, "examples/existing-pipeline/collector.yaml"),
		"--config", example(t, "examples/existing-pipeline/tapes.yaml"), soon)
	traces := recorded(t)
	send(t, p, traces)
	drained(t, p, traces.SpanCount())
	stop(t, p)
	derived := decktest.FileURL(t)
	tapedeck(t, "derive", "--no-join", "--to", derived, example(t, recordedFile))
	list := func(deck string) string { // without the addresses, which tell the layouts apart
		out := tapedeck(t, "ls", deck, "--format", "json", "--columns", "run_id,grade,status,tool_calls")
		return regexp.MustCompile(`,"url":"[^"]*"`).ReplaceAllString(out, "")
	}
	want, got := list(derived), list(url)
	if want == "" || got != want {
		t.Errorf("the deck of reels holds\n%s\nwant\n%s", got, want)
	}
	if reels, err := os.ReadDir(filepath.Join(dir, "reels")); err != nil || len(reels) == 0 {
		t.Errorf("no reels: %v, %v", reels, err)
	}
}

// openRuns sends runs, half of them without their root, and returns their trace ids.
func openRuns(t *testing.T, p *collectorproc.Process) (open []string) {
	t.Helper()
	for n := range uint32(20) {
		traces := another(t, n+1)
		if n%2 == 0 { // half of them without their root, which is the last span
			traces = pick(traces, func(i int) bool { return i < traces.SpanCount()-1 })
		}
		send(t, p, traces)
		open = append(open, traceID(traces))
	}
	if held := metrics(t, p)["processor_agentrun_held_items"]; held == 0 {
		t.Fatal("nothing was held when the collector was stopped: the test shows nothing")
	}
	return open
}

func TestTermEmitsOpenRunsWhenToldTo(t *testing.T) {
	url := decktest.FileURL(t)
	// With the real quiet period and idle timeout.
	p := collect(t, slim, local, url, "--set=processors.agentrun.on_shutdown=emit")
	open := openRuns(t, p)
	stop(t, p)
	emitted := (at{t, url}).traces()
	for _, trace := range open {
		if !emitted[trace] {
			t.Errorf("run %s was open at the end and is not in the deck", trace)
		}
	}
}

func TestOpenRunsSurviveTheEndOfTheProcess(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *collectorproc.Process){
		"terminated": stop,
		"killed": func(t *testing.T, p *collectorproc.Process) {
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, spool := decktest.FileURL(t), t.TempDir()
			env := []string{"TAPEDECK_DECK=" + url, "TAPEDECK_SPOOL=" + spool}
			p := run(t, program(t, slim), env, "--config", example(t, local))
			open := openRuns(t, p)
			end(t, p)
			if n := len((at{t, url}).traces()); n != 0 {
				t.Fatalf("%d runs are in the deck already: the test shows nothing", n)
			}
			p = run(t, program(t, slim), env, "--config", example(t, local), soon, patient)
			until(t, "all runs to be passed on", func() bool { return metrics(t, p)["processor_agentrun_held_items"] == 0 })
			stop(t, p)
			emitted := (at{t, url}).traces()
			for _, trace := range open {
				if !emitted[trace] {
					t.Errorf("run %s was acknowledged and is not in the deck", trace)
				}
			}
		})
	}
}

// spans of a web server, without any sign of an agent.
func TestOtherSpansLeaveNoTrace(t *testing.T) {
	url := decktest.FileURL(t)
	p := collect(t, slim, local, url, soon, patient)
	traces := recorded(t)
	for span := range spans(traces) {
		span.Attributes().Clear()
		span.SetName("GET /health")
		span.Events().RemoveIf(func(ptrace.SpanEvent) bool { return true })
	}
	for _, rs := range traces.ResourceSpans().All() {
		rs.Resource().Attributes().Clear()
		for _, ss := range rs.ScopeSpans().All() {
			ss.Scope().SetName("net/http")
		}
	}
	send(t, p, traces)
	if len(metrics(t, p)) == 0 { // it answers, so it also hears that it is to end
		t.Error("no metrics")
	}
	stop(t, p)
	for key := range (at{t, url}).contents() {
		if strings.HasPrefix(key, string(deck.AreaRuns)) {
			t.Errorf("%s was written for spans that are no run", key)
		}
	}
}
