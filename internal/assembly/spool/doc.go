// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package spool is a durable segment log. Records are on disk before Append returns, are read back by ID, and are released when they are no
// longer needed. A directory belongs to one Log, and a Log to one process.
//
// The log delivers at least once. Every Open recovers a record whose Append returned, until the record was released and the release has
// reached the disk. A release reaches the disk with a later commit. The files are described in docs/spool-format.md.
package spool
