// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the built programs: it starts the collectors with the files of examples/, sends them recorded traces
// over OTLP and reads what lies in the deck afterwards, on a folder and on real storage servers. Real agents in Python run where
// TAPEDECK_TEST_PYTHON_AGENTS names their virtual environments, as .ci/run makes them (testdata/agents). `make e2e` builds the
// programs and runs it; the build tag e2e keeps it out of `go test ./...`.
package e2e
