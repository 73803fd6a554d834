// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package decktest

import "os/exec"

// dieWithParent has no equivalent here: a killed test binary leaves its server.
func dieWithParent(*exec.Cmd) {}
