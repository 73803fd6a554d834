// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// Post is a message that one part of the program sent another, the span that holds it and the nested agent
// around that.
type Post struct {
	N     *spantree.Node
	Agent *Call
	*genai.Posted
}
