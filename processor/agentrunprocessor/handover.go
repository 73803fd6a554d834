// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// stamp writes what is known of a run on each resource. items does not count the notes of this emission,
// which do not leave as spans.
func stamp(e *assembly.Emission, items int, complete bool, rules *segregation.Rules) {
	run := handover.Run{Key: e.Key.String(), Items: items, Complete: complete, Replay: tagsOf(e.Traces, rules).String()}
	for _, rs := range e.Traces.ResourceSpans().All() {
		a := rs.Resource().Attributes()
		run.Write(a)
		if _, marked := a.Get(handover.Redaction); !marked {
			a.PutStr(handover.Redaction, handover.Unredacted)
		}
	}
}

// tagsOf scans everything that is passed on of a run.
func tagsOf(td ptrace.Traces, rules *segregation.Rules) segregation.Tags {
	scan := segregation.Scan{Rules: rules}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			scan.Around(rs, ss)
			for _, span := range ss.Spans().All() {
				scan.Span(ss.Scope().Name(), span)
			}
		}
	}
	return scan.Tags()
}

// stripResource removes attributes of the reserved namespace from a resource. It also tells whether the resource has the marker of a
// redactor of this process. That marker stays with its proof, because the request may be refused and sent again.
func stripResource(m pcommon.Map) (removed int, redacted bool) {
	if _, redacted = handover.OpenMarker(m); redacted {
		return handover.StripExceptRedaction(m), true
	}
	return handover.Strip(m), false
}

// unseal removes the proof from the marker of admitted evidence. The proof must not leave the process. From here on only this processor
// can write the marker, in the spool and over a restart too.
func unseal(m pcommon.Map) { handover.Unseal(m) }

// seal is the reverse of unseal, for evidence that is given back.
func seal(m pcommon.Map) {
	if marker, ok := handover.MarkerOf(m); ok {
		m.PutStr(handover.Redaction, marker.Seal())
	}
}

// stripSpan removes attributes of the reserved namespace, so that a sender cannot imitate a component.
func stripSpan(span ptrace.Span) (removed int) {
	removed = handover.Strip(span.Attributes())
	for _, e := range span.Events().All() {
		removed += handover.Strip(e.Attributes())
	}
	for _, l := range span.Links().All() {
		removed += handover.Strip(l.Attributes())
	}
	return removed
}
