// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sample

import "testing"

func TestTheWholeCorpusIsTakenWhereTheVariableIsSet(t *testing.T) {
	t.Setenv(Variable, "")
	if Whole() || Of(16, 1) != 16 {
		t.Error("the whole corpus is taken without the variable")
	}
	t.Setenv(Variable, "1")
	if !Whole() || Of(16, 1) != 1 {
		t.Error("a part is taken with the variable")
	}
}
