// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package spool

import "os"

func syncData(f *os.File) error { return f.Sync() }

func writeFrames(f *os.File, frames [][]byte, at int64) error { return writeEach(f, frames, at) }

// preallocate does nothing: files grow while they are written.
func preallocate(*os.File, int64) error { return nil }

// canPreallocate says whether Preallocate reserves disk space. If it does not, a reserved file would reserve nothing and is not made.
const canPreallocate = false
