// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
)

// Usage sums the model calls; root aggregates count only where no call reports its own.
func Usage(b *value.Builder) {
	u := &b.Tape.Usage
	for i := range b.Tape.Events {
		switch e := &b.Tape.Events[i]; e.Type {
		case tape.EventModelCall:
			u.ModelCalls++
			if e.Usage != nil {
				u.InputTokens = sum(u.InputTokens, e.Usage.InputTokens)
				u.OutputTokens = sum(u.OutputTokens, e.Usage.OutputTokens)
			}
		case tape.EventToolCall:
			u.ToolCalls++
		}
	}
}

func sum(total, n *int64) *int64 {
	if n == nil {
		return total
	}
	v := *n
	if total != nil {
		v += *total
	}
	return &v
}
