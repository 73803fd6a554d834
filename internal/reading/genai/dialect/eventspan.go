// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// EventSpan returns what a span is an event of, and which event, for a span that reports one event of a call.
// Its target holds both, and its name is the target and a number: tool.search.start-1, target
// tool.search.start, name start. It returns "" for other spans.
func EventSpan(span ptrace.Span) (of, event string) {
	stem := strings.TrimRight(span.Name(), "0123456789")
	if len(stem) == len(span.Name()) || !strings.HasSuffix(stem, "-") {
		return "", ""
	}
	if of, event = EventOf(span); stem != of+"."+event+"-" {
		return "", ""
	}
	return of, event
}

// EventOf returns what a span is an event of by its target and its name, whatever the span is called.
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
