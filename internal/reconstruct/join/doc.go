// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package join unites the parts of a run that lie in several traces, or apart in one. Its rules propose
// unions, and one place decides about them.
package join
