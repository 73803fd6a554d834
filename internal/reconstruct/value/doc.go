// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package value decides the values of a run and of its events by ordered lists of resolvers.
package value
