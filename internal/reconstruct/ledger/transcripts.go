// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// Transcript is a conversation that an agent or a step of its graph recorded, with the place of one answer in
// it.
type Transcript struct {
	Messages []*chat.Message
	Answer   int
}
