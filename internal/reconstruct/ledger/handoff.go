// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// TransferTarget names the agent that a call hands over to: by its own name, or by an argument.
func TransferTarget(t *Call) string {
	args := t.Obs.Args.Value
	if t.By != nil && !t.By.Part.Args.IsEmpty() {
		args = t.By.Part.Args
	}
	return chat.AgentHandedTo(t.Obs.Name, args, t.Obs.Handoff)
}
