// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package replaytagprocessor tags the telemetry of replays that cannot tag themselves. It selects by request header, by service, or takes
// everything.
package replaytagprocessor // import "github.com/tapedeck/tapedeck/processor/replaytagprocessor"
