// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package tapeexporter writes agent runs as tapes into a deck on a file system or an object store.
// A call returns when everything it was given is durable.
package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"
