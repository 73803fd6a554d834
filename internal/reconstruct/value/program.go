// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
)

// askedAround is the text that the function around the run was called with.
func (b *Builder) askedAround() string {
	if n := b.Fragment.FunctionAround(); n != nil {
		return fragment.QuestionTo(n)
	}
	return ""
}

// answeredAround is the text that the function around the run returned.
func (b *Builder) answeredAround() string {
	if n := b.Fragment.FunctionAround(); n != nil && !n.Failed() && !n.Obs.Called.OutCut {
		return fragment.TextOfFunction(n.Obs.Called.Out)
	}
	return ""
}
