// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package procgroup

import "bytes"

// Output keeps the first Most bytes of what a command writes, and takes the rest without keeping it.
type Output struct {
	Most int
	kept bytes.Buffer // no embedding: os/exec would use its ReadFrom, which has no bound
}

// Write implements io.Writer. It takes all of b.
func (o *Output) Write(b []byte) (int, error) {
	o.kept.Write(b[:min(len(b), max(o.Most-o.kept.Len(), 0))])
	return len(b), nil
}

// Bytes is what was kept.
func (o *Output) Bytes() []byte { return o.kept.Bytes() }

// String is what was kept.
func (o *Output) String() string { return o.kept.String() }
