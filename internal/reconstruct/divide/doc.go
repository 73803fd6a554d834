// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package divide finds the runs of one trace.
package divide
