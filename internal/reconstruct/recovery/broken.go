// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverBroken completes model calls whose instrumentation broke before it could record them.
//
// Needs: a request of the same agent behind them, with as many answers since the one before them, or since
// the user spoke, as calls broke.
// Refuses: any other number of answers; an agent whose call before them has no request or no answer.
// Seen in: instrumentations that throw on what they do not know.
func RecoverBroken(c *ledger.Ledger) {
	var broken []*ledger.Call
	var before *ledger.Call // the call on record before them
	var agent *ledger.Call
	for i, m := range c.Models {
		if i == 0 || m.Agent != agent {
			broken, before, agent = nil, nil, m.Agent
		}
		if IsBroken(m) {
			broken = append(broken, m)
			continue
		}
		if len(broken) > 0 && len(m.Request) > 0 {
			recoverFrom(m.Request, before, broken)
		}
		broken, before = nil, m
	}
}

// IsBroken reports a model call of which its instrumentation says nothing but that it failed itself.
func IsBroken(m *ledger.Call) bool {
	return len(m.Request) == 0 && m.Response == nil && slices.ContainsFunc(m.Obs.Notes, isHiddenCall)
}

func isHiddenCall(n genai.Note) bool { return n.Code == tape.CodeModelCallHidden }

func recoverFrom(request []*chat.Message, before *ledger.Call, broken []*ledger.Call) {
	start, skip := 0, 0
	if before == nil {
		start = len(request) - len(chat.SinceUser(request))
	} else {
		if start = len(before.Request); start == 0 || before.Response == nil {
			return
		}
		skip = 1 // its own answer
	}
	var answers []int
	for k := start; k < len(request); k++ {
		if request[k].Tape.Role == tape.RoleAssistant {
			answers = append(answers, k)
		}
	}
	if len(answers) != skip+len(broken) {
		return
	}
	for i, m := range broken {
		at := answers[skip+i]
		o := m.Obs.Draft()
		o.StatusError, o.Failed, o.Error, o.RequestLabel = false, false, nil, tape.Recovered
		o.Notes = slices.DeleteFunc(slices.Clone(o.Notes), isHiddenCall)
		m.Notes = slices.DeleteFunc(slices.Clone(m.Notes), isHiddenCall)
		m.Obs, m.Request, m.Response, m.Recovered = o.Seal(), request[:at:at], request[at], true
	}
}
