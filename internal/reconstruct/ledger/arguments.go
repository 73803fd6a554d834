// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// SameArgs compares what a tool received with what was asked for.
func SameArgs(t *Call, a *Asked) bool {
	return chat.EqualArgs(t.Obs.Args.Value, a.Part.Args, chat.SameValue)
}
