// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// brokenIn adds a model call whose span ended with what was raised in a file.
func (tr *trace) brokenIn(file string, id, parent, start, end int) {
	s := tr.chat(id, parent, start, end, "", "")
	s.Status().SetCode(ptrace.StatusCodeError)
	e := s.Events().AppendEmpty()
	e.SetName("exception")
	e.Attributes().PutStr("exception.type", "ValueError")
	e.Attributes().PutStr("exception.stacktrace", "Traceback (most recent call last):\n  File \""+file+"\", line 1, in wrapper\nValueError: no\n")
}

// An instrumentation breaks when an answer holds calls. The request that is on record next shows what was answered.
func TestCallsThatAnInstrumentationCouldNotRecordAreShownByTheNextRequest(t *testing.T) {
	const openlit, client = "/env/openlit/instrumentation/azure/azure.py", "/env/openai/_base_client.py"
	twice := []string{user("q"), asks(call("c1", "look", `{"x":1}`)), shows("c1", "no"), asks(call("c2", "look", `{"x":1}`)), shows("c2", "7")}
	for name, c := range map[string]struct {
		file    string
		request []string
		want    int // calls of tools that a model is known to have asked for
	}{
		"as many answers as calls": {openlit, twice, 2},
		"one answer for two calls": {openlit, twice[:3], 0},
		"the client failed":        {client, twice, 0},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.brokenIn(c.file, 2, 1, 1, 10)
		s := tr.tool("look", 3, 1, 20, 30, "", `{"x":1}`, "")
		s.Status().SetCode(ptrace.StatusCodeError)
		tr.brokenIn(c.file, 4, 1, 40, 50)
		tr.tool("look", 5, 1, 60, 70, "", `{"x":1}`, "7")
		tr.chat(6, 1, 80, 90, list(c.request...), list(says("It is seven.")))
		models, asked := 0, 0
		for _, e := range the(t, tr.runs(t)).Events {
			switch {
			case e.Type == tape.EventModelCall && e.Response != nil && e.Status == tape.EventOK:
				models++
			case e.Type == tape.EventToolCall && e.RequestedBy != 0:
				asked++
			}
		}
		if c.want == 2 && (models != 3 || asked != 2) || c.want == 0 && models > 2 {
			t.Errorf("%s: %d model calls with an answer, %d tool calls that were asked for", name, models, asked)
		}
	}
}
