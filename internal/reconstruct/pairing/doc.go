// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package pairing finds which answer asked for which tool call, and what became of it.
package pairing
