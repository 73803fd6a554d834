// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// merge moves the spans of src to the end of dst. The requests of one trace mostly bring the same resource and scope, so looking at
// the last one of dst keeps a trace compact that arrives in many requests. Order of spans is kept.
func merge(dst, src ptrace.Traces) {
	to, from := dst.ResourceSpans(), src.ResourceSpans()
	if to.Len() > 0 && from.Len() > 0 {
		a, b := to.At(to.Len()-1), from.At(0)
		if a.SchemaUrl() == b.SchemaUrl() && sameAttributes(a.Resource().Attributes(), b.Resource().Attributes()) &&
			a.Resource().DroppedAttributesCount() == b.Resource().DroppedAttributesCount() {
			mergeScopes(a.ScopeSpans(), b.ScopeSpans())
			first := true
			from.RemoveIf(func(ptrace.ResourceSpans) bool { remove := first; first = false; return remove })
		}
	}
	from.MoveAndAppendTo(to)
}

func mergeScopes(to, from ptrace.ScopeSpansSlice) {
	if to.Len() > 0 && from.Len() > 0 {
		a, b := to.At(to.Len()-1), from.At(0)
		if a.SchemaUrl() == b.SchemaUrl() && a.Scope().Name() == b.Scope().Name() && a.Scope().Version() == b.Scope().Version() &&
			sameAttributes(a.Scope().Attributes(), b.Scope().Attributes()) &&
			a.Scope().DroppedAttributesCount() == b.Scope().DroppedAttributesCount() {
			b.Spans().MoveAndAppendTo(a.Spans())
			first := true
			from.RemoveIf(func(ptrace.ScopeSpans) bool { remove := first; first = false; return remove })
		}
	}
	from.MoveAndAppendTo(to)
}

// maxCompared is the number of attributes up to which resources are compared; SDKs write about ten. Larger ones stay apart.
const maxCompared = 64

// sameAttributes tells whether two lists are the same, order and repeated keys included. pcommon.Map.Equal does not see repeated keys.
func sameAttributes(a, b pcommon.Map) bool {
	n := a.Len()
	if n != b.Len() || n > maxCompared {
		return false
	}
	var keys [maxCompared]string
	var values [maxCompared]pcommon.Value
	i := 0
	for k, v := range a.All() {
		keys[i], values[i] = k, v
		i++
	}
	i = 0
	for k, v := range b.All() {
		if k != keys[i] || !v.Equal(values[i]) {
			return false
		}
		i++
	}
	return true
}
