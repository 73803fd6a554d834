// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package recovery makes the calls, answers and messages that no span reports from what other records hold of
// them.
package recovery
