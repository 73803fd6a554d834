// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package replaysplitconnector separates the telemetry of replays from that of production. It decides for whole runs. Telemetry that it cannot
// decide never goes to production.
package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"
