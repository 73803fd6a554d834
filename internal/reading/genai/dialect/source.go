// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// Source is one recorded item, a span or a log record that travels as a span, with its resource and scope.
type Source struct {
	Resource     pcommon.Map
	ScopeName    string
	ScopeVersion string
	Span         ptrace.Span
	// Logs are the log records (as evidence spans) that name this span as theirs, in time order.
	Logs []ptrace.Span
	// Also are further spans of the same call that have nothing to say but what they add to it.
	Also []ptrace.Span

	// Notes are what assigning its log records brought up.
	Notes []Note
	// Limited says that texts of its trace were cut by a limit, and are marked; see genai.Limits.
	Limited bool
	// Addition says that the span is one of another source's Also.
	Addition bool
	// Lists are the message lists that were read of the same trace; nil: none is remembered.
	Lists *decode.Lists
	// Says fills the draft of an item that was made of records when these were assigned; nil: the item itself
	// is read.
	Says func(o *Draft)
	// Dialects are those that speak of the item, primary first. Package genai fills them when it first needs
	// them. Scope and span are not to change afterwards.
	Dialects []*Dialect
}
