// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger holds the calls of one run while they are decided: what reports each of them, which answer
// asked for it, and what later requests show of it.
package ledger
