// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package spantree holds the spans of a trace as a tree, with what each of them reports, and the questions
// that all stages ask of it. Reading the items of a trace makes one node of what reports the same span.
package spantree
