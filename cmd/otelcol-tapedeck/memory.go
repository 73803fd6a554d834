// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/tapedeck/tapedeck/internal/assembly/heapgoal"

func init() { heapgoal.Start() }
