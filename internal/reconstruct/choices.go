// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// onlyOne is the only one of several that fit, the zero value where none fits or several do.
func onlyOne[T any](fit []T) (one T) {
	if len(fit) == 1 {
		one = fit[0]
	}
	return one
}

// lastOf is the last of a list for which a condition holds, the zero value if there is none.
func lastOf[T any](list []T, is func(T) bool) (found T) {
	for _, one := range slices.Backward(list) {
		if is(one) {
			return one
		}
	}
	return found
}

func count[T any](list []T, is func(T) bool) (n int) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}
