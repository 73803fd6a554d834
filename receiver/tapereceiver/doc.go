// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package tapereceiver sends the evidence of the runs in a deck through a pipeline again: to fill another backend, to move to another deck, to derive
// tapes anew, or to load a pipeline with what happened.
package tapereceiver // import "github.com/tapedeck/tapedeck/receiver/tapereceiver"
