// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package interop

// Field is a member of the documents of a format, for the documentation.
type Field struct {
	Path string // dotted; [] stands for the elements of a list, * for the members of a map
	// From is where its value comes from when a tape is written, "" where it cannot be had. Why says why, or what else is to be known.
	From, Why string
}
