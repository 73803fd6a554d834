// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package settle leaves one call for each real one.
package settle
