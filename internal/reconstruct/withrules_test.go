// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
)

// WithRules runs f with other rules over the calls of a run. change makes each of them from the one that
// stands there.
func WithRules(change func(rule.Rule[*ledger.Ledger]) rule.Rule[*ledger.Ledger], f func()) {
	for _, stage := range []*rule.Stage[*ledger.Ledger]{&settleRules, &recoverRules, &outcomeRules} {
		before := stage.Rules
		defer func() { stage.Rules = before }()
		stage.Rules = nil
		for _, r := range before {
			stage.Rules = append(stage.Rules, change(r))
		}
	}
	f()
}
