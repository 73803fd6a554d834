// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxLinks bounds how many links of a span are followed.
const maxLinks = 16

// SpanKey names a span of any trace.
type SpanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

// SpanKeyOf is the key of a span.
func SpanKeyOf(n *Node) SpanKey { return SpanKey{n.Span.TraceID(), n.ID} }

// Linked are the spans that a span links to.
func Linked(n *Node) iter.Seq[SpanKey] {
	return func(yield func(SpanKey) bool) {
		links := n.Span.Links()
		for i := range min(links.Len(), maxLinks) {
			if !yield(SpanKey{links.At(i).TraceID(), links.At(i).SpanID()}) {
				return
			}
		}
	}
}
