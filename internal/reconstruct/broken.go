// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverBroken tells what went on in model calls whose instrumentation broke before it could record them: the next request of the same agent that is on record shows
// what each of them was sent and answered, where as many answers stand in it, since the request before them or since the user spoke, as calls broke.
func (c *collector) recoverBroken() {
	var broken []*call
	var before *call // the call on record before them
	var agent *call
	for i, m := range c.models {
		if i == 0 || m.agent != agent {
			broken, before, agent = nil, nil, m.agent
		}
		if isBroken(m) {
			broken = append(broken, m)
			continue
		}
		if len(broken) > 0 && len(m.request) > 0 {
			recoverFrom(m.request, before, broken)
		}
		broken, before = nil, m
	}
}

// isBroken reports a model call of which its instrumentation says nothing but that it failed itself.
func isBroken(m *call) bool {
	return len(m.request) == 0 && m.response == nil && slices.ContainsFunc(m.obs.Notes, isHiddenCall)
}

func isHiddenCall(n genai.Note) bool { return n.Code == tape.CodeModelCallHidden }

func recoverFrom(request []*message, before *call, broken []*call) {
	start, skip := 0, 0
	if before != nil {
		if start = len(before.request); len(before.request) == 0 || before.response == nil {
			return
		}
		skip = 1 // its own answer
	} else {
		for k, m := range request {
			if m.tape.Role == tape.RoleUser {
				start = k
			}
		}
	}
	var answers []int
	for k := start; k < len(request); k++ {
		if request[k].tape.Role == tape.RoleAssistant {
			answers = append(answers, k)
		}
	}
	if len(answers) != skip+len(broken) {
		return
	}
	for i, m := range broken {
		at := answers[skip+i]
		o := *m.obs
		o.StatusError, o.Failed, o.Error, o.RequestLabel = false, false, nil, tape.Recovered
		o.Notes = slices.DeleteFunc(slices.Clone(o.Notes), isHiddenCall)
		m.notes = slices.DeleteFunc(slices.Clone(m.notes), isHiddenCall)
		m.obs, m.request, m.response, m.recovered = &o, request[:at:at], request[at], true
	}
}
