// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// EventSpan tells a span that reports one event of a call: what it is an event of, and which. The target of
// the span is both of them, and the span is called by that and a number: tool.search.start-1, target
// tool.search.start, name start. It is "" for all others.
func EventSpan(span ptrace.Span) (of, event string) {
	of, event = EventOf(span)
	number, numbered := strings.CutPrefix(span.Name(), of+"."+event+"-")
	if !numbered || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", ""
	}
	return of, event
}

// EventOf tells what a span whose target and name say so is an event of, whatever the span is called.
func EventOf(span ptrace.Span) (of, event string) {
	target, there := span.Attributes().Get("target")
	if !there {
		return "", ""
	}
	name, there := span.Attributes().Get("name")
	if !there {
		return "", ""
	}
	of, named := strings.CutSuffix(target.AsString(), "."+name.AsString())
	if !named || of == "" {
		return "", ""
	}
	return of, name.AsString()
}
