// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package otlpdepthextension refuses requests of OTLP/JSON that nest too deep, before a receiver decodes
// them.
package otlpdepthextension // import "github.com/tapedeck/tapedeck/extension/otlpdepthextension"
