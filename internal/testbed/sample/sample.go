// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package sample says how much of a corpus tests take: a part in make test, the whole in make test-all.
package sample

import "os"

// Variable is the environment variable that has tests take the whole corpus.
const Variable = "TAPEDECK_TEST_WHOLE_CORPUS"

// Whole reports whether tests take the whole corpus.
func Whole() bool { return os.Getenv(Variable) != "" }

// Of returns whole where tests take the whole corpus, and part elsewhere.
func Of(part, whole int) int {
	if Whole() {
		return whole
	}
	return part
}
