// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package seed

import "testing"

func TestTheSeedIsTheSameUnlessItIsSet(t *testing.T) {
	t.Setenv(Variable, "")
	if a, b := Of(t), Of(t); a != b {
		t.Errorf("%d and %d", a, b)
	}
	t.Setenv(Variable, "11874450106305317835")
	if n := Of(t); n != 11874450106305317835 {
		t.Errorf("%d is not the one that was set", n)
	}
	t.Setenv(Variable, "random")
	if a, b := Of(t), Of(t); a == b {
		t.Errorf("%d twice", a)
	}
	if _, err := parse("7x"); err == nil {
		t.Error("7x is a seed")
	}
}
