// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape"
)

func TestAnUnknownFindingIsAnErrorWithTheNearest(t *testing.T) {
	for want, nearest := range map[string]string{
		"tool_result_missing": "result_missing", "args_mising": "args_missing", "Truncated": "truncated", strings.Repeat("x", 1000): "",
	} {
		f := Filter{Is: []string{"findings=" + want}}
		if err := f.Check(time.Now()); err == nil || !strings.HasSuffix(err.Error(), nearest) || len(err.Error()) > 200 {
			t.Errorf("%.40s: %v", want, err)
		}
	}
	for _, kind := range tape.FindingKinds {
		f := Filter{Is: []string{"findings=" + string(kind.Code)}}
		if err := f.Check(time.Now()); err != nil {
			t.Error(err)
		}
	}
}
