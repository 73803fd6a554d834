// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverBroken completes model calls whose instrumentation broke before it could record them.
//
// Needs: a request of the same agent behind them, with as many answers since the one before them, or since
// the user spoke, as calls broke.
// Refuses: any other number of answers; an agent whose call before them has no request or no answer.
// Seen in: instrumentations that throw on what they do not know.
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
	if before == nil {
		start = len(request) - len(sinceUser(request))
	} else {
		if start = len(before.request); start == 0 || before.response == nil {
			return
		}
		skip = 1 // its own answer
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
