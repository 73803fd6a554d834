// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelinetest tests the way of a replay's tag through the components, from what a sender may write to the deck.
package pipelinetest
