// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate mdatagen metadata.yaml

// Package genailogsconnector turns the log records of agents into spans, so that they reach the place where runs are put together.
package genailogsconnector // import "github.com/tapedeck/tapedeck/connector/genailogsconnector"
