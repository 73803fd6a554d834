// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// version is set by the linker (make build VERSION=…).
var version = "0.1.0-dev"
