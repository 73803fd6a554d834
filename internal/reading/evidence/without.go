// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
)

// DigestWithout returns the digest that the item would have if its span lacked the named attributes.
func (i Item) DigestWithout(names []string) Digest {
	if len(names) == 0 {
		return i.Digest()
	}
	bare := ptrace.NewSpan()
	i.Span.CopyTo(bare)
	bare.Attributes().RemoveIf(func(key string, _ pcommon.Value) bool { return slices.Contains(names, key) })
	var h spandigest.Hasher
	return h.Span(i.scope, bare)
}

// ContentDigest returns what the digest of the item would be if its span had neither an id nor a parent.
func (i Item) ContentDigest() Digest {
	bare := ptrace.NewSpan()
	i.Span.CopyTo(bare)
	bare.SetSpanID(pcommon.SpanID{})
	bare.SetParentSpanID(pcommon.SpanID{})
	var h spandigest.Hasher
	return h.Span(i.scope, bare)
}
