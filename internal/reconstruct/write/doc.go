// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package write writes a decided run down as a tape.
package write
