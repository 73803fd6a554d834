// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package place decides whose child each span of a trace is.
package place
