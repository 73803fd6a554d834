// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

// This file holds the questions that several rules ask: where a span hangs, what lies below it, whose call it is,
// and which model call is before a tool call.

// Rounding is how much later than it was a start may be recorded earlier: some producers round starts down to
// milliseconds.
const Rounding = 999_999

// ClockSlack is how much later than a tool call the model call that asked for it may start: the clocks of two
// processes differ.
const ClockSlack = 5_000_000
