// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package published records and replays published agents, as npm and PyPI have them, against a scripted
// model. `make e2e-published` installs them at their pinned versions and runs it. The build tag published keeps it
// out of `go test ./...`.
package published
