// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package seed gives tests that draw random cases their seed. It is the same in every run, so that a rare defect of old code refuses no change that
// has nothing to do with it. Campaigns set TAPEDECK_TEST_SEED to another one, or to random; targets of go test -fuzz draw new cases by themselves.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that sets another seed: a number, or random.
const Variable = "TAPEDECK_TEST_SEED"

// Of returns the seed of a test, and says it when the test fails.
func Of(t testing.TB) uint64 {
	t.Helper()
	n, err := parse(os.Getenv(Variable))
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the cases were drawn with %s=%d", Variable, n)
		}
	})
	return n
}

func parse(text string) (uint64, error) {
	switch text {
	case "":
		return 1, nil
	case "random":
		return rand.Uint64(), nil
	}
	return strconv.ParseUint(text, 10, 64)
}
