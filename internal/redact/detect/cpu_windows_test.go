// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

func cpuSeconds() float64 { return 0 }
