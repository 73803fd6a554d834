// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"slices"
)

// LastOf is the last of a list for which a condition holds, the zero value if there is none.
func LastOf[T any](list []T, is func(T) bool) (found T) {
	for _, one := range slices.Backward(list) {
		if is(one) {
			return one
		}
	}
	return found
}

func Count[T any](list []T, is func(T) bool) (n int) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}

// Only is the one member of a list that has no other, else nothing.
func Only[T any](list []T) (one T) {
	if len(list) == 1 {
		one = list[0]
	}
	return one
}
