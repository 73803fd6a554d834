// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package cputime says what the process has used of its processors: benchmarks on shared machines have no other measure.
package cputime
