// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValuesThatComeOutBetterOrWorse(t *testing.T) {
	row := func(field string, call int, o Outcome) Row { return Row{Field: field, Call: call, Outcome: o} }
	for name, c := range map[string]struct {
		score, other  []Row
		better, worse int
	}{
		"the same":                      {[]Row{row("status", 0, Exact)}, []Row{row("status", 0, Exact)}, 0, 0},
		"exact and missed":              {[]Row{row("status", 0, Exact)}, []Row{row("status", 0, Missed)}, 1, 0},
		"absent and wrong":              {[]Row{row("status", 0, Absent)}, []Row{row("status", 0, Wrong)}, 1, 0},
		"wrapped and exact":             {[]Row{row("tool.result", 1, Wrapped)}, []Row{row("tool.result", 1, Exact)}, 0, 1},
		"missed and silent":             {[]Row{row("status", 0, Missed)}, []Row{row("status", 0, Silent)}, 0, 0},
		"a call that is not there":      {[]Row{row("tool.name", 1, Exact)}, []Row{row("tool.name", 1, Exact), row("tool.name", 2, Exact)}, 0, 1},
		"another call":                  {[]Row{row("tool.args", 1, Exact), row("tool.args", 2, Wrong)}, []Row{row("tool.args", 1, Wrong), row("tool.args", 2, Exact)}, 1, 1},
		"an order that is not compared": {[]Row{row("tool.turn", 1, Exact)}, []Row{row("tool.order", 0, Exact)}, 0, 0},
		"another order":                 {[]Row{row("tool.turn", 1, Exact)}, []Row{row("tool.turn", 1, Wrong)}, 1, 0},
		"no tape":                       {[]Row{row("run.count", 0, NoTape)}, []Row{row("run.count", 0, Exact), row("model", 0, Exact)}, 0, 2},
		"a value that is invented too":  {[]Row{row("tool.args", 1, Wrong), row("tool.args", 1, Exact)}, []Row{row("tool.args", 1, Exact)}, 0, 1},
	} {
		better, worse := Compare(c.score, c.other)
		assert.Equal(t, [2]int{c.better, c.worse}, [2]int{better, worse}, name)
	}
}
