// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"testing"
	"time"
)

func cpuTime(*testing.B) time.Duration { return 0 }
