// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"

	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
)

// Judge lists what of the expectations a run does not hold. Where NeedsTape says so, the run needs its tape.
// An error says that a command of the case could not be run.
func (c *Case) Judge(ctx context.Context, r expect.Run, o expect.Options) (list []expect.Failure, err error) {
	if c.Rules != nil {
		o.Rules = c.Rules.Rules
	}
	if c.Calls != nil && r.Tape != nil {
		list = c.Calls.tools.Judge(r.Tape, o.Rules)
	}
	for _, judge := range []func(context.Context, expect.Run, expect.Options) ([]expect.Failure, error){c.Answer.Judge, c.Expect.Judge} {
		of, err := judge(ctx, r, o)
		if list = append(list, of...); err != nil {
			return list, err
		}
	}
	return list, nil
}

// Expects tells whether a recorded run can fail the case.
func (c *Case) Expects() bool { return c.Calls != nil || c.Answer != nil || c.Expect != nil }

// NeedsTape tells whether the columns of a run do not say all that is expected of it.
func (c *Case) NeedsTape() bool {
	return c.Calls != nil || c.Answer != nil || c.Expect.NeedsTape() || c.Runs.needsTape()
}

// Commands tells whether an expectation runs a command.
func (c *Case) Commands() bool { return c.Answer.Commands() || c.Expect.Commands() }

// Columns are those that tell which runs the case is for, and what they hold.
func (c *Case) Columns() []string { return append(c.Runs.columns(), c.Expect.Columns()...) }
