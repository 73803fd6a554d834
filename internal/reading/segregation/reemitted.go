// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// ReemittedKey is the resource attribute of telemetry that was taken out of a deck and emitted again. It names the deck. Such telemetry belongs to no side:
// it did not happen now, and nobody replayed anything. Who wants it on a side emits it with the tag of a replay, or without this attribute.
const ReemittedKey = "tape.reemitted_from"

// IsReemitted tells whether a resource says that its telemetry was emitted again.
func IsReemitted(resource pcommon.Map) bool {
	_, ok := resource.Get(ReemittedKey)
	return ok
}

// Reemitted tells whether everything of a run was emitted again. Notes do not count: they take no attributes from the resource that they were made of.
func Reemitted(td ptrace.Traces) (some bool) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if ss.Scope().Name() == NoteScope {
				continue
			}
			if !IsReemitted(rs.Resource().Attributes()) {
				return false
			}
			some = true
		}
	}
	return some
}
