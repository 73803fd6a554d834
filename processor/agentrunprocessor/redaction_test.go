// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/redact"
)

var marker = handover.Marker{Policy: "default+custom", ProfileDigest: "sha256:0123", KeyID: "abc"}

// marked is twoRuns as a redactor of this process passes it on.
func marked(td ptrace.Traces, text string) ptrace.Traces {
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(handover.Redaction, text)
	}
	return td
}

func required(c *Config) { c.Redaction = redactionRequired }

func TestRedactionIsRequiredByDefault(t *testing.T) {
	require.Equal(t, redactionRequired, createDefaultConfig().(*Config).Redaction)
}

// TestStartFailsWhereNothingRedacts: every request would be refused, so it is the start that says so. A collector creates all components before it
// starts the first one.
func TestStartFailsWhereNothingRedacts(t *testing.T) {
	f := NewFactory()
	create := func() processor.Traces {
		p, err := f.CreateTraces(t.Context(), processortest.NewNopSettings(f.Type()), createDefaultConfig(), &sink{})
		require.NoError(t, err)
		return p
	}
	p := create()
	err := p.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "put agentredaction before agentrun")
	require.NoError(t, p.Shutdown(t.Context()))

	withdraw := redact.Announce()
	p = create()
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, p.Shutdown(t.Context()))
	withdraw()
	withdraw()
	require.False(t, redact.Announced())
}

func TestUnredactedEvidenceIsRefusedWhole(t *testing.T) {
	forged := strings.Replace(marker.Seal(), "default", "strict", 1)
	for name, request := range map[string]ptrace.Traces{
		"without a marker":       twoRuns(),
		"marker without a proof": marked(twoRuns(), marker.String()),
		"marker of another text": marked(twoRuns(), forged),
		"what agentrun hands on": marked(twoRuns(), redactionNone),
		"one resource unredacted": func() ptrace.Traces {
			td := marked(twoRuns(), marker.Seal())
			addSpan(scope(td, "shop", "app"), 9, 9, 0, "chat")
			return td
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			s := &sink{}
			run(t, required, s, func(r *rig) {
				before := request.SpanCount()
				err := r.ConsumeTraces(t.Context(), request)
				require.ErrorContains(t, err, "agentredaction")
				require.True(t, consumererror.IsPermanent(err))
				require.Equal(t, before, request.SpanCount())
				require.Zero(t, r.assembler.Stats().Held)
				require.EqualValues(t, 1, r.unredacted.Load())
			})
			require.Empty(t, s.emitted())
			require.Empty(t, s.forwarded())
		})
	}
}

// A receiver without a bound lets in what could not be read back from the spool. What goes through
// agentredaction is never so deep.
func TestUnredactedEvidenceDeeperThanIsStoredIsRefusedAsInvalid(t *testing.T) {
	s := &sink{}
	run(t, func(*Config) {}, s, func(r *rig) {
		deep := func(levels int) ptrace.Traces {
			td := ptrace.NewTraces()
			addSpan(scope(td, "shop", "app"), 9, 9, 0, "chat")
			v := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutEmpty("gen_ai.input.messages")
			for range levels {
				v = v.SetEmptySlice().AppendEmpty()
			}
			return td
		}
		err := r.ConsumeTraces(t.Context(), deep(nesting.Stored+1))
		require.ErrorContains(t, err, "nested too deep")
		require.True(t, consumererror.IsPermanent(err))
		require.Equal(t, codes.InvalidArgument, status.Code(err), "a receiver answers 400")
		require.EqualValues(t, 1, r.tooDeep.Load())
		require.Zero(t, r.assembler.Stats().Held)
		require.NoError(t, r.ConsumeTraces(t.Context(), deep(nesting.Stored)))
	})
	require.Len(t, s.emitted(), 1)
}

func TestNonAgentSpansNeedNoMarker(t *testing.T) {
	s := &sink{}
	run(t, required, s, func(r *rig) {
		td := ptrace.NewTraces()
		addSpan(scope(td, "shop", "app"), 7, 1, 0, "")
		r.send(t, t.Context(), td)
	})
	require.Len(t, s.forwarded(), 1)
}

func TestMarkerIsHandedOnWithoutItsProof(t *testing.T) {
	s := &sink{}
	run(t, required, s, func(r *rig) {
		td := marked(twoRuns(), marker.Seal())
		addSpan(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans(), 7, 1, 0, "") // a non-agent span beside evidence
		r.send(t, t.Context(), td)
	})
	require.NotEmpty(t, s.emitted())
	for _, e := range s.emitted() {
		require.Equal(t, marker.String(), attr(t, e, handover.Redaction).Str())
	}
	for _, td := range s.forwarded() {
		for _, rs := range td.ResourceSpans().All() {
			_, left := rs.Resource().Attributes().Get(handover.Redaction)
			require.False(t, left, "the proof leaves the process")
		}
	}
}

// A request that is refused before its evidence is taken comes again as it is.
func TestInspectionLeavesTheProof(t *testing.T) {
	rs := marked(twoRuns(), marker.Seal()).ResourceSpans().At(0).Resource().Attributes()
	rs.PutStr("tapedeck.run.key", "other/tenant")
	for _, want := range []int{1, 0} {
		stripped, redacted := stripResource(rs)
		require.True(t, redacted)
		require.Equal(t, want, stripped)
	}
}

func TestMarkerSurvivesTheSpool(t *testing.T) {
	dir := t.TempDir()
	spooled := func(c *Config) { required(c); c.Spool.Directory = dir }
	run(t, spooled, &sink{}, func(r *rig) {
		require.NoError(t, r.ConsumeTraces(t.Context(), marked(twoRuns(), marker.Seal())))
	})
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), "proof=", path)
		return err
	}))
	s := &sink{}
	run(t, spooled, s, func(*rig) { pass(time.Hour) })
	require.NotEmpty(t, s.emitted())
	for _, e := range s.emitted() {
		require.Equal(t, marker.String(), attr(t, e, handover.Redaction).Str())
	}
}

func TestEvidenceThatIsGivenBackIsSealedAgain(t *testing.T) {
	dir := t.TempDir()
	run(t, func(c *Config) { required(c); c.Spool.Directory = dir }, &sink{}, func(r *rig) {
		require.NoError(t, r.log.Load().Close())
		td := marked(twoRuns(), marker.Seal())
		err := r.ConsumeTraces(context.Background(), td)
		require.Error(t, err)
		require.False(t, consumererror.IsPermanent(err), err)
		for _, rs := range td.ResourceSpans().All() {
			got, ok := handover.OpenMarker(rs.Resource().Attributes())
			require.True(t, ok)
			require.Equal(t, marker, got)
		}
	}, anyShutdown)
}

// The metadata of a request does not pass through agentredaction, and becomes part of names and tapes.
func TestTenantFromARequestIsRedactedAsItsEvidenceIs(t *testing.T) {
	key, err := redact.NewKey([]byte("a key for tests, 0123456789abcdef"), "")
	require.NoError(t, err)
	profile := redact.Default()
	profile.Mode = redact.ModeMask // which would make one tenant of all
	redactor, err := redact.New(profile.WithKey(key))
	require.NoError(t, err)
	seal := redactor.Seal()
	tenantOf := func(name string) (tenant string) {
		s := &sink{}
		run(t, func(c *Config) {
			required(c)
			c.Tenant = TenantConfig{From: tenantFromMetadata, Key: "x-tenant", Default: "default"}
		}, s, func(r *rig) {
			r.send(t, client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"X-Tenant": {name}})}), marked(twoRuns(), seal))
			pass(10 * time.Second)
			tenant, _, _ = strings.Cut(attr(t, s.emitted()[0], handover.RunKey).Str(), "/")
		})
		return tenant
	}
	ada, bob := tenantOf("ada@corp-mail.com"), tenantOf("bob@corp-mail.com")
	require.Contains(t, ada, "[REDACTED:email:")
	require.NotEqual(t, ada, bob)
	require.Equal(t, "acme", tenantOf("acme"))
}
