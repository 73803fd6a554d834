// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// ForgiveBorrowed takes a failure from the spans that borrowed it: a processor of spans writes the first
// failure of a trace as the status of every span that ends after it.
//
// Needs: a model call with that status that began when the failure was over, recorded no exception and was
// answered.
// Refuses: a span with an exception of its own; a span that began before the failure was over and ended
// before any such model call.
// Seen in: OpenInference's processor for the AI SDK.
func ForgiveBorrowed(nodes []*Node) {
	threw := map[string]uint64{} // the message of an exception → when the first span that threw it had ended
	for _, n := range nodes {
		if message := thrownBy(n); message != "" {
			if end, known := threw[message]; !known || n.End < end {
				threw[message] = n.End
			}
		}
	}
	if len(threw) == 0 {
		return
	}
	proved := map[string]uint64{} // the message → when a model call that borrowed it had ended
	for _, n := range nodes {
		message := toldStatus(n)
		if over, known := threw[message]; known && n.Start >= over && n.Obs.Class == genai.Model && wasAnswered(n.Obs) {
			proved[message] = max(proved[message], n.End)
		}
	}
	for _, n := range nodes {
		message := toldStatus(n)
		if message == "" || proved[message] == 0 || n.Start < threw[message] && n.End < proved[message] {
			continue
		}
		o := n.Obs.Draft()
		o.StatusError, o.Error = false, nil
		n.Obs = o.Seal()
	}
}

// thrownBy is the message of the exception that a failed span recorded.
func thrownBy(n *Node) string {
	if n.Spans == 0 || n.Span.Status().Code() != ptrace.StatusCodeError {
		return ""
	}
	for _, e := range n.Span.Events().All() {
		if e.Name() == "exception" {
			return decode.Attributes(e.Attributes()).Text("exception.message")
		}
	}
	return ""
}

// toldStatus is the message of the status of a span that says error and nothing else of a failure.
func toldStatus(n *Node) string {
	if n.Spans == 0 || !n.Obs.StatusError || n.Obs.Failed || thrownBy(n) != "" {
		return ""
	}
	return n.Span.Status().Message()
}

// wasAnswered reports what only comes with an answer: why it ended, or its tokens.
func wasAnswered(o *genai.Report) bool {
	for _, reason := range o.FinishReasons {
		if r := strings.TrimSpace(reason); r != "" && r != "error" {
			return o.Usage.OutputTokens == nil || *o.Usage.OutputTokens > 0
		}
	}
	return false
}
