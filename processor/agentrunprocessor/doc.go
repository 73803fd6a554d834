// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package agentrunprocessor groups the spans of agent runs by tenant and trace and passes each trace on when it is complete.
// It is the one stateful component on the way from telemetry to tapes.
package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"
