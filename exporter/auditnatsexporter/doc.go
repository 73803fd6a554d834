// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package auditnatsexporter publishes audit records to NATS JetStream, byte for byte as they came. Records of production have one subject, records of
// replays another. A call returns when every record is acknowledged.
package auditnatsexporter // import "github.com/tapedeck/tapedeck/exporter/auditnatsexporter"
