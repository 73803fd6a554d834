// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/segregation"
)

// The resource attributes that describe an emission to the next components.
const (
	attrRunKey      = "tapedeck.run.key"      // string: <tenant>/<trace id, 32 hex>
	attrRunItems    = "tapedeck.run.items"    // int: distinct spans of the trace so far
	attrRunComplete = "tapedeck.run.complete" // bool: nothing says that the root is missing, or rootless is production
	attrRunReplay   = segregation.HandoverKey // string: the tags of the emission, if it has any
	attrRedaction   = redact.MarkerKey        // string: which redaction the evidence has seen, or "none"
)

// reserved is the namespace that only components of this project may write.
const reserved = redact.ReservedPrefix

func stamp(e *assembly.Emission, complete bool, rules *segregation.Rules) {
	key := e.Key.String()
	tags := tagsOf(e.Traces, rules)
	for _, rs := range e.Traces.ResourceSpans().All() {
		a := rs.Resource().Attributes()
		a.PutStr(attrRunKey, key)
		a.PutInt(attrRunItems, int64(e.Items))
		a.PutBool(attrRunComplete, complete)
		if !tags.IsEmpty() {
			a.PutStr(attrRunReplay, tags.String())
		}
		if _, marked := a.Get(attrRedaction); !marked {
			a.PutStr(attrRedaction, redactionNone)
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

// stripResource is strip for a resource, and tells whether it has the marker of a redactor of this process. That marker stays with its proof,
// because the request may be refused and sent again.
func stripResource(m pcommon.Map) (removed int, redacted bool) {
	_, redacted = redact.OpenMarker(m)
	if !redacted {
		return strip(m), false
	}
	before := m.Len()
	m.RemoveIf(func(k string, _ pcommon.Value) bool { return k != attrRedaction && strings.HasPrefix(k, reserved) })
	return before - m.Len(), true
}

// unseal removes the proof from the marker of admitted evidence. From here on only this processor can write the marker, in the spool and
// over a restart too, and the proof must not leave the process.
func unseal(m pcommon.Map) {
	if marker, ok := redact.OpenMarker(m); ok {
		m.PutStr(attrRedaction, marker.String())
	}
}

// seal is the reverse of unseal, for evidence that is given back.
func seal(m pcommon.Map) {
	if v, ok := m.Get(attrRedaction); ok {
		if marker, err := redact.ParseMarker(v.Str()); err == nil {
			m.PutStr(attrRedaction, marker.Seal())
		}
	}
}

// strip removes attributes of the reserved namespace, so that a sender cannot imitate a component. It reads before it writes, because
// mostly there are none.
func strip(m pcommon.Map) (removed int) {
	found := false
	for k := range m.All() {
		if strings.HasPrefix(k, reserved) {
			found = true
			break
		}
	}
	if !found {
		return 0
	}
	before := m.Len()
	m.RemoveIf(func(k string, _ pcommon.Value) bool { return strings.HasPrefix(k, reserved) })
	return before - m.Len()
}

func stripSpan(span ptrace.Span) (removed int) {
	removed = strip(span.Attributes())
	for _, e := range span.Events().All() {
		removed += strip(e.Attributes())
	}
	for _, l := range span.Links().All() {
		removed += strip(l.Attributes())
	}
	return removed
}
