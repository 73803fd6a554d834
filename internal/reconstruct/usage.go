// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "github.com/tapedeck/tapedeck/tape"

// usage sums the model calls; root aggregates count only where no call reports its own.
func (b *builder) usage() {
	u := &b.tape.Usage
	for i := range b.tape.Events {
		switch e := &b.tape.Events[i]; e.Type {
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

func usageKnown(u tape.Usage) bool {
	return u.InputTokens != nil || u.OutputTokens != nil || u.CacheReadTokens != nil || u.CacheWriteTokens != nil || u.ReasoningTokens != nil
}
